"""Operators, string formatting and iterators on data, with checks of the size of a result before it is made."""

from __future__ import annotations

import ast
import itertools
import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from promptpress_harness.python_subset.values import (
    SLOT_CHARS,
    Budget,
    HarnessDict,
    TooMuchError,
    UnsettledError,
    settled_extreme,
    settled_identity,
    settled_order,
    settled_text,
)

_WIDTH = re.compile(r"\d{5,}")


class _DataFormatter(string.Formatter):
    """A `str.format` without attribute access and with limits on widths."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if "." in re.sub(r"\[[^]]*\]", "", field_name):
            raise TooMuchError(f"attribute access in the format field {{{field_name}}}")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        return format_value(value, format_spec)


def format_value(value: object, spec: str) -> str:
    """Format a value as `format` does, but raise a TooMuchError for a width or precision of five digits."""
    if _WIDTH.search(spec):
        raise TooMuchError(f"the format specification {spec!r}")
    return format(value, spec)


_CONVERSIONS: dict[int, Callable[[object], object]] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}


def format_field(budget: Budget, value: object, conversion: int, spec: str) -> str:
    """Format one field of an f-string; `conversion` is the character code of `!s`, `!r` or `!a`, or -1."""
    budget.deep(value)
    text = format_value(_CONVERSIONS[conversion](value), spec)
    settled_text(value)  # after Python's own errors
    return text


def format_percent(budget: Budget, template: str, value: object) -> str:
    """Return `template % value`, but raise a TooMuchError for a width of five digits or one that is a value."""
    if any("*" in spec or _WIDTH.search(spec) for spec in re.findall(r"%(?:\([^)]*\))?([-#0 +*\d.]*)", template)):
        raise TooMuchError("a width of that size in a % format")
    budget.deep(value)
    budget.text(len(template) + template.count("%") * longest(value))
    text = template % value
    settled_text(value)
    return text


def longest(value: object) -> int:
    """Return an upper bound for the length of the text of one field."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max((longest(v) for v in value.values()), default=0)
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(longest(v) + 4 for v in value)
    return 64


def format_method(budget: Budget, template: str, /, *args: object, **kwargs: object) -> object:
    """Return `template.format(*args, **kwargs)`, but raise a TooMuchError for attribute access or a large width."""
    budget.deep(args, kwargs)
    bound = max(map(longest, (*args, *kwargs.values())), default=0)
    budget.text(len(template) + template.count("{") * bound)
    _DataFormatter().vformat(template, args, kwargs)  # refuses fields without a limit
    text = template.format(*args, **kwargs)
    settled_text(args, kwargs)
    return text


OPERATORS: dict[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Not: lambda a, _: not a,
    ast.USub: lambda a, _: -a,
    ast.UAdd: lambda a, _: +a,
    ast.Invert: lambda a, _: ~a,
}
_IN_PLACE: dict[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.BitOr: operator.ior,
    ast.BitAnd: operator.iand,
    ast.BitXor: operator.ixor,
}


def operate(budget: Budget, kind: type[ast.AST], left: Any, right: Any, in_place: bool = False) -> object:
    """Apply the operator of a node class (a key of `OPERATORS`); raise an UnsettledError if runs may differ."""
    if kind is ast.Mod and isinstance(left, str):
        return format_percent(budget, left, right)
    if kind is ast.Mod and isinstance(left, bytes):
        raise UnsettledError("the % format of bytes isn't read")
    if kind in (ast.Is, ast.IsNot):
        settled_identity(left, right)
    if kind in (ast.Add, ast.BitOr) and not (in_place and type(left) is dict):
        if not in_place and any(isinstance(side, HarnessDict) for side in (left, right)):
            raise UnsettledError("an operator of a base file's dict")
        if in_place and isinstance(left, (list, dict)):
            settled_order(right)
    _weigh(budget, kind, left, right)
    result = (_IN_PLACE if in_place and kind in _IN_PLACE else OPERATORS)[kind](left, right)
    if isinstance(result, float) and math.isnan(result):  # CPython may keep two constants as one object
        raise UnsettledError("the identity of a NaN depends on Python's version")
    return result


def _weigh(budget: Budget, kind: type[ast.AST], left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if kind is ast.Mult:
            budget.bits(left.bit_length() + right.bit_length())
        elif kind is ast.Pow:
            budget.bits(left.bit_length() * max(right, 0))
        elif kind is ast.LShift:
            budget.bits(left.bit_length() + max(right, 0))
    elif kind is ast.Mult:
        sequence, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(times, int) and isinstance(sequence, (str, bytes)):
            budget.text(len(sequence) * max(times, 0))
        elif isinstance(times, int) and isinstance(sequence, (list, tuple)):
            budget.items(SLOT_CHARS * len(sequence) * max(times, 0))
    elif kind is ast.Add and isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        budget.text(len(left) + len(right))
    else:
        budget.deep(left, right)


def stream(budget: Budget, values: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator that counts its steps, because a list may grow while it is read; leave iterators alone."""
    settled_order(values)
    iterator = iter(values)
    return iterator if iterator is values else _counted(budget, iterator)


def _counted(budget: Budget, iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        budget.step()
        yield item


def _chained(budget: Budget, parts: Iterator[Any]) -> Iterator[Any]:
    # A generator with `yield from` would close the iterator that it reads from when it is freed.
    return itertools.chain.from_iterable(stream(budget, part) for part in parts)


def _zip(budget: Budget, /, *args: Any, **kwargs: Any) -> object:
    return zip(*(stream(budget, arg) for arg in args), **kwargs)  # noqa: B905 - the file decides on `strict`


def _enumerate(budget: Budget, iterable: Any, start: int = 0) -> object:
    return enumerate(stream(budget, iterable), start)


def _reversed(_: Budget, sequence: Any) -> object:
    return reversed(sequence)


def _product(budget: Budget, *args: Any, repeat: int = 1) -> object:
    pools = [tuple(stream(budget, arg)) for arg in args]
    budget.items(SLOT_CHARS * (len(args) * repeat + 1) * math.prod(map(len, pools)) ** max(repeat, 0))
    return itertools.product(*pools, repeat=repeat)


def _chain(budget: Budget, *args: Any) -> object:
    return _chained(budget, iter(args))


def _chain_from(budget: Budget, iterable: Any) -> object:
    return _chained(budget, stream(budget, iterable))


def _map(budget: Budget, function: Any, *args: Any) -> object:
    return map(function, *(stream(budget, arg) for arg in args))


def _filter(budget: Budget, function: Any, iterable: Any) -> object:
    return filter(function, stream(budget, iterable))


def _next(_: Budget, iterator: Any, *default: Any) -> object:
    return next(iterator, *default)


def _sum(budget: Budget, iterable: Any, start: Any = 0) -> object:
    is_exact = isinstance(iterable, (set, frozenset)) and all(isinstance(value, int) for value in iterable)
    values = list(iterable) if is_exact else list(stream(budget, iterable))
    size = len(start) if isinstance(start, (list, tuple)) else 0
    for value in values:  # each sum of two lists is a new list
        size += len(value) if isinstance(value, (list, tuple)) else 0
        budget.items(SLOT_CHARS * size)
    return sum(values, start)


def _sorted(budget: Budget, iterable: Any, /, *, key: Any = None, reverse: Any = False) -> object:
    (settled_extreme if key is None else settled_order)(iterable)
    budget.deep(iterable)
    values = sorted(iterable, key=key, reverse=reverse)
    budget.items(SLOT_CHARS * len(values))
    return values


def _extreme(function: Callable[..., object]) -> Callable[..., object]:
    def call(budget: Budget, /, *args: Any, **kwargs: Any) -> object:
        if len(args) == 1:
            (settled_extreme if kwargs.get("key") is None else settled_order)(args[0])
        budget.deep(args)
        return function(*args, **kwargs)

    return call


STREAM_FUNCTIONS: dict[str, Callable[..., object]] = {
    "builtins.enumerate": _enumerate,
    "builtins.filter": _filter,
    "builtins.iter": stream,
    "builtins.map": _map,
    "builtins.max": _extreme(max),
    "builtins.min": _extreme(min),
    "builtins.next": _next,
    "builtins.reversed": _reversed,
    "builtins.sorted": _sorted,
    "builtins.sum": _sum,
    "builtins.zip": _zip,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
    "itertools.product": _product,
}
