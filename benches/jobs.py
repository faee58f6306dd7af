"""The lines of the page that a user reads: a job, and what one would take instead of promptpress."""

from __future__ import annotations

from typing import NamedTuple

from results import Results, rows_per_second


class Job(NamedTuple):
    """A job: where its runs are, the way that promptpress does it, and the other way with its name."""

    what: str
    kind: str
    workload: str
    way: str
    other: str
    name: str

    def row(self, results: Results) -> str | None:
        """A row of the table; None if one of both ways wasn't measured."""
        ours, theirs = (
            results.run(self.kind, self.workload, way=way, threads=1) or results.run(self.kind, self.workload, way=way)
            for way in (self.way, self.other)
        )
        if ours is None or theirs is None:
            return None
        mine, its = rows_per_second(ours, "cpu"), rows_per_second(theirs, "cpu")
        times = mine / its
        factor = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
        return f"| {self.what} | {digits(mine)} | {self.name} | {digits(its)} | {factor} |"


def digits(number: float) -> str:
    """Round to two digits."""
    size = 10 ** max(len(str(int(number))) - 2, 0)
    return f"{round(number / size) * size:,.0f}"


JOBS = (
    Job("a question of five columns, zero-shot", "rate", "zero", "promptpress", "OpenCompass", "OpenCompass"),
    Job("five examples before it, as text", "rate", "five-text", "promptpress", "OpenCompass", "OpenCompass"),
    Job("five examples before it, as messages", "rate", "five-messages", "promptpress", "OpenCompass", "OpenCompass"),
    Job("a text template over a table", "rate", "zero", "promptpress", "str.format", "Python's `str.format`"),
    Job("the same, in a data frame", "rate", "zero", "promptpress", "Polars pl.format", "Polars' `pl.format`"),
    Job(
        "the same, from Parquet to Parquet", "command", "zero", "render to Parquet", "pyarrow", "pyarrow, prompts ready"
    ),
    Job("a Jinja template (MMLU)", "jinja", "mmlu", "JinjaTemplate", "jinja2", "Jinja2"),
    Job("chats by ChatML", "chat", "chatml", "ChatTemplate", "transformers", "transformers"),
    Job("chats of five turns by Qwen 3's template", "chat", "qwen3-5", "ChatTemplate", "transformers", "transformers"),
    Job(
        *("chats of five turns to token ids", "tokens", "5 shots", "tokenize", "datasets.map"),
        "`datasets.map` with `apply_chat_template`",
    ),
    Job(
        *("requests of an lm-eval task", "lm_eval", "MMLU-like, first five of five", "requests", "compile cache"),
        "lm-eval, templates compiled once",
    ),
    Job(
        *("a single conversation", "latency", "one conversation, chatml", "ChatTemplate, warm", "transformers, warm"),
        "transformers",
    ),
)
"""A way with several threads counts on one."""
