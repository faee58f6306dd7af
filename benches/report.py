"""The results of `make bench` as two Markdown pages: what a user gains, with a chart, and the tables behind it.

python benches/report.py RESULTS.json... [--out docs/benchmarks.md]

With --out the page is written, its chart of the same name with .svg, and the tables with -tables.md; without, both are
printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from chart import chart
from jobs import JOBS
from results import Results, Run, label, read, rows_per_second
from targets import targets

SECTIONS = {
    "filled": (
        "Rows whose values form placeholders",
        "A stream, whose memory is used again. In so many rows a value brings in a placeholder, which is filled too.",
    ),
    "spans": ("Spans and audit", "`render(spans=True)` and `audit` next to `render`."),
    "command": (
        "Command",
        "Whole processes. *pyarrow* is a program that reads the same columns and writes the same prompts as Parquet, "
        "which it finds finished in memory-mapped Arrow, with the same codec, row groups and encoding; *polars* "
        "writes finished prompts as JSON lines by `write_ndjson`. promptpress syncs its files to disk, the programs "
        "don't.",
    ),
    "latency": (
        "Latency",
        "A row is a call. *ten rows*: a table of ten rows through a ready renderer, pyarrow in and out. *bare*: the "
        "same samples and prompts, from pyarrow to pyarrow by Arrow's C data interface. *one conversation*: a template "
        "that has met its shape before (*warm*), or making one and its first text (*new template*).",
    ),
    "jinja": ("Jinja", "Rows of tables by `JinjaTemplate`, jinja2 and minijinja-py, each template compiled once."),
    "filters": ("Filters of Jinja", "A filter or a way to format alone, on one thread: compiled, but for the last."),
    "chat": ("Chats", "Conversations by `ChatTemplate`, transformers' `render_jinja_template`, jinja2, minijinja-py."),
    "where": (
        "Where people work",
        "Conversations in Polars, DuckDB and datasets by `ChatTemplate`, with all threads; one at a time and as a "
        "batch by the drop-in for `apply_chat_template`; transformers, and DuckDB's minijinja extension.",
    ),
    "lm_eval": (
        "lm-eval",
        "Documents whose requests are built: `requests` makes a table, the others objects. *compile cache* is lm-eval "
        "with each template compiled once.",
    ),
    "compile": (
        "Compiling",
        "A round is one of the recorded templates: what promptpress takes for the constructor and for one shape of "
        "conversations or the schema of a table, and what jinja2 takes to compile it.",
    ),
    "tokens": (
        "Tokens",
        "Conversations as token ids. *tokenize* renders, too, as do *datasets.map* with "
        "`apply_chat_template(tokenize=True)`, batched, and *trl*, the preparation of its `SFTTrainer`. *engine* is "
        "the core's over finished texts, nothing kept; *tokenizers* the library's `encode_batch_fast`, and "
        "*gigatoken* gives arrays of awkward; both get finished texts.",
    ),
}

SEVERAL = ("command", "latency", "compile")
"""Kinds of work in which promptpress does several things."""

PREFACE = (
    "A row is a sample; figures are medians of five rounds, in which the ways of a workload take turns, after one",
    "that isn't counted. A round lasts some tenths of a second: slow peers get few rows. *CPU seconds* are the",
    "processors', of the process with all its threads, or of the command. Before a peer is timed, its requests for",
    "the first samples are compared with those of the oracle, to the byte, and promptpress's last ones too; a",
    "difference fails the run. Every peer runs in one process, on as many threads as it says; the samples are in",
    "memory in the form that the peer takes. GB/s are of the memory that promptpress's output takes.",
    "",
    "`promptpress` is `render`, whose output is fresh memory; `promptpress stream` gives batches of 65,536 samples",
    "that are dropped as they come. The copy limit is one copy of as many bytes as `render` puts out: *fresh* into",
    "memory newly obtained, *reused* batch after batch into memory already touched. Before a round that",
    "needs more memory than the one before gave back, as much is obtained and given back, so that none waits for the",
    "host of a virtual machine to return what it took while slower ones ran.",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = read(arguments.results)
    out: Path | None = arguments.out
    pages = {"": summary(results, "benchmarks.svg" if out is None else out.with_suffix(".svg").name)}
    pages["-tables"] = tables(results)
    for ending, page in pages.items():
        text = "\n".join(page) + "\n"
        if out is None:
            sys.stdout.write(text)
        else:
            out.with_stem(out.stem + ending).write_text(text, encoding="utf-8")
    if out is not None:
        out.with_suffix(".svg").write_text(chart(results), encoding="utf-8")


def summary(results: Results, picture: str) -> Iterator[str]:
    """Yield the page that a user reads."""
    machine, cores = results.machine, results.machine["cores"]["process"]
    yield from ["# Benchmarks", ""]
    yield f"Rows a second of one processor, on {machine['cpu_model']}, of which there were {cores}."
    yield "Each line has what one would take instead. Before it is timed, it has to give the same bytes."
    yield from ["", "| job | promptpress | instead | | times as fast |", "|---|---:|---|---:|---:|"]
    yield from (line for job in JOBS if (line := job.row(results)) is not None)
    yield from ["", f"![Rows a second by workload and peer]({picture})", ""]
    yield from [
        "Figures differ by some per cent from run to run. `make bench` measures them anew, in less than 20 minutes,",
        "and writes this page. [The tables](benchmarks-tables.md) have all workloads and peers, the machine, the",
        "versions and the targets; [Performance](design/performance.md) says how it is measured and what binds it.",
    ]


def tables(results: Results) -> Iterator[str]:
    """Yield the page with the tables of all workloads."""
    yield from preface(results)
    yield from ["## Targets", ""]
    every = list(targets())
    held = [target for target in every if target.is_quiet and target.has_reached(results)]
    yield from [
        "By the processors' seconds, promptpress on one thread; *machine busy* says that the reference took a tenth",
        "longer than at its best around these rounds, or waited. [Performance](design/performance.md) says what each",
        f"target means. {len(held)} more are reached by far, and stand here only when they aren't.",
        "",
    ]
    yield from ["| | found | target | |", "|---|---:|---:|---|"]
    yield from (target.row(results) for target in every if target not in held)
    yield ""
    yield from reference(results)
    yield from ["## Rates", ""]
    for workload, runs in results.workloads("rate").items():
        first = runs[0]
        requests = f"; {first['per_row']} requests a row" if first["per_row"] > 1 else ""
        yield from [f"### {workload}", "", f"{first['about'][0].upper()}{first['about'][1:]}{requests}.", ""]
        yield from table(sorted(runs, key=rows_per_second, reverse=True))
    for kind, (title, about) in SECTIONS.items():
        grouped = results.workloads(kind)
        if grouped:
            yield from [f"## {title}", "", about, ""]
        for workload, runs in grouped.items():
            yield from [f"### {title}: {workload}", "", *([runs[0]["about"], ""] if "about" in runs[0] else [])]
            yield from table(runs)
    yield from memory(results)


def preface(results: Results) -> Iterator[str]:
    machine = results.machine
    cores = machine["cores"]
    yield from ["# Benchmarks: the tables", "", "Generated by `make bench`; not to be edited.", ""]
    yield f"- Machine: {machine['cpu_model']}, {cores['machine']} cores, {cores['process']} of them for this process;"
    yield f"  {machine['system']}, huge pages: {machine['huge_pages']}; {machine['python']}."
    minutes = [file["seconds"] / 60 for file in results.files]
    parts = f" ({' and '.join(f'{part:.1f}' for part in minutes)})" if len(minutes) > 1 else ""
    yield f"- The run took {sum(minutes):.1f} minutes{parts}, without setting up the environments."
    if results.quick:
        yield "- A quick run: few samples, so that fixed costs weigh more than they do in a full one."
    yield f"- Text: {machine['texts']}{'' if machine['texts'] == 'real' else ', in the shape of real data sets'}."
    versions = {run["way"]: run["version"] for run in results.of("rate") if "version" in run}
    for version in dict.fromkeys(versions.values()):
        yield f"- {'; '.join(name for name, its in versions.items() if its == version)}: {version}."
    for file in results.files[1:]:
        listed = ", ".join(f"{name} {version}" for name, version in file["machine"]["versions"].items())
        yield f"- For Jinja, chats, lm-eval and tokens: {listed}."
    for name, reason in results.absent.items():
        yield f"- {name}: absent; {reason}."
    yield from ["", *PREFACE, ""]


def reference(results: Results) -> Iterator[str]:
    """Yield the section with the readings of the reference."""
    timed = {f"{run['kind']}: {run['workload']}": run for run in results.runs if "readings" in run}
    if not timed:
        return
    busy = {name for name, run in timed.items() if results.is_busy(run)}
    yield from [
        "## The reference",
        "",
        "A fixed computation on all threads, before, between and after the rounds: milliseconds on the clock, and of a",
        f"processor in each thread. At its best {results.best * 1e3:.1f} ms;",
        f"{len(busy)} of {len(timed)} workloads were timed on a busy machine.",
        "",
        "| | on the clock, ms | of a processor, ms | |",
        "|---|---|---|---|",
    ]
    for name, run in timed.items():
        clock, cpu = (", ".join(f"{reading[part] * 1e3:.1f}" for reading in run["readings"]) for part in (0, 1))
        yield f"| {name} | {clock} | {cpu} | {'busy' if name in busy else ''} |"
    yield ""


def table(runs: list[Run]) -> Iterator[str]:
    """Yield the table of a workload, with the columns that it has something for."""
    every = [run for run in runs if run["role"] == "ours" and run["kind"] not in SEVERAL]
    ours = max(every, key=lambda run: (run["way"] == "promptpress", run["threads"]), default=None)
    columns = {
        "": "|---",
        "threads": "|---:",
        "rows timed": "|---:",
        "seconds: median (least to most)": "|---:",
        "CPU seconds": "|---:",
        "rows/s": "|---:",
        "rows a CPU second": "|---:",
        "GB/s": "|---:",
        "promptpress: times as fast": "|---:",
        "equal to, on rows": "|---",
    }
    rows = []
    for run in runs:
        is_volume = run["kind"] == "rate" and run["role"] != "peer"
        times = rows_per_second(ours) / rows_per_second(run) if ours and run["role"] == "peer" else None
        rows.append(
            [
                label(run, runs),
                f"{run['threads']}",
                f"{run['rows']:,}",
                seconds(run["seconds"]),
                f"{median(run['cpu']):.3f}",
                f"{rows_per_second(run):,.0f}",
                f"{rows_per_second(run, 'cpu'):,.0f}",
                f"{run['bytes'] / median(run['seconds']) / 1e9:.2f}" if is_volume else "",
                f"{times:,.1f}" if times else "",
                equal(run),
            ]
        )
    kept = [number for number in range(len(columns)) if number < 4 or any(row[number] for row in rows)]
    yield f"| {' | '.join(name for number, name in enumerate(columns) if number in kept)} |"
    yield "".join(line for number, line in enumerate(columns.values()) if number in kept) + "|"
    yield from (f"| {' | '.join(row[number] for number in kept)} |" for row in rows)
    yield ""


def seconds(times: list[float]) -> str:
    digits = 3 if median(times) > 0.01 else 6
    return f"{median(times):.{digits}f} ({min(times):.{digits}f} to {max(times):.{digits}f})"


def equal(run: Run) -> str:
    if "equal_to" not in run:
        return ""
    if run["equal_to"] is None:
        return "nothing: no oracle is installed"
    return "oracle" if run["equal_to"] == run["way"] else f"{run['equal_to']}, {run['compared']:,}"


def memory(results: Results) -> Iterator[str]:
    runs = [run for kind in ("views", "kept", "growth") for run in results.of(kind)]
    if not runs:
        return
    yield from ["## Memory", ""]
    yield from ["| | samples | |", "|---|---:|---|"]
    for run in runs:
        if run["kind"] == "views":
            what = 'five-messages, `strings="string_view"`: the output\'s own memory'
            figures = f"{size(run, 'views')}; copying every content, `strings='string'`: {size(run, 'copies')}"
        elif run["kind"] == "kept":
            what = f"{run['workload']}: kept after a render of {size(run, 'output')} is dropped"
            figures = f"{size(run, 'kept')}; while it is held: {size(run, 'growth')}"
        else:
            what = f"{run['workload']}: growth over a stream of {size(run, 'output')}, batches dropped"
            figures = size(run, "growth")
        yield f"| {what} | {run['samples']:,} | {figures} |"
    yield from ["", "An output's own memory: all distinct buffers that it holds and the tables given don't.", ""]


def size(run: dict[str, Any], key: str) -> str:
    return f"{run[key] / 1e6:,.1f} MB"


if __name__ == "__main__":
    main()
