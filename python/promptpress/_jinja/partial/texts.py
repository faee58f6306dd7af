"""Texts of lists and dicts with values of the row in them: Python's `repr`, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from promptpress._jinja.bounds import charge, charge_text
from promptpress._jinja.partial.values import Choice, Sym, is_opaque

if TYPE_CHECKING:
    from promptpress._jinja.partial.operands import Operands

__all__ = ["holds_opaque", "json_text", "plain_text"]

_MAX_DEPTH = 50
_STEPS_OF_PART = 4
"""What a part of a list's text costs, where a visit of a node of the template's tree costs 1."""


def holds_opaque(value: Any) -> bool:
    """Return true if a value that isn't there stands somewhere in a value, or if that is nested very deep.

    Args:
        value: Any. A list that it holds many times is looked through once.

    >>> holds_opaque({"a": [Sym(0)]}), holds_opaque([1])
    (True, False)

    """
    return _holds_opaque(value, 0, {})


def _holds_opaque(value: Any, depth: int, seen: dict[int, int]) -> bool:
    if is_opaque(value):
        return True
    if type(value) not in (list, tuple, dict):
        return False
    if depth > _MAX_DEPTH:
        return True
    if seen.get(id(value), -1) >= depth:
        return False
    seen[id(value)] = depth
    charge(len(value) >> 2)
    parts = [*value, *value.values()] if type(value) is dict else value
    return any(_holds_opaque(part, depth + 1, seen) for part in parts)


def plain_text(machine: Operands, value: Any) -> Any:
    """What `str` gives for a list, tuple or dict.

    Args:
        machine: Where the evaluation stands.
        value: With values of the row in it.

    Returns:
        A text of the row.

    """
    parts: list[Any] = []

    def several(opening: str, closing: str, items: Any, depth: int) -> None:
        parts.append(opening)
        for number, item in enumerate(items):
            if number:
                parts.append(", ")
            write(item, depth + 1)
        parts.append(closing)

    def write(one: Any, depth: int) -> None:
        machine.spend(_STEPS_OF_PART)
        if depth > _MAX_DEPTH:
            raise machine.unsupported("a list that is nested very deep")
        if type(one) is Sym:
            parts.append(machine.operate("repr", one))
        elif type(one) is dict:
            parts.append("{")
            for number, (key, item) in enumerate(one.items()):
                machine.weigh(key)
                parts.append(f"{', ' if number else ''}{machine.real(repr, key)}: ")
                write(item, depth + 1)
            parts.append("}")
        elif type(one) is list:
            several("[", "]", one, depth)
        elif type(one) is tuple:
            several("(", ",)" if len(one) == 1 else ")", one, depth)
        else:
            machine.weigh(one)
            parts.append(machine.real(repr, one))

    write(value, 0)
    return machine.concat(parts)


def json_text(
    machine: Operands,
    value: Any,
    *,
    ensure_ascii: bool,
    indent: str | None,
    separators: tuple[str, str] | None,
    sort_keys: bool,
) -> Any:
    """What `json.dumps` writes.

    Args:
        machine: Where the evaluation stands.
        value: With values of the row in it.
        ensure_ascii: As `json.dumps`.
        indent: What a line is indented by for each level; None: all is on one line.
        separators: As `json.dumps`.
        sort_keys: As `json.dumps`.

    Returns:
        A text of the row.

    """
    item_separator, key_separator = separators or ((", ", ": ") if indent is None else (",", ": "))
    parts: list[Any] = []

    def plain(one: Any) -> str:
        machine.weigh(one)
        return str(machine.real(json.dumps, one, ensure_ascii=ensure_ascii))

    def line(depth: int) -> str:
        if indent is None:
            return ""
        machine.real(charge_text, len(indent) * depth)
        return "\n" + indent * depth

    def several(opening: str, closing: str, members: list[Callable[[], None]], depth: int) -> None:
        if not members:
            parts.append(opening + closing)
            return
        parts.append(opening)
        for number, member in enumerate(members):
            parts.append((item_separator if number else "") + line(depth + 1))
            member()
        parts.append(line(depth) + closing)

    def write(one: Any, depth: int) -> None:
        machine.spend(_STEPS_OF_PART)
        if depth > _MAX_DEPTH:
            raise machine.unsupported("JSON that is nested very deep")
        if type(one) is Sym:
            if indent is not None and not one.kind.only("str", "none", "bool", "int", "float"):
                raise machine.unsupported("indented JSON of a value of the row that may be a list or a dict")
            parts.append(machine.operate("tojson", one, None, sort_keys, ensure_ascii, _separators(separators)))
        elif type(one) is dict:
            keys = list(one)
            if not all(type(key) is str for key in keys):
                raise machine.unsupported("JSON of a dict whose keys are no texts")

            def member(key: str) -> Callable[[], None]:
                def put() -> None:
                    parts.append(plain(key) + key_separator)
                    write(one[key], depth + 1)

                return put

            several("{", "}", [member(key) for key in (sorted(keys) if sort_keys else keys)], depth)
        elif type(one) in (list, tuple):
            several("[", "]", [lambda item=item: write(item, depth + 1) for item in one], depth)  # type: ignore[misc]
        elif type(one) is Choice:
            raise machine.unsupported("JSON of a value that a condition decides")
        elif is_opaque(one):
            raise machine.unsupported("JSON of a safe text of the row")
        else:
            parts.append(plain(one))

    write(value, 0)
    return machine.concat(parts)


def _separators(separators: tuple[str, str] | None) -> list[str] | None:
    return None if separators is None else list(separators)
