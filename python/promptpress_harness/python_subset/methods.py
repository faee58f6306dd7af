"""The methods that a configuration may call on its data."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from promptpress_harness.python_subset.calls import FUNCTIONS, Function, copy_call
from promptpress_harness.python_subset.formats import format_method
from promptpress_harness.python_subset.harness_dict import HarnessDict
from promptpress_harness.python_subset.limits import SLOT_CHARS, Budget, UnsettledError, settled_order
from promptpress_harness.python_subset.streams import stream
from promptpress_harness.python_subset.values import is_stream

MUTATING_METHODS = {
    "add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "move_to_end",
    "pop", "popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update",
}  # fmt: skip


def _join(budget: Budget, separator: str, parts: Iterable[str]) -> object:
    parts = list(stream(budget, parts))
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


_KEY_METHODS = frozenset({"add", "discard", "get", "move_to_end", "pop", "remove", "setdefault"})
"""Methods of dicts and sets that hash their first argument; other methods hash the elements of their arguments."""


def _with_key_checks(budget: Budget, value: object, name: str, args: tuple[Any, ...]) -> Iterable[Any]:
    """Return the arguments of a method, with checks of the values that a dict or a set will hash."""
    if not isinstance(value, (dict, set)):
        return args
    if name in _KEY_METHODS:
        budget.keys(*args[:1])
        return args
    return (budget.checked_keys(arg) if is_stream(arg) or isinstance(arg, (list, tuple)) else arg for arg in args)


def _plain(name: str) -> Function:
    """Return a method whose result is no larger than the object and the arguments."""

    def call(budget: Budget, value: object, /, *args: object, **kwargs: object) -> object:
        budget.deep(value, args)
        result = getattr(value, name)(*_with_key_checks(budget, value, name, args), **kwargs)
        if isinstance(result, (list, set)):
            budget.items(SLOT_CHARS * len(result))
        return result

    return call


def _store(name: str) -> Function:
    """Return a method that stores its arguments."""

    def call(budget: Budget, value: object, /, *args: object, **kwargs: object) -> object:
        if name in ("extend", "update") and not isinstance(value, set):
            settled_order(*args)
        budget.items(SLOT_CHARS * (1 + len(kwargs) + sum(len(a) for a in args if hasattr(a, "__len__"))))
        return getattr(value, name)(*_with_key_checks(budget, value, name, args), **kwargs)

    return call


def _view(name: str) -> Function:
    """Return a dict's method for a live view, or for the list that a harness's dict returns instead."""

    def call(budget: Budget, value: dict[object, object]) -> object:
        if isinstance(value, HarnessDict):
            budget.items(SLOT_CHARS * len(value))
        return getattr(value, name)()

    return call


def _named(make: Any, *names: str) -> dict[str, Function]:
    return {name: make(name) for name in names}


_DICT = {
    **_named(_store, "clear", "get", "pop", "popitem", "setdefault", "update"),
    **_named(_view, "keys", "values", "items"),
    "copy": copy_call,
}
METHODS: dict[type, dict[str, Function]] = {
    str: {
        **_named(
            _plain, "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii",
            "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isspace", "istitle", "isupper", "lower",
            "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip",
            "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
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
    range: _named(_plain, "count", "index"),
    dict: _DICT,
    OrderedDict: {**_DICT, **_named(_store, "move_to_end")},
    HarnessDict: {**_DICT, **_named(_plain, "deepcopy")},
    set: {
        **_named(
            _plain, "difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference",
            "union",
        ),
        **_named(
            _store, "add", "clear", "difference_update", "discard", "intersection_update", "remove",
            "symmetric_difference_update", "update",
        ),
        "copy": copy_call,
    },
    io.TextIOWrapper: _named(_plain, "close", "read", "readline", "readlines", "seek"),
}  # fmt: skip


def _of_type(kind: type, name: str) -> Function:
    """Return a method as its type has it, whose first argument is the object: `str.upper`."""

    def call(budget: Budget, /, *args: object, **kwargs: object) -> object:
        if not args:
            raise TypeError(f"unbound method {kind.__name__}.{name}() needs an argument")
        if type(args[0]) is not kind:
            if isinstance(args[0], kind):
                raise UnsettledError(f"{kind.__name__}.{name} of a {type(args[0]).__name__} isn't computed")
            type_name = type(args[0]).__name__
            raise TypeError(
                f"descriptor {name!r} for {kind.__name__!r} objects doesn't apply to a {type_name!r} object"
            )
        return METHODS[kind][name](budget, *args, **kwargs)

    return call


CALLABLE: dict[str, Function] = {
    **FUNCTIONS,
    **{
        f"builtins.{kind.__name__}.{name}": _of_type(kind, name)
        for kind in (str, tuple, range, list, dict, set)
        for name in METHODS[kind]
        if kind is str or name not in MUTATING_METHODS
    },
}
"""The functions, and the methods that change nothing by the names that they have in their types."""
