"""Record batches as lines of JSON, which the core writes; Python writes the columns of types that only it knows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

from promptpress import _core, _text
from promptpress._input_checks import checked
from promptpress._sizes import bytes_of
from promptpress._tables import unsupported_columns
from promptpress._to_pylist import to_pylist

__all__ = ["FoundIds", "LineWriter", "Piece", "json_text", "object_pieces", "slices"]

Kind = Literal["literal", "value", "request", "items", "member", "json", "text", "plain", "row"]

_OF_FRAMES = ("literal", "row", "request")


@dataclass(frozen=True)
class Piece:
    """A piece of each line.

    Args:
        kind: `literal` (the same text in each), `value` (a column's value as JSON), `request` (a request: text, or
            messages with the keys that they have), `items` (those of a request that is a list, a comma behind each),
            `member` (text, and a column's value behind it; neither where it is null), `json` (a string column that is
            JSON already), `text` (a value's text, within a JSON string), `plain` (the text as it is) or `row` (the
            row's number).
        text: of what has one.
        column: the column's name, of what has one.

    """

    kind: Kind
    text: str = ""
    column: str = ""


def object_pieces(members: Sequence[tuple[str, Piece]]) -> list[Piece]:
    r"""Make the pieces of a line that is an object.

    Args:
        members: its keys and their values.

    Returns:
        The pieces, with the line's end.

    >>> [piece.text for piece in object_pieces([("a", Piece("literal", "1"))])]
    ['{"a": ', '1', '}\n']

    """
    out = []
    for number, (key, piece) in enumerate(members):
        out += [Piece("literal", f"{', ' if number else '{'}{encode_basestring(key)}: "), piece]
    return [*out, Piece("literal", "}\n" if members else "{}\n")]


@dataclass(frozen=True)
class FoundIds:
    """What has been found of the ids in some lines.

    Args:
        shortest: the bytes of the shortest one.
        longest: the bytes of the longest one.
        repeated: the first row whose id has been there, and the row that had it.

    """

    shortest: int
    longest: int
    repeated: tuple[int, int] | None


class LineWriter:
    """Writes the rows of record batches of one schema as lines.

    Args:
        schema: of the batches.
        pieces: what a line is made of.
        ids: which of the pieces are the row's id, of which `lines_and_ids` tells.

    Raises:
        RenderError: when two columns have one name, or a type is nested too deep.

    Example:
        >>> batch = pa.record_batch({"q": ["1+1=?", None]})
        >>> writer = LineWriter(batch.schema, object_pieces([("row", Piece("row")), ("q", Piece("value", column="q"))]))
        >>> for line in writer.lines(batch, first_row=7)[0].to_pylist():
        ...     print(line.decode(), end="")
        {"row": 7, "q": "1+1=?"}
        {"row": 8, "q": null}

    """

    def __init__(self, schema: pa.Schema, pieces: Sequence[Piece], ids: range = range(0)) -> None:
        foreign = unsupported_columns(schema)
        self._columns: list[tuple[str, _Foreign | None]] = []
        segments: list[tuple[str, str, int]] = []
        for piece in pieces:
            at = 0
            kind = piece
            if piece.column:
                makes = _foreign_writer(piece, schema.field(piece.column).type, is_foreign=piece.column in foreign)
                # What Python has written is text; the core takes it as it is.
                kind = piece if makes is None else _written(piece)
                at = len(self._columns)
                self._columns.append((piece.column, makes))
            segments.append((kind.kind, kind.text, at))
        self._is_frame = all(kind in _OF_FRAMES for kind, _, _ in segments)
        self._layout = _core.LineLayout(segments, (ids.start, ids.stop))
        self._seen = _core.SeenIds()

    @property
    def frame(self) -> _core.LineLayout | None:
        """What stands around each request; None where lines show more of a row than its request and its number."""
        return self._layout if self._is_frame else None

    def lines(self, batch: pa.RecordBatch, first_row: int = 0) -> list[pa.LargeBinaryArray]:
        """Write the rows of a batch.

        Args:
            batch: of the writer's schema.
            first_row: the number of its first row; errors count from there.

        Returns:
            The lines, in order, some in each array.

        Raises:
            RenderError: when a value has no Python form, such as a date after the year 9999.

        """
        return list(self._layout.lines(self._for_core(batch, first_row), first_row))

    def lines_and_ids(self, batch: pa.RecordBatch, first_row: int) -> tuple[list[pa.LargeBinaryArray], FoundIds]:
        """Write the rows of a batch, and tell of their ids.

        Args:
            batch: as `lines` has it; the batches come in order.
            first_row: likewise.

        Returns:
            The lines, and what has been found of the ids in them; rows are counted from the first that ever came.

        Raises:
            RenderError: as `lines`.

        """
        table = self._for_core(batch, first_row)
        lines, shortest, longest, repeated = self._seen.lines(self._layout, table, first_row)
        return lines, FoundIds(shortest, longest, repeated)

    def _for_core(self, batch: pa.RecordBatch, first_row: int) -> pa.Table:
        if not self._columns:
            # A table that shares no column still has its rows.
            return pa.table({"": pa.nulls(batch.num_rows)})
        table = checked(pa.Table.from_batches([batch]).select(sorted({name for name, _ in self._columns})))
        arrays, fields = [], []
        for name, makes in self._columns:
            column = table.column(name)
            array = column if makes is None else makes(column, name, first_row)
            arrays.append(array)
            fields.append(pa.field(name, array.type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


_Foreign = Callable[[pa.ChunkedArray, str, int], pa.Array]
"""Writes a column, of a name, that begins with a row."""


def _foreign_writer(piece: Piece, data_type: pa.DataType, *, is_foreign: bool) -> _Foreign | None:
    """What writes a column that the core can't; None for what it can."""
    if piece.kind in ("request", "items") and _is_other_list(data_type):
        is_foreign = True
    if not is_foreign:
        return None
    if piece.kind in ("text", "plain", "json"):
        return lambda column, name, first_row: _text.lower(pa.table({name: column}), [name], first_row).column(0)
    if piece.kind in ("request", "items"):
        items = piece.kind == "items"

        def requests(column: pa.ChunkedArray, _: str, __: int) -> pa.Array:
            texts = map(json_text, to_pylist(column))
            return pa.array(
                [f"{text[1:-1]}, " if items and text != "[]" else text for text in texts], pa.large_string()
            )

        return requests
    before = piece.text

    def values(column: pa.ChunkedArray, name: str, first_row: int) -> pa.Array:
        found = _text.values(column, name, first_row)
        if piece.kind == "member":
            return pa.array(["" if value is None else before + json_text(value) for value in found], pa.large_string())
        return pa.array([json_text(value) for value in found], pa.large_string())

    return values


def _written(piece: Piece) -> Piece:
    """What is left for the core of a piece whose column Python has written."""
    return piece if piece.kind in ("text", "plain") else replace(piece, kind="json", text="")


def _is_other_list(data_type: pa.DataType) -> bool:
    """Whether it is a list that isn't laid out as rendered messages are: in it bare strings can't be told."""
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return bool(types.is_nested(data_type.value_type))
    return bool(
        types.is_fixed_size_list(data_type) or types.is_list_view(data_type) or types.is_large_list_view(data_type)
    )


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


def json_text(value: Any) -> str:
    """Write a value as JSON; what it has no form for (times, decimals, bytes) is its text, the same as in a prompt.

    Args:
        value: as `to_pylist` gives it.

    Returns:
        The JSON; null for what it has no number for.

    >>> json_text([float("nan"), "é"])
    '[null, "é"]'

    """
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_without_nan(value))


def _without_nan(value: Any) -> Any:
    """JSON has neither NaN nor infinities: null, as JavaScript writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, (list, tuple)) else value


SLICE_BYTES = 4 << 20
"""About so much of a batch is lines in memory at a time: a table may be one batch."""


def slices(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Cut a batch so that the lines of a slice fit into memory, and are written while those of the next are made.

    The system takes about as long to take the bytes as making them takes, and needs another core for it.

    Args:
        batch: the rows.

    Yields:
        Some rows, and the first one's number within the batch.

    >>> [(rows.num_rows, first) for rows, first in slices(pa.record_batch({"q": ["a", "b"]}))]
    [(2, 0)]

    """
    size = max(1, int(batch.num_rows * SLICE_BYTES / max(bytes_of(batch), 1)))
    for first in range(0, batch.num_rows, size):
        yield batch.slice(first, size), first
