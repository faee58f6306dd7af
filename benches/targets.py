"""Targets, and the computation of each figure from the results. A figure that lacks a run is None."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from results import Results, Run, bytes_per_second, median, rows_per_second

Figure = Callable[[Results], float | None]


@dataclass(frozen=True)
class Target:
    what: str
    figure: Figure
    bound: float
    at_least: bool = True
    unit: str = ""

    def row(self, results: Results) -> str:
        """A row of the table: what, found, target, verdict."""
        relation = "at least" if self.at_least else "at most"
        target = f"{relation} {self.bound:,g}{self.unit}"
        figure = self.figure(results)
        if figure is None:
            return f"| {self.what} | | {target} | not measured |"
        reached = figure >= self.bound if self.at_least else figure <= self.bound
        return f"| {self.what} | {rounded(figure)}{self.unit} | {target} | {'reached' if reached else 'missed'} |"


def rounded(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def quotient(dividend: float | None, divisor: float | None) -> float | None:
    return None if dividend is None or not divisor else dividend / divisor


def measure(run: Run | None, of: Callable[[Run], float]) -> float | None:
    return None if run is None else of(run)


def times(workload: str, peer: str, ours: str = "promptpress") -> Figure:
    """Return our rate as a multiple of a peer's rate."""
    return lambda results: quotient(
        *(measure(results.rate(workload, who), rows_per_second) for who in (ours, peer)),
    )


def of_limit(workload: str, setting: str) -> Figure:
    """Return the fraction of the copy limit that is reached: `render` if memory is fresh, `stream` if it is reused."""
    ours = {"fresh": "promptpress", "reused": "promptpress-stream"}[setting]
    return times(workload, f"limit-{setting}", ours)


def braces(way: str) -> Figure:
    """Bytes a second of text full of braces to those of plain text."""
    return lambda results: quotient(
        *(measure(results.first_run("braces", workload=name, way=way), bytes_per_second) for name in ("latex", "zero"))
    )


def views(results: Results) -> float | None:
    run = results.first_run("views")
    return None if run is None else run["views"] / run["copies"]


def streaming(results: Results) -> float | None:
    """A byte's cost in the long stream to that in the short one."""
    return quotient(
        *(
            measure(results.first_run("streaming", length=length), lambda run: median(run) / run["bytes"])
            for length in ("long", "short")
        )
    )


def audited(workload: str) -> Figure:
    """Return the time of the audit as a multiple of the time of rendering."""
    return lambda results: measure(results.first_run("audit", workload=workload), lambda run: run["times_rendering"])


def megabytes(kind: str, key: str, workload: str) -> Figure:
    return lambda results: measure(results.first_run(kind, workload=workload), lambda run: run[key] / 1e6)


def microseconds(kind: str, workload: str) -> Figure:
    return lambda results: measure(results.first_run(kind, workload=workload), lambda run: median(run) * 1e6)


def field(kind: str) -> Figure:
    """Return the extra cost of a field of a type over the same template without the field."""
    return lambda results: measure(results.first_run("field", workload=kind), lambda run: run["nanoseconds"])


def command(workload: str) -> Figure:
    return lambda results: quotient(
        *(
            measure(results.first_run("command", workload=workload, program=program), median)
            for program in ("command", "pyarrow")
        )
    )


def json_lines(workload: str, program: str, other: str) -> Figure:
    """Return the rate at which a file is written as a fraction of the rate of another program."""
    return lambda results: quotient(
        *(
            measure(results.first_run("json_lines", workload=workload, program=name), median)
            for name in (other, program)
        )
    )


def longer_than(workload: str, program: str, other: str) -> Figure:
    """Return the time that a file takes as a multiple of the time of another program's file."""
    return lambda results: quotient(
        *(
            measure(results.first_run("json_lines", workload=workload, program=name), median)
            for name in (program, other)
        )
    )


def way(kind: str, workload: str, ours: str, other: str) -> Figure:
    """Return the rate as a multiple of the rate of another way in the same run."""
    return lambda results: quotient(
        *(measure(results.first_run(kind, workload=workload, way=name), rows_per_second) for name in (ours, other))
    )


def jinja_targets() -> Iterator[Target]:
    """Those of `make bench-jinja`."""
    for suffix, threads in (("", "all threads"), ("-1", "one thread")):
        fields = way("jinja", "fields", f"template{suffix}", f"renderer{suffix}")
        yield Target(f"Jinja, fields: `JinjaTemplate` to `Renderer`, {threads}", fields, 0.8)
    for workload in ("strip", "item", "condition"):
        yield Target(f"Jinja, {workload}: to jinja2", way("jinja", workload, "template", "jinja2"), 40)
        yield Target("the same to minijinja-py", way("jinja", workload, "template", "minijinja"), 10)
    for workload, bound in (("chatml", 150), ("llama3", 150), ("qwen3-5", 60)):
        figure = way("chat", workload, "template", "transformers")
        yield Target(f"chats, {workload}: `ChatTemplate` to transformers", figure, bound)
    for workload in ("chatml", "qwen3-5"):
        figure = way("where", workload, "drop-in", "transformers")
        yield Target(f"one chat at a time, {workload}: the drop-in to transformers", figure, 1.5)
    for ours, other, what, bound in (
        ("backend", "compile cache", "the backend to lm-eval with templates compiled once, as 0.5 does", 4),
        ("backend", "lm_eval", "the same to lm-eval 0.4, which compiles them for each document", 200),
        ("requests", "compile cache", "`requests` to lm-eval with templates compiled once", 40),
        ("requests", "lm_eval", "the same to lm-eval 0.4", 2000),
    ):
        yield Target(f"MMLU-like, five-shot: {what}", way("lm_eval", "first-five", ours, other), bound)
    for what, key in (("chat templates", "chats"), ("lm-eval's templates", "lm_eval")):
        compiled = lambda results, key=key: measure(  # noqa: E731
            results.first_run("compile_corpus", workload=key, step="both"), lambda run: median(run) * 1e3
        )
        yield Target(f"constructing and compiling one of {what}, median", compiled, 5, at_least=False, unit=" ms")


def list_targets() -> Iterator[Target]:
    """Those of requests that are lists of messages, and of turns."""
    for workload, bound in (
        ("five-messages", 0.7),
        ("turns", 0.6),
        ("five-messages-json", 0.5),
    ):
        yield Target(f"{workload}: `stream` to the copy limit, reused", of_limit(workload, "reused"), bound)
    for suffix, ours in (("", "promptpress"), (", by `stream`", "promptpress-stream")):
        to_one = times("five-messages", f"{ours}-1", ours)
        yield Target(f"five-messages: all threads to one, rate{suffix}", to_one, 1.6)


def json_line_targets() -> Iterator[Target]:
    """Those of files of JSON lines."""
    for workload in ("zero", "five-text"):
        for program, what in (
            ("jsonl", "`promptpress render --out x.jsonl`"),
            ("batch", "`promptpress export openai-batch`"),
        ):
            to_parquet = json_lines(workload, program, "parquet")
            yield Target(f"{workload}: {what} to the same as Parquet, rate", to_parquet, 0.5)
        took = longer_than(workload, "jsonl", "parquet")
        yield Target(f"{workload}: JSONL file to Parquet file, time", took, 1.5, at_least=False)
        for program, what, other, rows in (
            ("jsonl", "JSONL", "polars", "prompts"),
            ("batch", "batch", "polars-batch", "requests"),
            ("batch", "batch", "polars", "prompts alone"),
        ):
            for suffix, synced in (("", ""), ("-synced", " and `fsync`")):
                yield Target(
                    f"{workload}: {what} file, rendering, to Polars' `write_ndjson`{synced} of finished {rows}, rate",
                    json_lines(workload, program, other + suffix),
                    1.5,
                )


def targets() -> Iterator[Target]:
    yield Target("zero to Polars `pl.format` (one thread), rate, all threads", times("zero", "polars"), 2)
    yield Target("the same by `stream`", times("zero", "polars", "promptpress-stream"), 2)
    yield Target("the same, promptpress on one thread", times("zero", "polars", "promptpress-1"), 1.2)
    yield Target("the same by `stream`", times("zero", "polars", "promptpress-stream-1"), 1.2)
    for workload, fresh, reused in (
        ("zero", 0.7, 0.45),
        ("ppl", 0.7, 0.45),
        ("five-text", 0.8, 0.7),
        ("own-shots", 0.5, 0.7),
    ):
        yield Target(f"{workload}: `render` to the copy limit, fresh", of_limit(workload, "fresh"), fresh)
        yield Target(f"{workload}: `stream` to the copy limit, reused", of_limit(workload, "reused"), reused)
    yield Target("latex to zero, in turns, bytes a second", braces("render"), 0.8)
    yield Target("the same by `stream`", braces("stream"), 0.8)
    for workload in ("zero", "five-text", "five-messages"):
        for suffix in ("", "-1"):
            who = f"{workload}{', one thread' if suffix else ''}: spans, in the time without"
            yield Target(who, way("spans", workload, f"plain{suffix}", f"spans{suffix}"), 2, at_least=False, unit="x")
    for kind, bound in (
        ("int64", 12),
        ("float64", 45),
        ("bool", 5),
        ("string with nulls", 12),
        ("dictionary", 12),
        ("timestamp", 35),
    ):
        yield Target(f"a field more, one thread: {kind}", field(kind), bound, at_least=False, unit=" ns")
    yield Target("mixed: `stream` to the copy limit, reused", of_limit("mixed", "reused"), 0.35)
    streamed = times("mixed", "promptpress-stream-1", "promptpress-stream")
    yield Target("the same, all threads to one", streamed, 1.7)
    yield Target("hostile to plain Python, rate", times("hostile", "plain_python"), 20)
    for workload, about, bound in (
        ("zero", "zero", 500),
        ("five-text", "five-text", 1_200),
        ("five-messages-view", 'five-messages with `strings="string_view"`', 3_000),
    ):
        yield Target(f"{about} to OpenCompass, rate", times(workload, "opencompass"), bound)
        yield Target("the same by `stream`", times(workload, "opencompass", "promptpress-stream"), bound)
    what = 'five-messages with `strings="string_view"`: memory of its output to that of copying every content'
    yield Target(what, views, 0.25, at_least=False)
    for workload in ("zero", "five-text"):
        both = times(workload, "promptpress-1")
        yield Target(f"{workload}: all threads to one, rate of `render`", both, 1.7)
        streamed = times(workload, "promptpress-stream-1", "promptpress-stream")
        yield Target("the same by `stream`", streamed, 1.7)
    yield from list_targets()
    yield Target("`stream`, ten times as many samples: cost of a byte", streaming, 1.1, at_least=False)
    for workload in ("zero", "five-text", "five-messages"):
        yield Target(f"{workload}: time of `audit` to that of `render`", audited(workload), 10, at_least=False)
    growth = megabytes("growth", "growth", "zero")
    yield Target("growth of resident memory over a long stream", growth, 256, at_least=False, unit=" MB")
    for workload in ("zero", "five-text"):
        kept = megabytes("kept", "kept", workload)
        yield Target(f"{workload}: memory kept after a render is dropped", kept, 256, at_least=False, unit=" MB")
    for workload in ("zero", "five-text"):
        what = f"{workload}: `promptpress render`, Parquet to Parquet, to the pyarrow program, time"
        yield Target(what, command(workload), 1.3, at_least=False)
    yield from json_line_targets()
    for workload, bound in (("zero", 30), ("five-text", 30), ("five-messages", 50)):
        small, bare = (microseconds(kind, workload) for kind in ("small", "bare"))
        yield Target(f"small: ten rows of {workload}, median", small, bound, at_least=False, unit=" µs")
        to_bare = lambda results, small=small, bare=bare: quotient(small(results), bare(results))  # noqa: E731
        yield Target("the same to a bare round trip of the same arrays", to_bare, 2.5, at_least=False, unit="x")
    compiled = microseconds("compile", "five-text")
    yield Target("compile: five-text, median", compiled, 120, at_least=False, unit=" µs")
    yield from jinja_targets()
