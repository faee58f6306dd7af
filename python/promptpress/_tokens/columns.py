"""Arrow columns of tokens."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

from promptpress._errors.errors import render_error
from promptpress._tokens.settings import TokenSettings
from promptpress._tokens.tokens import Tokens
from promptpress._utils import lazy_compute as pc

__all__ = ["columns_of"]

_NOT_TRAINED = -100
"""The label of tokens that aren't trained, as PyTorch and transformers have it."""

_MAX_TOKENS = 2**31 - 1
"""The tokens that one array of lists with 32-bit offsets can hold."""


def columns_of(tokens: Sequence[Tokens | None], settings: TokenSettings) -> list[pa.Array]:
    """Return the columns of tokens, in the order of the settings.

    Args:
        tokens: The tokens of each request; None where there is an error.
        settings: Which columns there are.

    Raises:
        RenderError: If there are more tokens than one array can hold.

    >>> ids, counts = columns_of([Tokens([1, 2]), None, Tokens([])], TokenSettings())
    >>> ids.to_pylist(), counts.to_pylist()
    ([[1, 2], None, []], [2, None, 0])

    """
    present = [of_row for of_row in tokens if of_row is not None]
    lengths = [None if of_row is None else len(of_row.ids) for of_row in tokens]
    ids = _numbers("i", [of_row.ids for of_row in present])
    columns = [_lists(ids, lengths), pa.array(lengths, pa.int32())]
    if settings.mask is not None:
        mask = b"".join(of_row.mask or b"" for of_row in present)
        trained = pc.cast(pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)]), pa.bool_())
        columns.append(_lists(trained, lengths))
        if settings.labels:
            columns.append(_lists(pc.if_else(trained, ids, pa.scalar(_NOT_TRAINED, pa.int32())), lengths))
    if settings.offsets:
        offsets = [
            _numbers("q", [row.starts or () for row in present]),
            _numbers("q", [row.ends or () for row in present]),
        ]
        columns.append(_lists(pa.StructArray.from_arrays(offsets, ["start", "end"]), lengths))
    if settings.cuts:
        columns.append(pa.array([None if of_row is None else of_row.is_cut for of_row in tokens], pa.bool_()))
    return columns


def _numbers(kind: str, rows: Sequence[Sequence[int]]) -> pa.Array:
    """Return the numbers of all rows: int32 for the kind `"i"`, int64 for `"q"`."""
    values = array(kind)
    for row in rows:
        values.extend(row)
    data_type = pa.int32() if kind == "i" else pa.int64()
    return pa.Array.from_buffers(data_type, len(values), [None, pa.py_buffer(values)])


def _lists(values: pa.Array, lengths: Sequence[int | None]) -> pa.Array:
    """Divide values into lists; None is the length of a null."""
    if len(values) > _MAX_TOKENS:
        message = "the tokens of one batch pass what one array can hold: give smaller batches"
        raise render_error("offset_overflow", message, placed=False)
    ends = _numbers("i", [list(accumulate((length or 0 for length in lengths), initial=0))])
    nulls = [length is None for length in lengths]
    return pa.ListArray.from_arrays(ends, values, mask=pa.array(nulls) if any(nulls) else None)
