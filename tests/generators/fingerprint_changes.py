"""Changes of a renderer's arguments, one at a time: each leaf, each order of keys, each length of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def changed(value: Any) -> Iterator[Any]:
    """Every value that differs from this one in one place."""
    if isinstance(value, dict):
        if len(value) > 1:
            yield dict(reversed(value.items()))
        for key, item in value.items():
            yield {other: item for other, item in value.items() if other != key}
            for new in changed(item):
                yield {**value, key: new}
    elif isinstance(value, list):
        if value:
            yield value[:-1]
            yield [*value, value[-1]]
            yield value[::-1]
        for index, item in enumerate(value):
            for new in changed(item):
                yield [*value[:index], new, *value[index + 1 :]]
    else:
        yield from others(value)


def others(value: Any) -> Iterator[Any]:
    """Other scalars."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield -value - 1
        yield str(value)
    elif isinstance(value, float):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value} "
        yield ""
    yield None if value is not None else "x"
