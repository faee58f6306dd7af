"""Choice of few-shot documents for each evaluated document: the harness's samplers, and which documents are equal."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_harness.lm_eval.documents import Documents, TableDocuments, as_array, as_sequence

_CHECKED = 3
"""Number of documents for which `random.sample` draws as well, to check the core."""
_MAX_POOL = 2**31 - 1


@dataclass(frozen=True)
class Groups:
    """The group (int64) of each document of the pool and of each evaluated document.

    Documents of the same group are equal. A document with a number below 0 equals none.
    """

    pool: pa.Array
    documents: pa.Array


def draw(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Draw shots for each document, in order, as the harness's default sampler does; return their rows (int32).

    The core draws what `random.sample` would. The draws of the first documents are compared. If they differ, or if the
    generator is of another class, `random.sample` draws for each document. The generator is left in the state in which
    the sampler would leave it. `groups` keeps documents of the pool from evaluated documents that equal them.
    """
    if type(random) is Random and pool <= _MAX_POOL:
        initial_state = random.getstate()
        version, words, *others = initial_state
        group_arrays = None if groups is None else (groups.pool, groups.documents)
        rows, state = _core.drawn_rows(words, pool, shots, count, group_arrays)
        checked = min(count, _CHECKED)
        expected = list(chain.from_iterable(_sample_each(random, pool, shots, groups, checked)))
        if expected == rows.slice(0, checked * shots).to_pylist():
            random.setstate((version, tuple(state), *others))
            return rows
        random.setstate(initial_state)
    return pa.array(list(chain.from_iterable(_sample_each(random, pool, shots, groups, count))), pa.int32())


def _sample_each(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> Iterator[list[int]]:
    if groups is None:
        yield from (random.sample(range(pool), shots) for _ in range(count))
        return
    pool_groups = as_sequence(groups.pool)
    for group in as_sequence(groups.documents)[:count]:
        drawn = random.sample(range(pool), shots + 1)
        if group >= 0:
            drawn = [row for row in drawn if pool_groups[row] != group]
        if len(drawn) < shots:
            # More than one copy of the document was drawn.
            drawn = random.sample([row for row in range(pool) if pool_groups[row] != group], shots)
        yield drawn[:shots]


def first_n(pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Return the first shots of the pool for each document, as the sampler `first_n` does; see `draw`."""
    try:
        if groups is not None:
            return _core.first_rows(shots, groups.pool, groups.documents)
        unequal = pa.array([-1], pa.int64())
        rows = _core.first_rows(shots, _core.repeated_rows(0, min(pool, shots), 1), unequal)
    except ValueError as error:
        raise AssertionError(str(error)) from error  # as the harness raises
    return pa.concat_arrays([rows] * count or [rows.slice(0, 0)])


def equal_rows(evaluated: Documents, pool: Documents, same: bool) -> Groups:
    """Return the groups of documents that are equal to each other; NaN equals nothing.

    With `same`, the numbers of the evaluated documents are their rows in the pool.
    """
    numbers = evaluated.numbers
    groups = Groups(*(pa.repeat(pa.scalar(-1, pa.int64()), len(documents)) for documents in (pool, evaluated)))
    if not isinstance(evaluated, TableDocuments) or not isinstance(pool, TableDocuments):
        return _compared(evaluated, range(len(numbers)), pool, range(len(pool)), groups)
    if evaluated.names != pool.names:
        return groups
    if same and (duplicates := _possible_duplicates(pool.table)) is not None:
        groups = Groups(as_array(range(len(pool))), as_array(numbers))
        suspects = [row for row, number in enumerate(numbers) if number in duplicates] if duplicates else []
        return _compared(evaluated, suspects, pool, sorted(duplicates), groups)
    suspects, candidates = (
        _rows_with_values_of(table, other)
        for table, other in ((evaluated.table, pool.table), (pool.table, evaluated.table))
    )
    return _compared(evaluated, suspects, pool, candidates, groups)


def _compared(
    evaluated: Documents, suspects: Sequence[int], pool: Documents, candidates: Sequence[int], groups: Groups
) -> Groups:
    """Compare some rows as Python values, and return the groups with these rows regrouped."""
    if not suspects or not candidates:
        return groups
    first_group = len(pool)  # after the groups of the rows that aren't compared
    group_of: dict[Any, int] = {}
    of_pool, of_documents = (array("q", bytes(as_sequence(part))) for part in (groups.pool, groups.documents))
    for row, document in zip(candidates, pool.take(candidates).rows(), strict=True):
        of_pool[row] = group_of.setdefault(_hashable(document), first_group + row)
    for row, document in zip(suspects, evaluated.take(suspects).rows(), strict=True):
        of_documents[row] = group_of.get(_hashable(document), -1)
    return Groups(as_array(of_pool), as_array(of_documents))


def _hashable(value: Any) -> Any:
    """Return a hashable value that equals another such value only if the originals are equal, in any order of keys."""
    if isinstance(value, dict):
        return frozenset([(key, _hashable(item)) for key, item in value.items()])
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _rows_with_values_of(table: pa.Table, other: pa.Table) -> list[int]:
    """Return the rows whose plain values all occur in another table, so that they may equal one of its rows."""
    rows = pa.chunked_array([_core.repeated_rows(0, len(table), 1)])
    for field in _plain_fields(table):
        if field.type == other.schema.field(field.name).type and len(rows):
            column = table.column(field.name).take(rows)
            rows = rows.filter(pc.is_in(column, value_set=other.column(field.name).combine_chunks()))
    return rows.to_pylist()  # type: ignore[no-any-return]


def _possible_duplicates(table: pa.Table) -> set[int] | None:
    """Return the rows that may equal another row; None if a row may not equal itself, because it holds NaN."""
    if any(_may_hold_nan(column) for column in table.columns):
        return None
    plain = [field.name for field in _plain_fields(table)]
    if not plain:
        return set(range(len(table)))
    # A single column of distinct values is enough.
    for name in plain:
        if pc.count_distinct(table.column(name), mode="all").as_py() == len(table):
            return set()
    rows = pa.chunked_array([_core.repeated_rows(0, len(table), 1)])
    number = "".join(table.column_names) + "#"  # no column of the table has this name
    groups = table.select(plain).append_column(number, rows).group_by(plain).aggregate([(number, "list")])
    lists = groups.column(f"{number}_list")
    return set(pc.list_flatten(lists.filter(pc.greater(pc.list_value_length(lists), 1))).to_pylist())


def _plain_fields(table: pa.Table) -> list[pa.Field]:
    """Return the fields of integers, which are compared fastest, and then those of texts."""
    return sorted(
        (field for field in table.schema if _is_plain(field.type)), key=lambda field: not types.is_integer(field.type)
    )


def _is_plain(data_type: pa.DataType) -> bool:
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_integer(data_type))


def _may_hold_nan(column: pa.Array | pa.ChunkedArray) -> bool:
    data_type = column.type
    if _is_plain(data_type) or types.is_boolean(data_type) or types.is_null(data_type):
        return False
    if types.is_floating(data_type):
        return bool(pc.any(pc.is_nan(column.cast(pa.float64()))).as_py())
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if types.is_list(data_type) or types.is_large_list(data_type):
        return any(_may_hold_nan(chunk.flatten()) for chunk in chunks)
    if types.is_struct(data_type):
        # `flatten` ends the process if a field is a union.
        return any(_may_hold_nan(chunk.field(n)) for chunk in chunks for n in range(data_type.num_fields))
    return True
