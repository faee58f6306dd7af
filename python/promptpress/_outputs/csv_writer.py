"""CSV as RFC 4180 has it, written a record batch at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import IO, Any

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._file_errors import OutputError
from promptpress._to_pylist import to_pylist

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


class CsvWriter:
    r"""One row a request, with a header; lines end with CR and LF.

    Text stands as it is, quoted where it has to be. What is no text is written as in JSON lines: messages and other
    nested values as JSON, times as their text. Null is an empty field, an empty text `""`: few readers tell them apart,
    but what is there to tell isn't thrown away.

    Args:
        file: where the bytes go.
        schema: of the batches, the requests last.

    Raises:
        OutputError: when a name holds what no reader gets back.

    Example:
        >>> import io
        >>> batch = pa.record_batch({"id": [1, None], "prompt": ['a "b"\nc', ""]})
        >>> file = io.BytesIO()
        >>> CsvWriter(file, batch.schema).write_batch(batch)
        >>> file.getvalue()
        b'id,prompt\r\n1,"a ""b""\nc"\r\n,""\r\n'

    """

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file
        if not all(schema.names):
            raise OutputError("the csv output: a column has an empty name; leave it out of --keep")
        self._file.write(self._rows([_quoted(pa.array([name])) for name in schema.names]))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""
        if batch.num_rows:
            *kept, prompts = batch.columns
            texts = [_texts(column, column.to_pylist) for column in kept]
            # The requests come last; their messages are written with the keys that they have.
            texts.append(_texts(prompts, lambda: to_pylist(prompts)))
            self._file.write(self._rows([_quoted(column) for column in texts]))

    def close(self) -> None:
        """Write what ends the file: nothing."""

    def abandon(self) -> None:
        """Write nothing more."""

    def _rows(self, columns: list[pa.Array]) -> bytes:
        separator, end = pa.scalar(",", pa.large_string()), pa.scalar("\r\n", pa.large_string())
        rows = pc.binary_join_element_wise(*columns, separator)
        lines = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), end)
        # Line after line is what lies in memory.
        offsets, data = lines.buffers()[1:]
        ends = memoryview(offsets).cast("q")
        return bytes(memoryview(data)[ends[lines.offset] : ends[lines.offset + len(lines)]])


def _texts(column: pa.Array, values: Callable[[], list[Any]]) -> pa.Array:
    """Give the values as texts."""
    kind = column.type
    if types.is_large_string(kind):
        return column
    if types.is_string(kind) or types.is_string_view(kind) or types.is_integer(kind):
        return column.cast(pa.large_string())
    return pa.array([_text(value) for value in values()], pa.large_string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return _ENCODER.encode(value) if math.isfinite(value) else None
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        text = _ENCODER.encode(_without_nan(value))
    return str(json.loads(text)) if text.startswith('"') else text


def _without_nan(value: Any) -> Any:
    """JSON has neither NaN nor infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list) else value


def _quoted(texts: pa.Array) -> pa.Array:
    """Quote what has to be; a text that begins or ends with a space, too, which some readers take off."""
    texts = texts.cast(pa.large_string())
    needed = pc.or_(
        pc.match_substring_regex(texts, '[,"\r\n]|^[ \t]|[ \t]$|^\ufeff'), pc.equal(pc.binary_length(texts), 0)
    )
    quote = pa.scalar('"', pa.large_string())
    empty = pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(texts, '"', '""')
    whole = pc.binary_join_element_wise(quote, doubled, quote, empty)
    return pc.fill_null(pc.if_else(needed, whole, texts), "")
