"""Targets, and the computation of each figure from the results.

A figure is a quotient of processors' seconds, promptpress on one thread, so that a busy machine changes it little;
where the reference (reference.py) says that the machine was busy, the line does. What several threads bring is told
by the clock alone, and isn't judged then.
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
    by_clock: bool = False

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
        if busy and self.by_clock:
            return f"not judged ({BUSY})"
        reached = measured.value >= self.bound if self.at_least else measured.value <= self.bound
        return ("reached" if reached else "missed") + (f" ({BUSY})" if busy else "")


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


def scaling(kind: str, workload: str, way: str) -> Callable[[Results], Measured]:
    """Return the rate of all threads as a multiple of that of one, by the clock."""

    def figure(results: Results) -> Measured:
        runs = results.of(kind, workload=workload, way=way)
        if not runs:
            return Measured(None, missing=way)
        all_threads, one_thread = runs[0], runs[-1]
        return Measured(rows_per_second(all_threads) / rows_per_second(one_thread), (all_threads, one_thread))

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


def at_most(what: str, bound: float, run: tuple[str, str], way: str, other: str) -> Target:
    """Return a target for the time of a way as a multiple of another's."""
    return Target(what, bound, faster(*run, other, way), at_least=False, unit="x")


FEW_SHOT = ("zero", "five-text", "five-messages")


def targets() -> Iterator[Target]:
    for workload, bound in zip(FEW_SHOT, (200, 1_200, 1_500), strict=True):
        yield Target(f"{workload} to OpenCompass", bound, faster("rate", workload, "promptpress", "OpenCompass"))
    yield Target("zero to Polars `pl.format`", 1.2, faster("rate", "zero", "promptpress", "Polars pl.format"))
    for workload, bound in (("zero", 0.7), ("five-text", 0.8)):
        limit = faster("rate", workload, "promptpress", "copy limit, fresh")
        yield Target(f"{workload}: `render` to the copy of its bytes", bound, limit)
    for workload in FEW_SHOT:
        yield at_most(f"{workload}: spans, to a render", 2, ("spans", workload), "render with spans", "render")
        threads = scaling("spans", workload, "render with spans")
        yield Target(f"{workload}: spans, all threads to one, by the clock", 1.6, threads, by_clock=True)
        yield at_most(f"{workload}: `audit`, to a render", 8, ("spans", workload), "audit", "render")
    for workload in ("zero", "five-text"):
        what = f"{workload}: `promptpress render`, Parquet to Parquet, to the pyarrow program"
        yield at_most(what, 1.1, ("command", workload), "render to Parquet", "pyarrow")
    what = "chatml: `--chat-template`, Parquet to Parquet, to `--template` over the same column"
    yield at_most(what, 1.3, ("command", "chatml"), "--chat-template", "--template")
    yield Target("MMLU's template: `JinjaTemplate` to jinja2", 40, faster("jinja", "mmlu", "JinjaTemplate", "jinja2"))
    for workload, bound in (("chatml", 150), ("llama3", 150), ("qwen3-5", 60)):
        chat = faster("chat", workload, "ChatTemplate", "transformers")
        yield Target(f"{workload}: `ChatTemplate` to transformers", bound, chat)
    for way, bound in (("backend", 4), ("requests", 40)):
        lm_eval = faster("lm_eval", "MMLU-like, first five of five", way, "compile cache")
        yield Target(f"MMLU-like, five-shot: `{way}` to lm-eval, templates compiled once", bound, lm_eval)
    for other, bound, what in (
        ("engine", 4, "the core's engine over finished texts, nothing kept"),
        ("datasets.map", 200, "`datasets.map` with `apply_chat_template(tokenize=True)`, batched"),
    ):
        yield Target(f"five-shot ChatML to token ids, to {what}", bound, faster("tokens", "5 shots", "tokenize", other))
    threads = scaling("tokens", "5 shots", "tokenize")
    yield Target("the same, all threads to one, by the clock", 1.6, threads, by_clock=True)
    for way, bound, what in (("constructor", 150, "compiling a renderer"), ("ten rows", 60, "ten rows")):
        yield Target(f"five-text: {what}", bound, microseconds("five-text", way), at_least=False, unit=" µs")
    yield Target("growth of memory over a stream", 256, growth, at_least=False, unit=" MB")
