"""Texts of lists and dicts that contain values of the row: Python's `repr`, and JSON."""

from __future__ import annotations

import json
from typing import Any

from promptpress._jinja.compiler.steps import Operations
from promptpress._jinja.compiler.values import Choice, Closed, Sym, is_opaque
from promptpress._jinja.sandbox.bounds import charge, charge_text
from promptpress._jinja.traced.origin import Origin
from promptpress._jinja.traced.values import origin_of, plain, whole, with_origin

_MAX_DEPTH = 50
_STEPS_OF_PART = 4
"""The cost of a part of a list's text; a visit of a node of the template's tree costs 1."""


def holds_opaque(value: Any, depth: int = 0, seen: dict[int, int] | None = None) -> bool:
    """Return true if a value contains a value of the row, or is nested very deep. Each list is searched once.

    >>> holds_opaque({"a": [Sym(0)]}), holds_opaque([1])
    (True, False)
    """
    if is_opaque(value):
        return True
    if type(value) not in (list, tuple, dict):
        return False
    if depth > _MAX_DEPTH:
        return True
    seen = {} if seen is None else seen
    if seen.get(id(value), -1) >= depth:
        return False
    seen[id(value)] = depth
    charge(len(value) >> 2)
    parts = [*value, *value.values()] if type(value) is dict else value
    return any(holds_opaque(part, depth + 1, seen) for part in parts)


def plain_text(machine: Operations, value: Any) -> Any:
    """Return `str` of a list, tuple or dict that contains values of the row."""
    parts: list[Any] = []

    def several(opening: str, closing: str, items: Any, depth: int) -> None:
        origin = origin_of(items)
        parts.append(with_origin(opening, origin))
        for number, item in enumerate(items):
            if number:
                parts.append(with_origin(", ", origin))
            write(item, depth + 1)
        parts.append(with_origin(closing, origin))

    def write(item: Any, depth: int) -> None:
        machine.spend(_STEPS_OF_PART)
        if depth > _MAX_DEPTH:
            raise machine.unsupported("a list that is nested very deep")
        if type(item) is Sym:
            parts.append(machine.operate("repr", item))
        elif type(item) is Closed:
            parts.append(machine.operate("text_of_json", item.json))
        elif type(item) is dict:
            origin = origin_of(item)
            parts.append(with_origin("{", origin))
            for number, (key, inner) in enumerate(item.items()):
                parts.extend([with_origin(", " if number else "", origin), scalar(key), with_origin(": ", origin)])
                write(inner, depth + 1)
            parts.append(with_origin("}", origin))
        elif type(item) is list:
            several("[", "]", item, depth)
        elif type(item) is tuple:
            several("(", ",)" if len(item) == 1 else ")", item, depth)
        else:
            parts.append(scalar(item))

    def scalar(item: Any) -> str:
        machine.weigh(item)
        return whole(machine.real(repr, plain(item)), item)

    write(value, 0)
    return machine.concat(parts)


def json_text(
    machine: Operations,
    value: Any,
    *,
    ensure_ascii: bool,
    indent: str | None,
    separators: tuple[str, str] | None,
    sort_keys: bool,
) -> Any:
    """Return `json.dumps` of a value that contains values of the row; the indent is the text for each level."""
    item_separator, key_separator = separators or ((", ", ": ") if indent is None else (",", ": "))
    listed_separators = None if separators is None else list(separators)
    parts: list[Any] = []

    def scalar(item: Any) -> str:
        machine.weigh(item)
        return whole(str(machine.real(json.dumps, plain(item), ensure_ascii=ensure_ascii)), item)

    def line(depth: int) -> str:
        if indent is None:
            return ""
        machine.real(charge_text, len(indent) * depth)
        return "\n" + indent * depth

    def several(
        opening: str, closing: str, members: list[tuple[str | None, Any]], origin: Origin | None, depth: int
    ) -> None:
        if not members:
            parts.append(with_origin(opening + closing, origin))
            return
        parts.append(with_origin(opening, origin))
        for number, (key, member) in enumerate(members):
            parts.append(with_origin((item_separator if number else "") + line(depth + 1), origin))
            if key is not None:
                parts.extend([scalar(key), with_origin(key_separator, origin)])
            write(member, depth + 1)
        parts.append(with_origin(line(depth) + closing, origin))

    def write(item: Any, depth: int) -> None:
        machine.spend(_STEPS_OF_PART)
        if depth > _MAX_DEPTH:
            raise machine.unsupported("JSON that is nested very deep")
        if type(item) is Sym:
            if indent is not None and not item.kind.only("str", "none", "bool", "int", "float"):
                raise machine.unsupported("indented JSON of a value of the row that may be a list or a dict")
            parts.append(machine.operate("tojson", item, None, sort_keys, ensure_ascii, listed_separators))
        elif type(item) is dict:
            keys, origin = list(item), origin_of(item)
            if not all(isinstance(key, str) for key in keys):
                raise machine.unsupported("JSON of a dict whose keys are no texts")
            several("{", "}", [(key, item[key]) for key in (sorted(keys) if sort_keys else keys)], origin, depth)
        elif type(item) in (list, tuple):
            several("[", "]", [(None, member) for member in item], origin_of(item), depth)
        elif type(item) is Closed and indent is None and separators is None and not (ensure_ascii or sort_keys):
            parts.append(item.json)
        elif type(item) is Choice:
            raise machine.unsupported("JSON of a value that a condition decides")
        elif is_opaque(item):
            raise machine.unsupported("JSON of a value of the row that isn't looked into")
        else:
            parts.append(scalar(item))

    write(value, 0)
    return machine.concat(parts)
