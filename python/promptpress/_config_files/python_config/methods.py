"""The methods that a configuration may call on its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls import Function, copy_call, deepcopy_call
from .formats import format_method
from .limits import SLOT_CHARS, Budget
from .values import TextFile

# The arguments of these are put away, not looked into, so an opaque one may pass.
STORING_METHODS = {"append", "insert", "setdefault", "get", "pop", "update"}

MUTATING_METHODS = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
}  # fmt: skip


def _join(budget: Budget, separator: str, parts: Sequence[str]) -> object:
    parts = list(parts)
    budget.deep(parts)
    budget.text(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _replace(budget: Budget, text: str, old: str, new: str, count: int = -1) -> object:
    budget.text(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    return text.replace(old, new, count)


def _pad(name: str) -> Function:
    def pad(budget: Budget, text: str, width: int, *fill: str) -> object:
        budget.text(max(width, len(text)))
        return getattr(text, name)(width, *fill)

    return pad


def _plain(name: str) -> Function:
    """Give a method whose result is no larger than what it works on and its arguments."""

    def call(budget: Budget, value: object, *args: object, **kwargs: object) -> object:
        budget.deep(value, args)
        result = getattr(value, name)(*args, **kwargs)
        if isinstance(result, (list, set)):
            budget.items(SLOT_CHARS * len(result))
        return result

    return call


def _store(name: str) -> Function:
    """Give a method that puts its arguments away."""

    def call(budget: Budget, value: object, *args: object, **kwargs: object) -> object:
        budget.items(SLOT_CHARS * (1 + len(kwargs) + sum(len(a) for a in args if isinstance(a, (list, dict, tuple)))))
        return getattr(value, name)(*args, **kwargs)

    return call


def _view(name: str) -> Function:
    """Give the view of a dict as a list: what is read must not change under the loop that reads it."""

    def call(budget: Budget, value: dict[object, object]) -> object:
        budget.items(SLOT_CHARS * len(value))
        return list(getattr(value, name)())

    return call


def _named(make: Any, *names: str) -> dict[str, Function]:
    return {name: make(name) for name in names}


METHODS: dict[type, dict[str, Function]] = {
    str: {
        **_named(
            _plain, "capitalize", "casefold", "count", "endswith", "find", "index", "isalpha", "isdigit", "islower",
            "isupper", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rpartition", "rsplit",
            "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
        ),
        **_named(_pad, "center", "ljust", "rjust", "zfill"),
        "format": format_method,
        "join": _join,
        "replace": _replace,
    },
    list: {
        **_named(_plain, "count", "index", "remove", "sort", "reverse"),
        **_named(_store, "append", "clear", "extend", "insert", "pop"),
        "copy": copy_call,
    },
    tuple: _named(_plain, "count", "index"),
    dict: {
        **_named(_store, "clear", "get", "pop", "setdefault", "update"),
        **_named(_view, "keys", "values", "items"),
        "copy": copy_call,
        "deepcopy": deepcopy_call,
    },
    set: {
        **_named(_plain, "difference", "intersection", "issubset", "issuperset", "union"),
        **_named(_store, "add", "discard", "remove", "update"),
        "copy": copy_call,
    },
    TextFile: {
        "read": lambda _, file: file.text,
        "readlines": lambda _, file: file.text.splitlines(keepends=True),
    },
}  # fmt: skip
