"""Lines of JSON that Arrow's reader would crash on, take for rows, or not take for what they are."""

from __future__ import annotations

import json
import re
from itertools import accumulate

import pyarrow as pa

MAX_DEPTH = 128
"""How deep a row's values may be nested, as in every table of samples."""

_OPENING_ONLY = bytes(set(range(256)) - set(b"[{\n"))
_AS_ONE = bytes.maketrans(b"{", b"[")
_BRACKETS_ONLY = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
# The row itself is one level, and one more is left to who knows the column's name.
_DEPTH = MAX_DEPTH + 2
_MANY = b"[" * (_DEPTH + 1)
_NULL_FIRST = re.compile(rb"[ \t\r\n]*null")
# Each begins with a character that is looked for fast.
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")
_NULL_BEHIND = re.compile(rb"}[ \t\r]*null")


def too_deep(chunk: bytes) -> int | None:
    r"""Find a line that is nested so deeply that Arrow's reader, which recurses, would overflow its stack.

    Args:
        chunk: the lines.

    Returns:
        The first such line, from 0.

    Example:
        >>> too_deep(b'{"q": []}\n{"q": ' + b"[" * 200 + b"]" * 200 + b"}"), too_deep(b'{"q": "' + b"[" * 200 + b'"}')
        (1, None)

    """
    opening = chunk.translate(_AS_ONE, _OPENING_ONLY)
    if _MANY not in opening:
        return None
    lines = zip(opening.split(b"\n"), chunk.split(b"\n"), strict=True)
    return next((at for at, (many, text) in enumerate(lines) if len(many) > _DEPTH and _depth(text) > _DEPTH), None)


def has_null_row(chunk: bytes) -> bool:
    r"""Say whether null stands in the place of an object.

    Args:
        chunk: the lines.

    Returns:
        Whether a line is null, or null follows an object on its line.

    Example:
        >>> has_null_row(b'{"q": 1}\nnull\n'), has_null_row(b'{"q": null}\n{"q": "{} null"}')
        (True, False)

    """
    if b"null" not in chunk:
        return False
    # A string holds no bare line break.
    if _NULL_FIRST.match(chunk) or _NULL_LINE.search(chunk):
        return True
    return any(not _is_json(_line_at(chunk, found.start())) for found in _NULL_BEHIND.finditer(chunk))


def read_by_python(chunk: bytes, schema: pa.Schema | None) -> pa.Table:
    """Read rows that Arrow's reader can't, though nothing is wrong with them.

    It loses nulls before it knows a type, and can't join pieces of which one has only empty lists and another objects.

    Args:
        chunk: the lines.
        schema: what they have to fit; None where their types are to be found.

    Returns:
        The rows.

    Raises:
        ValueError: when they don't fit.

    Example:
        >>> read_by_python(b'{"q": [null, 1]}', None).to_pylist()
        [{'q': [None, 1]}]

    """
    rows = pa.array([json.loads(line) for line in chunk.split(b"\n") if line.strip()])
    if schema is not None:
        known = pa.schema(list(rows.type))
        if pa.unify_schemas([schema, known], promote_options="permissive") != schema:
            raise ValueError("other fields than at first")
        rows = pa.array(rows.to_pylist(), pa.struct(list(schema)))
    return pa.Table.from_struct_array(rows)


def _depth(text: bytes) -> int:
    brackets = _STRING.sub(b"", text).translate(None, _BRACKETS_ONLY)
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def _line_at(chunk: bytes, at: int) -> bytes:
    end = chunk.find(b"\n", at)
    return chunk[chunk.rfind(b"\n", 0, at) + 1 : len(chunk) if end < 0 else end]


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
