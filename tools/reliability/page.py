"""docs/reliability.md from what a run measured. No figure stands here."""

from __future__ import annotations

from typing import Any

from fuzz import kinds as fuzz_kinds

_AFTER_ARROW = {"arrow, valgrind": "the same, each read and write looked at by valgrind"}
_CORE = {
    "core: configurations": "configurations, read and compiled",
    "core: render": "configurations with their tables, rendered, explained, compared between ways of filling",
    "core: arrow": "columns whose offsets, views, keys, run ends and bytes were changed",
    "core: conversations": "chats as JSON texts",
    "core: jinja": "programs of any operations on any values",
}


def _kinds() -> dict[str, str]:
    lines: dict[str, str] = {}
    for name, kind in fuzz_kinds.KINDS.items():
        lines[name] = kind.about
        if name == "arrow":
            lines.update(_AFTER_ARROW)
    return {**lines, **_CORE}


KINDS = _kinds()
"""The line about each kind of fuzzing, in the order of the page."""
COMMANDS = {
    **{name: f'make fuzz FUZZ_ARGS="{name} --requests N"' for name in fuzz_kinds.KINDS},
    "cells": "make fuzz-differential N=...",
    "arrow, valgrind": 'make fuzz-valgrind FUZZ_ARGS="--requests N"',
}
CORE = 'make fuzz-core FUZZ_ARGS="TARGET --seconds N"'
VERBS = (
    "render", "render-ppl", "call", "stream", "explain", "divergence", "audit", "construct", "refused",
    "jinja-template", "chat-template",
)  # fmt: skip
"""Calls that are repeated, by their names in `tests/soak/growth.py`."""
MEGABYTE = 1 << 20
NOT_RUN = "not run for this page"


def written(results: dict[str, Any]) -> str:
    """The page."""
    parts = [
        HEAD.format(
            machine=results["machine"], how="make reliability QUICK=1" if results["quick"] else "make reliability"
        ),
        fuzzed(results["fuzzed"]),
        faults(results["faults"]),
        memory(results["memory"]),
        agreement(results["agreement"]),
        unsafe(results["fuzzed"]),
        advisories(results["advisories"]),
    ]
    return "\n".join(parts)


HEAD = """# Reliability

What was tried to make promptpress crash, hang, lose a row, grow, or give a wrong text; and what came of it. This page
is written by `{how}`; each figure was measured by the command next to it, on {machine}.
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    right = ["---:" if name in RIGHT else "---" for name in head]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, right, *rows]) + "\n"


RIGHT = {"how many", "failures", "seconds", "after 1", "after 1,000", "at the end", "calls", "tried"}


def fuzzed(runs: list[dict[str, Any]]) -> str:
    """Return the section about fuzzing."""
    by_kind = {run["kind"] + (", valgrind" if run.get("valgrind") else ""): run for run in runs if run["count"]}
    rows = []
    for kind, what in KINDS.items():
        run = by_kind.get(kind)
        count = f"{run['count']:,} {run['counted']}" if run else NOT_RUN
        fails = f"{sum(run['failures'].values()):,}" if run else "-"
        rows.append([what, count, fails, f"{run['seconds']:,}" if run else "-", f"`{COMMANDS.get(kind, CORE)}`"])
    return f"""## Inputs

A failure is a panic, a crash, a hang, memory that may not be touched, a wrong text, or an exception that isn't one of
ours. Rows named core are guided by coverage: libFuzzer changes inputs that reach new code, with an address sanitizer
that looks at each access. Inputs that once failed are kept in `tests/fuzz/corpus` and are part of `make test`.

{table(["what", "how many", "failures", "seconds", "again"], rows)}"""


def faults(results: dict[str, Any] | None) -> str:
    """Return the section about interrupted runs."""
    text = "## Faults\n\nRuns of `promptpress render` that are killed, that meet a full disk or files that change.\n\n"
    if results is None:
        return text + f"They were {NOT_RUN}.\n"
    rows = [[name, f"{count:,}"] for name, count in results["tried"].items()]
    rows.append(["tests that failed: a row lost, or a byte that differs", f"{results['failed tests']:,}"])
    return text + table(["fault", "tried"], rows)


def memory(growths: dict[str, dict[str, int]]) -> str:
    """Return the section about memory of a process."""
    rows = []
    for verb in VERBS:
        after = growths.get(verb)
        if after is None:
            rows.append([f"`{verb}`", NOT_RUN, "-", "-", "-"])
            continue
        first, second, last = (after[count] / MEGABYTE for count in after)
        rows.append([f"`{verb}`", f"{int([*after][-1]):,}", f"{first:.1f}", f"{second:.1f}", f"{last:.1f}"])
    return f"""## Memory

Resident memory of a process, in MiB, after calls with two rows each. Again: `python -m soak.growth VERB 1 1000 CALLS`
in `tests/`.

{table(["verb", "calls", "after 1", "after 1,000", "at the end"], rows)}"""


def agreement(result: dict[str, Any]) -> str:
    """Return the section about threads that render at once."""
    return f"""## Threads

{result["threads"]} threads rendered {result["renders"]:,} times by {result["renderers"]} renderers of random
configurations, each on a table of its own: {result["rows"]:,} requests, compared with what one thread renders alone.
{len(result["different"]):,} differ.

After a fork, and with forks while other threads render, `tests/engine/test_processes.py` has children render the same
bytes.
Python without its lock (free-threaded) isn't tried here: its wheels (cp314t, and abi3t from 3.15 on) are made and
tested in .github/workflows/wheels.yml.
"""


def unsafe(runs: list[dict[str, Any]]) -> str:
    """Return the section about checks of unsafe code."""
    core = sum(run["count"] for run in runs if run["kind"].startswith("core"))
    looked = f"{core:,} inputs of this run" if core else "0 inputs of this run"
    return f"""## Unsafe code

Two files of the core have any: `src/render/memory/string_arrays.rs`, which shows rendered bytes as Arrow's strings
without reading them once more, and `src/render/input/import.rs`, which takes arrays over from pyarrow without
reading them. The core's fuzz targets check each array that comes out, to the last character, and
ran under the address sanitizer for {looked}. `make fuzz-valgrind` runs the same files below Python, with Arrow's
C interface. Miri isn't used: it needs a nightly compiler's own component.
"""


def advisories(result: dict[str, Any]) -> str:
    """Return the section about the crates."""
    return f"""## What it is built of

cargo-deny checks the crates against RustSec's advisories of {result["date"]}. It also checks licences, sources and
duplicate versions. {"It found no fault." if result["passed"] else "It found faults."} Run it with `make advisories`.
"""
