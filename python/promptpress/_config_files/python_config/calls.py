"""The functions that a configuration may call: they turn data into data, and nothing else."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os.path
from collections.abc import Callable, Sequence
from typing import Any

from .limits import SLOT_CHARS, Budget
from .values import Symbol, TextFile

Function = Callable[..., object]

DICT_CLASSES = ("builtins.dict", "collections.OrderedDict", "mmengine.config.ConfigDict", "mmengine.ConfigDict")

# The arguments of these are put away, not looked into, so an opaque one may pass.
STORING_FUNCTIONS = {*DICT_CLASSES, "copy.copy", "copy.deepcopy", "builtins.print", "builtins.isinstance"}

_TYPES: dict[str, type] = {
    f"builtins.{t.__name__}": t for t in (str, int, float, bool, list, dict, tuple, set, frozenset)
}


def dict_call(budget: Budget, *args: Any, **kwargs: Any) -> object:
    """Make a dict, as `dict(...)` does.

    Example:
        >>> dict_call(Budget(), [("a", 1)], b=2)
        {'a': 1, 'b': 2}

    """
    result = dict(*args, **kwargs)
    budget.items(SLOT_CHARS * len(result))
    return result


def copy_call(budget: Budget, value: object) -> object:
    """Copy a value, as `copy.copy` does.

    Example:
        >>> copy_call(Budget(), [1])
        [1]

    """
    if isinstance(value, (list, dict, set)):
        budget.items(SLOT_CHARS * len(value))
    return copy.copy(value)


def deepcopy_call(budget: Budget, value: object) -> object:
    """Copy a value and all that it holds, as `copy.deepcopy` does.

    Example:
        >>> deepcopy_call(Budget(), [[1]])
        [[1]]

    """
    budget.deep(value)
    return copy.deepcopy(value)


def _sum(budget: Budget, values: Sequence[Any], start: Any = 0) -> object:
    total = list(start) if isinstance(start, list) else start
    for value in values:
        if isinstance(total, list) and isinstance(value, list):
            budget.items(SLOT_CHARS * len(value))
            total.extend(value)
        else:
            if isinstance(total, tuple):
                budget.items(SLOT_CHARS * len(total))
            total = total + value
    return total


def _range(budget: Budget, *args: int) -> object:
    numbers = range(*args)
    budget.items(SLOT_CHARS * len(numbers))
    return numbers


def _product(budget: Budget, *args: Sequence[object]) -> object:
    budget.items(SLOT_CHARS * (len(args) + 1) * math.prod(map(len, args)))
    return list(itertools.product(*args))


def _isinstance(_: Budget, value: object, types: object) -> object:
    names = [t.dotted for t in (types if isinstance(types, tuple) else (types,)) if isinstance(t, Symbol)]
    if isinstance(value, Symbol):
        raise value.refusal
    return isinstance(value, tuple(_TYPES[name] for name in names))


def _json_load(budget: Budget, source: TextFile | str) -> object:
    text = source.text if isinstance(source, TextFile) else source
    budget.text(len(text))
    return json.loads(text)


def _walk(function: Function) -> Function:
    """Wrap a function that may walk everything in its arguments."""

    def call(budget: Budget, *args: object, **kwargs: object) -> object:
        budget.deep(args, kwargs)
        return function(*args, **kwargs)

    return call


def _as_list(function: Function) -> Function:
    """Wrap a function that returns an iterator: lists have a length to count."""

    def call(budget: Budget, *args: Any, **kwargs: Any) -> object:
        budget.deep(args)
        result = list(function(*args, **kwargs))  # type: ignore[call-overload]
        budget.items(SLOT_CHARS * len(result))
        return result

    return call


FUNCTIONS: dict[str, Function] = {
    **{name: _walk(t) for name, t in _TYPES.items()},
    **{f"builtins.{f.__name__}": _walk(f) for f in (min, max, any, all, abs, round, chr, ord, repr)},
    **{f"builtins.{f.__name__}": _as_list(f) for f in (sorted, reversed, zip, enumerate)},
    **dict.fromkeys(DICT_CLASSES, dict_call),
    "builtins.len": lambda _, value: len(value),
    "builtins.sum": _sum,
    "builtins.range": _range,
    "builtins.isinstance": _isinstance,
    "builtins.print": lambda *_, **__: None,
    "copy.copy": copy_call,
    "copy.deepcopy": deepcopy_call,
    "itertools.product": _product,
    "itertools.chain": _as_list(itertools.chain),
    "itertools.chain.from_iterable": _as_list(itertools.chain.from_iterable),
    "os.path.abspath": lambda _, path: os.path.abspath(path),
    "os.path.realpath": lambda _, path: os.path.abspath(path),
    "json.load": _json_load,
    "json.loads": _json_load,
    **{f"os.path.{f.__name__}": _walk(f) for f in (os.path.join, os.path.dirname, os.path.basename, os.path.splitext)},
    **{f"math.{name}": _walk(getattr(math, name)) for name in ("ceil", "exp", "floor", "log", "log2", "sqrt")},
}
