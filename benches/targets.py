"""Targets, and the computation of each figure from the results.

A figure is a quotient of processors' seconds, promptpress on one thread, so that a busy machine changes it little;
where the reference (reference.py) says that the machine was busy, the line does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from results import Results, Run, rows_per_second

BUSY = "machine busy"


@dataclass(frozen=True)
class Measured:
    """A figure, and the timed runs that it comes from; without a figure the name of what isn't there."""

    value: float | None
    runs: tuple[Run, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class Target:
    what: str
    bound: float
    figure: Callable[[Results], Measured]
    at_least: bool = True
    unit: str = ""
    is_quiet: bool = False
    """True if it was reached by far: the page has it only when it isn't."""

    def row(self, results: Results) -> str:
        """A row of the table: what, figure, target, verdict."""
        measured = self.figure(results)
        value = "" if measured.value is None else f"{rounded(measured.value)}{self.unit}"
        relation = "at least" if self.at_least else "at most"
        return f"| {self.what} | {value} | {relation} {self.bound:,g}{self.unit} | {self.verdict(measured, results)} |"

    def verdict(self, measured: Measured, results: Results) -> str:
        if measured.value is None:
            why = results.absent.get(measured.missing)
            return f"absent: {why}" if why else "not measured"
        busy = any(results.is_busy(run) for run in measured.runs)
        return ("reached" if self.has_reached(results) else "missed") + (f" ({BUSY})" if busy else "")

    def has_reached(self, results: Results) -> bool:
        """Return true if the figure is there, and within its bound."""
        value = self.figure(results).value
        return value is not None and (value >= self.bound if self.at_least else value <= self.bound)


def rounded(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def faster(kind: str, workload: str, way: str, other: str) -> Callable[[Results], Measured]:
    """Return how many times as many rows a processor's second a way has on one thread as another."""

    def figure(results: Results) -> Measured:
        ours, theirs = (
            results.run(kind, workload, way=name, threads=1) or results.run(kind, workload, way=name)  # all, as it runs
            for name in (way, other)
        )
        if ours is None or theirs is None:
            return Measured(None, missing=other if theirs is None else way)
        return Measured(rows_per_second(ours, "cpu") / rows_per_second(theirs, "cpu"), (ours, theirs))

    return figure


def microseconds(workload: str, way: str) -> Callable[[Results], Measured]:
    """Return the processor's microseconds of a call."""

    def figure(results: Results) -> Measured:
        run = results.run("latency", workload, way=way)
        return Measured(None, missing=way) if run is None else Measured(median(run["cpu"]) / run["rows"] * 1e6, (run,))

    return figure


def growth(results: Results) -> Measured:
    run = results.run("growth", "zero")
    return Measured(None if run is None else run["growth"] / 1e6)


def least(kind: str, workload: str, way: str, other: str) -> Callable[[Results], Measured]:
    """Return the least time of a way as a multiple of another's least."""

    def figure(results: Results) -> Measured:
        runs = [results.run(kind, workload, way=name) for name in (way, other)]
        ours, theirs = runs
        if ours is None or theirs is None:
            return Measured(None, missing=other if theirs is None else way)
        return Measured(min(ours["cpu"]) / ours["rows"] / (min(theirs["cpu"]) / theirs["rows"]), (ours, theirs))

    return figure


def quiet(what: str, bound: float, figure: Callable[[Results], Measured], *, at_least: bool = True) -> Target:
    return Target(what, bound, figure, at_least, is_quiet=True)


FEW_SHOT = ("zero", "five-text", "five-messages")
COMPILED = ("tojson", "%", "truncate", "indent", "wordwrap", "format", "center")
FILLED = {"five-text": (1.1, 1.3, 2), "string": (1.1, 2, 4)}


def targets() -> Iterator[Target]:
    """The targets, those that aren't quiet first."""
    for workload, bounds in FILLED.items():
        for every, bound in zip((1000, 100, 24), bounds, strict=True):
            figure = least("filled", workload, f"one row in {every:,}", "none")
            what = f"{workload}: one row in {every:,} whose value forms a placeholder, to none"
            yield Target(what, bound, figure, at_least=False, unit="x")
    for workload in FEW_SHOT:
        figure = faster("spans", workload, "render", "render with spans")
        yield Target(f"{workload}: spans, to a render", 2, figure, at_least=False, unit="x")
    figure = faster("spans", "five-messages", "render", "audit")
    yield Target("five-messages: `audit`, to a render", 8, figure, at_least=False, unit="x")
    for workload in ("zero", "five-text"):
        what = f"{workload}: `promptpress render`, Parquet to Parquet, to the pyarrow program"
        figure = faster("command", workload, "pyarrow", "render to Parquet")
        yield Target(what, 1.25, figure, at_least=False, unit="x")
    what = "chatml: `--chat-template`, Parquet to Parquet, to `--template` over the same column"
    figure = faster("command", "chatml", "--template", "--chat-template")
    yield Target(what, 1.3, figure, at_least=False, unit="x")
    for name in COMPILED:
        yield Target(f"`{name}` to jinja2", 20, faster("filters", name, "JinjaTemplate", "jinja2"))
    figure = faster("filters", "not compiled", "JinjaTemplate", "jinja2")
    yield Target("a template that isn't compiled, to jinja2", 0.9, figure)
    for other, bound, what in (
        ("engine", 4, "the core's engine over finished texts, nothing kept"),
        ("datasets.map", 200, "`datasets.map` with `apply_chat_template(tokenize=True)`, batched"),
    ):
        yield Target(f"five-shot ChatML to token ids, to {what}", bound, faster("tokens", "5 shots", "tokenize", other))
    for way, bound, what in (("constructor", 150, "compiling a renderer"), ("ten rows", 60, "ten rows")):
        yield Target(f"five-text: {what}", bound, microseconds("five-text", way), at_least=False, unit=" µs")
    for workload, bound in zip(FEW_SHOT, (200, 1_200, 1_500), strict=True):
        yield quiet(f"{workload} to OpenCompass", bound, faster("rate", workload, "promptpress", "OpenCompass"))
    yield quiet("zero to Polars `pl.format`", 1.2, faster("rate", "zero", "promptpress", "Polars pl.format"))
    for workload, bound in (("zero", 0.7), ("five-text", 0.8)):
        limit = faster("rate", workload, "promptpress", "copy limit, fresh")
        yield quiet(f"{workload}: `render` to the copy of its bytes", bound, limit)
        figure = faster("spans", workload, "render", "audit")
        yield quiet(f"{workload}: `audit`, to a render", 8, figure, at_least=False)
    yield quiet("MMLU's template: `JinjaTemplate` to jinja2", 40, faster("jinja", "mmlu", "JinjaTemplate", "jinja2"))
    for workload, bound in (("chatml", 150), ("llama3", 150), ("qwen3-5", 60)):
        chat = faster("chat", workload, "ChatTemplate", "transformers")
        yield quiet(f"{workload}: `ChatTemplate` to transformers", bound, chat)
    for way, bound in (("backend", 4), ("requests", 40)):
        lm_eval = faster("lm_eval", "MMLU-like, first five of five", way, "compile cache")
        yield quiet(f"MMLU-like, five-shot: `{way}` to lm-eval, templates compiled once", bound, lm_eval)
    yield quiet("growth of memory over a stream, in MB", 256, growth, at_least=False)
