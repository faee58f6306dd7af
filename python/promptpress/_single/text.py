"""One text of one sample."""

from __future__ import annotations

import copy
from typing import Any

from promptpress import _core

_ATOMS = frozenset({str, int, float, bool, type(None)})


def safe_format(input_str: str, **kwargs: Any) -> str:
    """Put fields into a text: `{name}` becomes `str(value)`, one field after the other over the whole text.

    Braces that stand for no field stay. A later field looks into the text of an earlier one. The names of the
    arguments are the harnesses', so a field named `input_str` is a TypeError here too.

    Args:
        input_str: The text.
        kwargs: The fields.

    Returns:
        The text with the fields in it.

    Example:
        >>> safe_format("{q} {unknown} {{q}}", q="{a}", a=1)
        '1 {unknown} {1}'
    """
    if type(input_str) is str:
        filled = _core.fill(input_str, kwargs)
        if filled is not None:
            return filled
    # Whatever else has a method `replace` is asked for it, as in the harnesses: a prompt list within a prompt list, a
    # subclass of str. So is a text that no UTF-8 holds.
    for name, value in kwargs.items():
        input_str = input_str.replace("{" + name + "}", str(value))
    return input_str


def copied(item: Any) -> Any:
    """A deep copy; a flat dict of plain values, which turns nearly always are, needs no walk through it."""
    if type(item) is dict and all(type(value) in _ATOMS for value in item.values()):
        return item.copy()
    return copy.deepcopy(item)


def copied_roles(roles: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """A deep copy of the roles of a meta template."""
    if all(type(role) is dict and all(type(v) in _ATOMS for v in role.values()) for role in roles.values()):
        return {name: role.copy() for name, role in roles.items()}
    return copy.deepcopy(roles)
