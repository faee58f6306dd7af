"""Texts of lists and dicts whose parts have origins: Python's `str`, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from promptpress._jinja.sandbox.bounds import charge
from promptpress._jinja.traced.origin import Origin, common_origin
from promptpress._jinja.traced.values import (
    Piece,
    TracedText,
    checked,
    is_traced,
    origin_of,
    plain,
)


def text_of(value: Any) -> str:
    """Return `str(value)`."""
    if is_traced(value):
        return str(value)
    if type(value) not in (dict, list, tuple):
        return str(value)
    result = str(plain(value))
    return checked(_Writer(repr, ", ", ": ").of(value, None), result, value)


def json_of(value: Any, text: str, *, ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool) -> str:
    """Return a value's JSON with origins.

    Args:
        value: The value.
        text: Its JSON, as `json.dumps` writes it.
        ensure_ascii: As for `json.dumps`.
        indent: As for `json.dumps`.
        separators: As for `json.dumps`.
        sort_keys: As for `json.dumps`.
    """
    item, key = separators or ((", ", ": ") if indent is None else (",", ": "))
    step = indent if indent is None or isinstance(indent, str) else " " * indent
    writer = _Writer(lambda part: json.dumps(part, ensure_ascii=ensure_ascii), item, key, step, sort_keys=sort_keys)
    return checked(writer.of(value, None), text, value)


class _Writer:
    """Writes lists and dicts in parts.

    Args:
        scalar: Writes a plain value that isn't a list or dict.
        item: Stands between two items.
        key: Stands between a key and its value.
        indent: Begins a line once for each level; None: all is one line.
        sort_keys: True to write the keys of dicts in their order.
    """

    def __init__(
        self, scalar: Callable[[Any], str], item: str, key: str, indent: str | None = None, *, sort_keys: bool = False
    ) -> None:
        self._scalar = scalar
        self._item = item
        self._key = key
        self._indent = indent
        self._sort_keys = sort_keys

    def of(self, value: Any, around: Origin | None, depth: int = 1) -> list[Piece]:
        """Return the parts of a value's text; `around` is the origin of the value that it is part of."""
        charge(1)
        if type(value) is dict:
            around = origin_of(value) or around
            items = sorted(value.items()) if self._sort_keys else value.items()
            members = [
                [*self.of(key, around), (self._key, around), *self.of(item, around, depth + 1)] for key, item in items
            ]
            return self._members("{", members, "}", around, depth)
        if type(value) in (list, tuple):
            around = origin_of(value) or around
            members = [self.of(item, around, depth + 1) for item in value]
            end = ",)" if type(value) is tuple and len(value) == 1 else ")"
            is_tuple = type(value) is tuple and self._scalar is repr
            return self._members("(" if is_tuple else "[", members, end if is_tuple else "]", around, depth)
        if isinstance(value, TracedText):
            return [(self._scalar(plain(value)), common_origin(origin for _, origin in value.ends))]
        return [(self._scalar(plain(value)), value.origin if is_traced(value) else around)]

    def _members(
        self, opening: str, members: list[list[Piece]], closing: str, around: Origin | None, depth: int
    ) -> list[Piece]:
        if not members:
            return [(opening + closing, around)]
        line = "" if self._indent is None else "\n" + self._indent * depth
        out: list[Piece] = [(opening, around)]
        for number, member in enumerate(members):
            out += [((self._item if number else "") + line, around), *member]
        return [*out, (("" if self._indent is None else "\n" + self._indent * (depth - 1)) + closing, around)]
