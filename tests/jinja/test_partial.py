"""Templates evaluated with the row left open, beside Jinja2 itself: run by the model of programs, row by row."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

pytest.importorskip("jinja2")

from generators.random_templates import SCHEMA, Templates, rows
from models.jinja_model import Bailed, BailError, Values, run
from promptpress._jinja.compiler.compilation import Compiled, compile_columns
from promptpress._jinja.compiler.program import Builder, Program
from promptpress._jinja.compiler.values import NeedsKeyError
from promptpress._jinja.reference import Reference

COLUMNS = tuple(SCHEMA.names)


def compiled_for(reference: Reference, row: dict[str, Any]) -> Compiled:
    """The program of a row, by the lengths that it asks for."""
    keys: dict[tuple[Any, ...], int] = {}
    while True:
        try:
            return compile_columns(reference, SCHEMA, COLUMNS, keys)
        except NeedsKeyError as missing:
            builder = Builder(COLUMNS)
            node = builder.of_expression(missing.expression)
            try:
                value = Values(Program(COLUMNS, tuple(builder.nodes)), row)[node]
            except BailError:
                value = -1
            keys[missing.expression] = value if type(value) is int else -1


def outcome(reference: Reference, row: dict[str, Any]) -> tuple[str, Any, Any]:
    """Return the outcome of a row: `same`, `bailed`, `raises` or `differs`."""
    got = run(compiled_for(reference, row).program, row)
    try:
        wanted: Any = reference.render(row)
    except Exception as error:
        wanted = error
    if isinstance(got, Bailed):
        return ("raises" if isinstance(wanted, Exception) else "bailed"), got, wanted
    return ("same" if got == wanted else "differs"), got, wanted


def counted(seeds: range) -> Counter[str]:
    """Hold random templates against Jinja2; how many rows went which way."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        source = Templates(random).template()
        environment = random.choice(["jinja2", "lm_eval", "transformers"])
        try:
            reference = Reference(source, environment)
        except ValueError:
            continue  # no template
        for row in rows(random):
            what, got, wanted = outcome(reference, row)
            assert what != "differs" or "0x" in str(wanted), (seed, environment, source, row, got, wanted)
            seen[what] += 1
    return seen


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_random_templates(start: int) -> None:
    seen = counted(range(start, start + 50))
    assert seen["same"] > seen["bailed"]


@pytest.mark.full
def test_many_random_templates() -> None:
    seen = counted(range(1000, 30_000))
    assert seen["same"] > 2 * seen["bailed"]
