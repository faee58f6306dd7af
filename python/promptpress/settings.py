"""A renderer's arguments as plain data: what can be compared, pickled and handed to the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Turn a configuration value into dicts, lists and scalars.

    Args:
        value: Any value of a harness's configuration.

    Returns:
        Mappings as dicts, tuples and ranges as lists, classes as their dotted names, NumPy scalars as Python's; what
        else there is stays as it is.

    >>> class PromptTemplate: ...
    >>> plain({"type": PromptTemplate, "ids": range(2)})["ids"]
    [0, 1]

    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return plain(value.item())
    return value
