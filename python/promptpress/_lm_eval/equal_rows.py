"""Which documents of a pool are equal to an evaluated one, as Python compares dicts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress import _core
from promptpress._lm_eval.documents import Documents, TableDocuments
from promptpress._lm_eval.draws import Groups
from promptpress._lm_eval.row_numbers import as_array, as_sequence

__all__ = ["equal_rows"]


def equal_rows(evaluated: Documents, pool: Documents, same: bool) -> Groups:
    """Find the documents of a pool that are equal to evaluated ones.

    Args:
        evaluated: The evaluated documents.
        pool: Those that shots are drawn from.
        same: Whether the evaluated documents are rows of the pool, by their numbers.

    Returns:
        The groups of documents that are equal to each other. NaN equals nothing.

    """
    own = evaluated.numbers
    groups = Groups(_nobody(len(pool)), _nobody(len(own)))
    if isinstance(evaluated, TableDocuments) and isinstance(pool, TableDocuments):
        if evaluated.names != pool.names:
            return groups
        if same and (doubled := _doubled(pool.table)) is not None:
            groups = Groups(as_array(range(len(pool))), as_array(own))
            if not doubled:
                return groups
            doubles = [at for at, row in enumerate(own) if row in doubled]
            return _compared(evaluated, doubles, pool, sorted(doubled), groups)
        suspects, candidates = _shared(evaluated.table, pool.table)
        return _compared(evaluated, suspects, pool, candidates, groups)
    return _compared(evaluated, range(len(own)), pool, range(len(pool)), groups)


def _nobody(count: int) -> pa.Array:
    """Return the groups of documents of which none is equal to another."""
    return pa.array([-1], pa.int64()).take(_core.repeated_rows(0, 1, count))


def _compared(
    evaluated: Documents, suspects: Sequence[int], pool: Documents, candidates: Sequence[int], groups: Groups
) -> Groups:
    """Compare some rows, as Python's values; the others stay in their groups."""
    if not suspects or not candidates:
        return groups
    # Behind the numbers of the others' groups.
    first = len(pool)
    found: dict[Any, int] = {}
    of_pool, of_documents = (array("q", bytes(as_sequence(part))) for part in (groups.pool, groups.documents))
    for row, document in zip(candidates, pool.take(candidates).rows(), strict=True):
        of_pool[row] = found.setdefault(_hashable(document), first + row)
    for row, document in zip(suspects, evaluated.take(suspects).rows(), strict=True):
        of_documents[row] = found.get(_hashable(document), -1)
    return Groups(*(as_array(memoryview(part)) for part in (of_pool, of_documents)))


def _hashable(value: Any) -> Any:
    """Make a value that is equal to another's exactly if the values are; dicts' order doesn't count."""
    if isinstance(value, dict):
        return frozenset([(key, _hashable(item)) for key, item in value.items()])
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _shared(evaluated: pa.Table, pool: pa.Table) -> tuple[list[int], list[int]]:
    """Return the rows of two tables that may equal one of the other's: their plain values occur there too."""
    out = []
    for one, other in ((evaluated, pool), (pool, evaluated)):
        rows = pa.chunked_array([_core.repeated_rows(0, len(one), 1)])
        for field in sorted(one.schema, key=lambda field: not types.is_integer(field.type)):
            if _is_plain(field.type) and field.type == other.schema.field(field.name).type and len(rows):
                own = one.column(field.name).take(rows)
                rows = rows.filter(pc.is_in(own, value_set=other.column(field.name).combine_chunks()))
        out.append(rows.to_pylist())
    return out[0], out[1]


def _doubled(table: pa.Table) -> set[int] | None:
    """Return the rows that may equal another one; None where it isn't sure that each equals itself."""
    if any(_may_hold_nan(column) for column in table.columns):
        return None
    plain = [field.name for field in table.schema if _is_plain(field.type)]
    if not plain:
        return set(range(len(table)))
    # Numbers first: they are compared fastest, and one column of different values is enough.
    for name in sorted(plain, key=lambda name: not types.is_integer(table.schema.field(name).type)):
        if pc.count_distinct(table.column(name), mode="all").as_py() == len(table):
            return set()
    rows = pa.chunked_array([_core.repeated_rows(0, len(table), 1)])
    # A name that no column of the table has.
    number = "".join(table.column_names) + "#"
    groups = table.select(plain).append_column(number, rows).group_by(plain).aggregate([(number, "list")])
    lists = groups.column(f"{number}_list")
    several = lists.filter(pc.greater(pc.list_value_length(lists), 1))
    return set(pc.list_flatten(several).to_pylist())


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
        # `flatten` ends the process where a field is a union.
        return any(_may_hold_nan(chunk.field(n)) for chunk in chunks for n in range(data_type.num_fields))
    return True
