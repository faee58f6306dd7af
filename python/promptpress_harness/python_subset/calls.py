"""The functions that a configuration may call, which turn data into data and do nothing else."""

from __future__ import annotations

import copy
import io
import json
import math
import os.path
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from promptpress_harness.python_subset.harness_dict import HarnessDict
from promptpress_harness.python_subset.limits import SLOT_CHARS, Budget, UnsettledError, settled_order, settled_text
from promptpress_harness.python_subset.streams import STREAM_FUNCTIONS, stream
from promptpress_harness.python_subset.values import Symbol

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
