"""Lines of JSON that Arrow's reader crashes on or misreads; `jsonl_input` looks for them first."""

from __future__ import annotations

import json
import re
from itertools import accumulate

import pyarrow as pa

MAX_DEPTH = 128
"""The largest depth of a row's values, as in every table of samples."""

_OPENING_ONLY = bytes(set(range(256)) - set(b"[{\n"))
_AS_ONE = bytes.maketrans(b"{", b"[")
_BRACKETS_ONLY = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
# One level is the row; one more is refused later, with the column's name.
_DEPTH = MAX_DEPTH + 2
_MANY = b"[" * (_DEPTH + 1)
_NULL_FIRST = re.compile(rb"[ \t\r\n]*null")
# `re` searches fast for a pattern that begins with a character.
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")
_NULL_AFTER = re.compile(rb"}[ \t\r]*null")


def too_deep(chunk: bytes) -> int | None:
    r"""Return the first line, from 0, that is nested so deeply that Arrow's recursive reader would overflow its stack.

    Example:
        >>> too_deep(b'{"q": []}\n{"q": ' + b"[" * 200 + b"]" * 200 + b"}"), too_deep(b'{"q": "' + b"[" * 200 + b'"}')
        (1, None)

    """
    opening = chunk.translate(_AS_ONE, _OPENING_ONLY)
    if _MANY not in opening:
        return None
    lines = zip(opening.split(b"\n"), chunk.split(b"\n"), strict=True)
    return next((n for n, (many, text) in enumerate(lines) if len(many) > _DEPTH and _depth(text) > _DEPTH), None)


def has_null_row(chunk: bytes) -> bool:
    r"""Return true if a line is null, or null follows an object on its line.

    Example:
        >>> has_null_row(b'{"q": 1}\nnull\n'), has_null_row(b'{"q": null}\n{"q": "{} null"}')
        (True, False)

    """
    if b"null" not in chunk:
        return False
    # JSON strings have no raw line breaks.
    if _NULL_FIRST.match(chunk) or _NULL_LINE.search(chunk):
        return True
    return any(not _is_json(_line_around(chunk, match.start())) for match in _NULL_AFTER.finditer(chunk))


def read_by_python(chunk: bytes, schema: pa.Schema | None) -> pa.Table:
    """Read valid rows that Arrow's reader can't read.

    It loses nulls before it knows a type, and can't join a piece with only empty lists to a piece with objects.

    Raises:
        ValueError: If the rows don't fit the schema.

    Example:
        >>> read_by_python(b'{"q": [null, 1]}', None).to_pylist()
        [{'q': [None, 1]}]

    """
    rows = pa.array([json.loads(line) for line in chunk.split(b"\n") if line.strip()])
    if schema is not None:
        inferred = pa.schema(list(rows.type))
        if pa.unify_schemas([schema, inferred], promote_options="permissive") != schema:
            raise ValueError("other fields than at first")
        rows = pa.array(rows.to_pylist(), pa.struct(list(schema)))
    return pa.Table.from_struct_array(rows)


def _depth(text: bytes) -> int:
    brackets = _STRING.sub(b"", text).translate(None, _BRACKETS_ONLY)
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def _line_around(chunk: bytes, offset: int) -> bytes:
    end = chunk.find(b"\n", offset)
    return chunk[chunk.rfind(b"\n", 0, offset) + 1 : len(chunk) if end < 0 else end]


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
