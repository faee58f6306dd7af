"""Record batches as lines of JSON: the core writes them; Python writes the columns of types that the core lacks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, Literal

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import core as _core
from promptpress.engine.tables import bytes_of, checked, core_writes, is_encoded, is_json, unsupported_columns
from promptpress.engine.tables import python_text as _text
from pyarrow import types

Kind = Literal["literal", "value", "request", "items", "member", "json", "text", "plain", "row"]

_OF_FRAMES = ("literal", "row", "request")


@dataclass(frozen=True)
class Piece:
    """A piece of each line, of one of these kinds.

    `literal` is `text` in each line, `value` a column's value as JSON, `request` a text, or messages with the keys that
    they have, `items` the items of a list, each with a comma, `member` the `text` and a column's value, or neither for
    null, `json` a column that is JSON already, `text` a value's text within a JSON string, `plain` the text as it is,
    and `row` the row's number.
    """

    kind: Kind
    text: str = ""
    column: str = ""


def object_pieces(members: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """Make the pieces of a line that is an object of these keys and values, with the line's end."""
    out = []
    for number, (key, piece) in enumerate(members):
        out += [Piece("literal", f"{', ' if number else '{'}{encode_basestring(key)}: "), piece]
    return [*out, Piece("literal", "}\n" if members else "{}\n")]


@dataclass(frozen=True)
class LineIds:
    """The bytes of the shortest and the longest id of some lines, and the first row with an earlier row's id."""

    shortest: int
    longest: int
    repeated: tuple[int, int] | None


class LineWriter:
    """Writes the rows of batches of one schema as lines; `ids` are the indices of the pieces that are a row's id."""

    def __init__(self, schema: pa.Schema, pieces: Sequence[Piece], ids: range = range(0)) -> None:
        foreign = unsupported_columns(schema)
        self._columns: list[tuple[str, _Foreign | None]] = []
        segments: list[tuple[str, str, int]] = []
        for piece in pieces:
            index, core_piece = 0, piece
            if piece.column:
                field = schema.field(piece.column)
                is_foreign = piece.column in foreign and not core_writes(field)
                writer = _foreign_writer(piece, field, is_foreign=is_foreign)
                if is_json(field) and piece.kind == "json":
                    core_piece = Piece("value")
                elif writer is not None and piece.kind not in ("text", "plain"):
                    core_piece = Piece("json")  # the core copies the text that Python has written
                index = len(self._columns)
                self._columns.append((piece.column, writer))
            segments.append((core_piece.kind, core_piece.text, index))
        self._is_frame = all(kind in _OF_FRAMES for kind, _, _ in segments)
        self._layout = _core.LineLayout(segments, (ids.start, ids.stop))
        self._seen = _core.SeenIds()

    @property
    def frame(self) -> _core.LineLayout | None:
        """The text around each request; None if lines have more of a row than its request and its number."""
        return self._layout if self._is_frame else None

    def lines(self, batch: pa.RecordBatch, first_row: int = 0) -> list[pa.LargeBinaryArray]:
        """Write the rows of a batch, in several arrays; errors of values count rows from `first_row`."""
        return list(self._layout.lines(self._for_core(batch, first_row), first_row))

    def lines_and_ids(self, batch: pa.RecordBatch, first_row: int) -> tuple[list[pa.LargeBinaryArray], LineIds]:
        """Write the rows of the next batch, like `lines`; return their ids, too, compared with those of all batches."""
        table = self._for_core(batch, first_row)
        lines, shortest, longest, repeated = self._seen.lines(self._layout, table, first_row)
        return lines, LineIds(shortest, longest, repeated)

    def _for_core(self, batch: pa.RecordBatch, first_row: int) -> pa.Table:
        if not self._columns:
            # A table without the columns still has the rows.
            return pa.table({"": pa.nulls(batch.num_rows)})
        table = checked(pa.Table.from_batches([batch]).select(sorted({name for name, _ in self._columns})))
        arrays, fields = [], []
        for name, writer in self._columns:
            column = table.column(name)
            array = column if writer is None else writer(column, name, first_row)
            arrays.append(array)
            fields.append(table.schema.field(name) if writer is None else pa.field(name, array.type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


_Foreign = Callable[[pa.ChunkedArray, str, int], pa.Array]
"""Converts a column, given its name and the number of its first row."""


def _foreign_writer(piece: Piece, field: pa.Field, *, is_foreign: bool) -> _Foreign | None:
    """Return the function that writes a column in Python; None if the core writes it."""
    if piece.kind in ("request", "items") and _is_other_list(field.type):
        is_foreign = True
    if not is_foreign:
        return None
    if piece.kind in ("text", "plain", "json"):
        return lambda column, name, first_row: _text.with_texts(pa.table({name: column}), [name], first_row).column(0)
    if piece.kind in ("request", "items"):
        items = piece.kind == "items"

        def requests(column: pa.ChunkedArray, _: str, __: int) -> pa.Array:
            texts = map(json_text, to_pylist(column))
            return pa.array(
                [f"{text[1:-1]}, " if items and text != "[]" else text for text in texts], pa.large_string()
            )

        return requests

    def values(column: pa.ChunkedArray, name: str, first_row: int) -> pa.Array:
        rows = _text.values(column, name, first_row, field)
        if piece.kind == "member":
            texts = ["" if value is None else piece.text + json_text(value) for value in rows]
        else:
            texts = [json_text(value) for value in rows]
        return pa.array(texts, pa.large_string())

    return values


def _is_other_list(data_type: pa.DataType) -> bool:
    """Return true for a list in another layout than rendered messages: the core can't recognise bare strings in it."""
    if is_encoded(data_type):
        return bool(types.is_nested(data_type.value_type))
    return bool(
        types.is_fixed_size_list(data_type) or types.is_list_view(data_type) or types.is_large_list_view(data_type)
    )


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


def json_text(value: Any) -> str:
    """Return a value as JSON: null for NaN and infinities, and the same text as in a prompt for times and the like."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_without_nan(value))


def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these members; a ValueError names a key that is there twice."""
    keys = [key for key, _ in members]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise ValueError(f"it has {repeated!r} twice")
    return dict(members)


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinities, which JSON doesn't have, by None, like JavaScript."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, (list, tuple)) else value


_SLICE_BYTES = 4 << 20
"""The bytes of a batch that become lines at a time, because a table may be one batch."""


def slices(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield slices of a batch, each with the index of its first row, so that few lines are in memory.

    One slice is written while the next is made: writing takes about as long as making, on another core.
    """
    size = max(1, int(batch.num_rows * _SLICE_BYTES / max(bytes_of(batch), 1)))
    for first in range(0, batch.num_rows, size):
        yield batch.slice(first, size), first
