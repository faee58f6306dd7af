"""The functions and methods that a configuration may call, which turn data into data and do nothing else."""

from __future__ import annotations

import copy
import io
import json
import math
import os.path
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from promptpress_harness.python_subset.operators import STREAM_FUNCTIONS, format_method, stream
from promptpress_harness.python_subset.values import (
    SLOT_CHARS,
    Budget,
    HarnessDict,
    Symbol,
    UnsettledError,
    is_stream,
    settled_order,
    settled_text,
)

Function = Callable[..., object]

# Functions whose first parameter, or whose `key`, is a function.
TAKE_FUNCTIONS = {"builtins.map", "builtins.filter"}
TAKE_KEYS = {"builtins.sorted", "builtins.min", "builtins.max"}

# Builtins that aren't computed here and change no name and no value.
INERT_BUILTINS = {
    "ascii", "bin", "bytes", "callable", "classmethod", "complex", "divmod", "format", "hasattr", "hash", "hex", "id",
    "object", "oct", "open", "pow", "property", "slice", "staticmethod", "super", "type",
}  # fmt: skip

# Builtins that store a function without calling it.
KEEPING_BUILTINS = {"builtins.classmethod", "builtins.property", "builtins.staticmethod"}

CONTAINERS = {f"builtins.{kind}" for kind in ("dict", "frozenset", "list", "set", "tuple")}

_TYPES: dict[str, type] = {
    **{f"builtins.{t.__name__}": t for t in (str, int, float, bool, list, dict, tuple, set, frozenset, bytes)},
    "collections.OrderedDict": OrderedDict,
}


def copy_call(budget: Budget, value: Any) -> object:
    if isinstance(value, (list, dict, set)):
        budget.items(SLOT_CHARS * len(value))
    return copy.copy(value)


def deepcopy_call(budget: Budget, value: object) -> object:
    budget.deep(value)
    return copy.deepcopy(value)


def _dict(kind: type[dict[Any, Any]]) -> Function:
    def call(budget: Budget, /, *args: Any, **kwargs: Any) -> object:
        settled_order(*args)
        if args and not isinstance(args[0], dict):
            args = (budget.checked_keys(args[0]), *args[1:])
        result = kind(*args, **kwargs)
        budget.items(SLOT_CHARS * len(result))
        return result

    return call


def _fromkeys(budget: Budget, iterable: Any, value: object = None) -> object:
    result = dict.fromkeys(budget.checked_keys(stream(budget, iterable)), value)
    budget.items(SLOT_CHARS * len(result))
    return result


def _container(kind: Callable[..., Any], check: Callable[..., None] | None) -> Function:
    def call(budget: Budget, *args: Any) -> object:
        if check is not None:
            check(*args)
        budget.deep(args)
        if args and kind in (set, frozenset):
            args = (budget.checked_keys(args[0]), *args[1:])
        result = kind(*args)
        budget.items(SLOT_CHARS * len(result))
        return result

    return call


def _range(budget: Budget, *args: int) -> object:
    numbers = range(*args)
    budget.items(SLOT_CHARS * len(numbers))
    return numbers


def _isinstance(_: Budget, value: object, types: object) -> object:
    kinds: list[type] = []
    for kind in types if isinstance(types, tuple) else (types,):
        if not isinstance(kind, Symbol):
            raise TypeError("isinstance() arg 2 must be a type, a tuple of types, or a union")
        if kind.local or kind.dotted not in _TYPES:
            raise kind.refusal
        kinds.append(_TYPES[kind.dotted])
    refusal = getattr(value, "refusal", None)
    if refusal is not None:
        raise refusal
    return isinstance(value, tuple(kinds))


def _json_load(budget: Budget, file: io.TextIOWrapper) -> object:
    return _json_loads(budget, file.read())


def _json_loads(budget: Budget, text: str) -> object:
    budget.text(len(text))
    return json.loads(text)


def _print(_: Budget, *args: object, sep: Any = None, end: Any = None, flush: Any = None) -> None:
    del args, sep, end, flush


def _realpath(_: Budget, path: str) -> str:
    if os.path.realpath(path) != os.path.abspath(path):
        raise UnsettledError("a path through a link isn't resolved")
    return os.path.abspath(path)


def _walk(function: Function, *, text: bool = False) -> Function:
    """Wrap a function that may walk everything in its arguments."""

    def call(budget: Budget, /, *args: object, **kwargs: object) -> object:
        budget.deep(args, kwargs)
        result = function(*args, **kwargs)
        if text:
            settled_text(args)
        return result

    return call


FUNCTIONS: dict[str, Function] = {
    **STREAM_FUNCTIONS,
    **{f"builtins.{f.__name__}": _walk(f) for f in (int, float, bool, any, all, abs, round, chr, ord)},
    **{f"builtins.{f.__name__}": _walk(f, text=True) for f in (str, repr)},
    "builtins.list": _container(list, settled_order),
    "builtins.tuple": _container(tuple, settled_order),
    "builtins.set": _container(set, None),
    "builtins.frozenset": _container(frozenset, None),
    "builtins.dict": _dict(dict),
    "builtins.dict.fromkeys": _fromkeys,
    "collections.OrderedDict": _dict(OrderedDict),
    "mmengine.config.ConfigDict": _dict(HarnessDict),
    "mmengine.ConfigDict": _dict(HarnessDict),
    "builtins.len": lambda _, value: len(value),
    "builtins.range": _range,
    "builtins.isinstance": _isinstance,
    "builtins.print": _print,
    "copy.copy": copy_call,
    "copy.deepcopy": deepcopy_call,
    "os.path.abspath": lambda _, path: os.path.abspath(path),
    "os.path.realpath": _realpath,
    "json.load": _json_load,
    "json.loads": _json_loads,
    **{f"os.path.{f.__name__}": _walk(f) for f in (os.path.join, os.path.dirname, os.path.basename, os.path.splitext)},
    **{f"math.{name}": _walk(getattr(math, name)) for name in ("ceil", "exp", "floor", "log", "log2", "sqrt")},
}


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
