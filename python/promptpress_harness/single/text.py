"""Fills the text of one sample, and copies turns and roles."""

from __future__ import annotations

import copy
from typing import Any

from promptpress.engine import core as _core

_ATOMS = frozenset({str, int, float, bool, type(None)})


def safe_format(input_str: str, **kwargs: Any) -> str:
    """Fill fields into a text: `{name}` becomes `str(value)`, one field after the other over the whole text.

    Braces that stand for no field stay. A later field also fills the text of an earlier one. The names of the arguments
    are the harnesses', so a field named `input_str` is a TypeError here too.

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
    # Any other object with a method `replace` is filled by it, as in the harnesses: a prompt list within a prompt list,
    # a subclass of str. So is a text that UTF-8 can't encode.
    for name, value in kwargs.items():
        input_str = input_str.replace("{" + name + "}", str(value))
    return input_str


def copied(item: Any) -> Any:
    """Return a deep copy, faster for a flat dict of plain values, which most turns are."""
    if type(item) is dict and all(type(value) in _ATOMS for value in item.values()):
        return item.copy()
    return copy.deepcopy(item)


def copied_roles(roles: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return a deep copy of the roles of a meta template."""
    if all(type(role) is dict and all(type(v) in _ATOMS for v in role.values()) for role in roles.values()):
        return {name: role.copy() for name, role in roles.items()}
    return copy.deepcopy(roles)
