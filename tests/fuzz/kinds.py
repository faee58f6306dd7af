"""Table of the kinds of fuzzing: each kind is a module with `make(seed, number)` and `run(seed, number)`.

A new kind is a module in this folder and an entry here. `python -m fuzz`, `make reliability` and its page
read this table.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple


class Kind(NamedTuple):
    """Facts about a kind of fuzzing.

    Args:
        counted: The things that a case counts, in the plural.
        about: The line about it in docs/reliability.md.
        quick: The number of those things in a quick run of `make reliability`.
        full: Their number in a whole one.

    """

    counted: str
    about: str
    quick: int
    full: int


KINDS = {
    "prompts": Kind(
        "requests",
        "random configurations and tables compared with the models in plain Python and OpenCompass, with splits, "
        "threads, `explain`, pickling",
        20_000,
        1_000_000,
    ),
    "cells": Kind(
        "cells",
        "the same in bulk, and Jinja programs and templates compared with Jinja2: only the texts",
        100_000,
        10_000_000,
    ),
    "jinja_values": Kind(
        "rows",
        "templates that compare values of all pairs of kinds and give arguments of all kinds, compared with Jinja2, "
        "transformers and lm-eval, or with environments of the same settings where these aren't installed",
        20_000,
        1_000_000,
    ),
    "growth": Kind(
        "rows of loops",
        "templates that put values together in loops and under conditions, compared with Jinja2; programs that grow no "
        "faster than their loops",
        2_000,
        100_000,
    ),
    "row_errors": Kind(
        "tables",
        "tables with rows that can't be rendered: each row compared with the same row alone, with splits, threads, "
        "streams",
        500,
        20_000,
    ),
    "layouts": Kind(
        "tables in odd layouts",
        "nested columns that are sliced, chunked or hold something below nulls, compared with fresh copies of them",
        500,
        50_000,
    ),
    "limits": Kind(
        "tables around a limit", "requests around a limit, in every string layout, output and verb", 200, 5_000
    ),
    "labels": Kind(
        "tables with labels",
        "label columns and lists of labels of all types, through every verb that shows labels",
        200,
        10_000,
    ),
    "expansions": Kind(
        "tables of messages", "columns of lists that are messages or aren't, compared with OpenCompass", 500, 20_000
    ),
    "audit": Kind(
        "audited tables",
        "random tables and configurations, audited, compared with a model that goes by brute force over prompts and "
        "spans; the bytes of each column that `stats` counts",
        100,
        5_000,
    ),
    "arrow": Kind(
        "broken tables", "arrays and files that lie about offsets, lengths, keys, UTF-8, nesting", 1_000, 50_000
    ),
    "configs": Kind(
        "Python configurations", "configurations in Python, changed at random: read, and never executed", 500, 50_000
    ),
    "programs": Kind(
        "programs",
        "configurations that are programs, compared with Python that executes them: each value, and the same objects",
        500,
        100_000,
    ),
    "undefined_names": Kind(
        "templates",
        "names that templates set and read on random ways: those that are noted as undefined, compared with the "
        "rows that raise in Jinja2's strict mode",
        1_000,
        100_000,
    ),
}
"""Each kind by its name, in the order in which docs/reliability.md shows them."""


def module(kind: str) -> ModuleType:
    """Return the module of a kind; any other name is that of a module itself."""
    return importlib.import_module(f"fuzz.{kind}" if kind in KINDS else kind)
