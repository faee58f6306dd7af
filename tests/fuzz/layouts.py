"""Tables in odd layouts: whatever renders them gives the same as for fresh copies of their columns.

A case is a table whose column `x` nests one type in another, and whose arrays begin past their buffers' start, show
children from the middle, hold something below nulls, or come in several chunks. The reference is the same verb on a
table that is built anew, value by value. Texts are compared with Python's `str()` and with Jinja2 too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import arrays, fresh, layout_verbs, stages, talks
from .draw import Draw
from .oracle import DifferenceError

HANG = 60.0
"""Seconds that a case may take: it is several renders."""

ROWS = 9
TEXTS = ("", "é", "longer than a view has room for", "{q}", "user", "0")

OUTER: tuple[Callable[[pa.DataType], pa.DataType], ...] = (
    pa.list_,
    pa.large_list,
    pa.list_view,
    pa.large_list_view,
    lambda item: pa.list_(item, 2),
    lambda item: pa.struct([("a", item), ("b", pa.string())]),
    lambda item: pa.map_(pa.string(), item),
    lambda item: pa.sparse_union([pa.field("a", item), pa.field("b", pa.int8())]),
    lambda item: pa.dense_union([pa.field("a", item), pa.field("b", pa.int8())]),
)
"""Types that hold a type of any kind. Dictionaries, runs and extensions, which hold leaves, are drawn below them."""


@dataclass
class Case:
    """A table in an odd layout, and its fresh copies.

    Args:
        table: The table.
        chunks: A copy with the same chunks, of which each is fresh.
        whole: A copy in one fresh chunk.
        verb: The name of what is done with them.

    """

    table: pa.Table
    chunks: pa.Table
    whole: pa.Table
    verb: str


def nested_type(draw: Draw, number: int) -> pa.DataType:
    """A type of two or more levels. One number after the other goes through all pairs, each with every verb."""
    inner = arrays.any_type(draw, draw.pick(0, 0, 1))
    for level in (number // len(OUTER), number):
        inner = OUTER[level % len(OUTER)](inner)
    return inner


def make(seed: int, number: int) -> Case:
    """Draw the case of a number."""
    draw = Draw.of(seed, number, "layouts")
    verb = layout_verbs.OFTEN[number % len(layout_verbs.OFTEN)]
    rows = draw.pick(0, 1, ROWS, ROWS, ROWS, draw.randint(2, ROWS))
    if verb in layout_verbs.OF_TALKS or (verb in layout_verbs.OF_MESSAGES and draw.chance(4)):
        x = talks.column(draw, rows)
    else:
        kind = nested_type(draw, number) if draw.chance(1.5) else arrays.any_type(draw, 3)
        x = arrays.chunked_of(draw, kind, rows, lambda draw: draw.choice(TEXTS))
    q = pa.chunked_array([pa.array([draw.choice(TEXTS) for _ in range(rows)], pa.string())])
    table = pa.table({"q": q, "x": x})
    if rows and draw.chance(1.5):
        start = draw.randrange(rows)
        table = table.slice(start, draw.randint(1, rows - start))
    return Case(table, copied(table, whole=False), copied(table, whole=True), verb)


def copied(table: pa.Table, *, whole: bool) -> pa.Table:
    """A table of fresh arrays."""
    columns = []
    for column in table.columns:
        parts = [column] if whole else column.chunks
        columns.append(pa.chunked_array([fresh.fresh_array(part) for part in parts], column.type))
    return pa.table(columns, schema=table.schema)


def outcome(verb: str, draw: Draw, table: pa.Table) -> tuple[Any, ...]:
    """Run a verb; an error of ours is an outcome as well."""
    try:
        return ("gives", layout_verbs.VERBS[verb](draw, table))
    except (pp.RenderError, pp.TemplateError) as error:
        return ("refuses", type(error).__name__, error.code, error.row, error.column, str(error))


def check(seed: int, number: int, case: Case) -> int:
    """Compare what a verb gives of the three tables."""
    stages.enter(case.verb)
    tables = (case.table, case.chunks, case.whole)
    results = [outcome(case.verb, Draw.of(seed, number, case.verb), layout) for layout in tables]
    odd, chunked, whole = results
    for result in results:
        if result[0] == "refuses" and result[2] == "internal_error":
            raise DifferenceError(f"{case.verb}: {result[2]}", result[5])
    if odd != chunked:
        raise DifferenceError(f"{case.verb}: a layout gives something else", difference(odd, chunked))
    # Where two rows are refused, the chunks decide which of them is met first.
    if odd != whole and not odd[0] == whole[0] == "refuses":
        raise DifferenceError(f"{case.verb}: chunks give something else", difference(odd, whole))
    return 1


def difference(actual: Any, wanted: Any) -> str:
    """Two results around their first difference."""
    actual, wanted = repr(actual), repr(wanted)
    index = next(
        (n for n, (a, b) in enumerate(zip(actual, wanted, strict=False)) if a != b), min(len(actual), len(wanted))
    )
    start = max(0, index - 60)
    return f"found ...{actual[start : index + 200]}, wanted ...{wanted[start : index + 200]}"


def run(seed: int, number: int) -> int:
    """Make and check the case of a number."""
    stages.enter("building")
    try:
        case = make(seed, number)
    except (pa.ArrowException, stages.Unbuildable) as error:
        raise stages.Unbuildable(str(error)) from None
    return check(seed, number, case)
