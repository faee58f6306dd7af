"""Python's own iterators for a configuration, with a count of their steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from promptpress_harness.python_subset.limits import SLOT_CHARS, Budget, settled_extreme, settled_order


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
