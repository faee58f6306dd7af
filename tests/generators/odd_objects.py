"""Random conversations of Python's objects that no Arrow type holds, or that Arrow and JSON would change."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa


@dataclasses.dataclass
class Pair:
    a: object
    b: object = None


class Model:
    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class Word(str, enum.Enum):
    YES = "yes"


class Number(enum.IntEnum):
    THREE = 3


class Fraction(float):
    pass


Named = collections.namedtuple("Named", "a b")

_LEAVES: tuple[Callable[[], Any], ...] = (
    *(lambda: {1}, lambda: frozenset([1]), {"a": 1}.values, {"a": 1}.keys, lambda: range(3)),
    *(lambda: b"x", lambda: bytearray(b"x"), lambda: memoryview(b"x"), lambda: collections.deque([1]), lambda: len),
    *(lambda: pa.scalar(1), lambda: pa.scalar("x"), lambda: np.array([1, 2]), lambda: np.str_("s"), lambda: object),
    *(lambda: np.float32(1.5), lambda: np.int64(3), lambda: np.bool_(False), lambda: Word.YES, lambda: Number.THREE),
    *(lambda: Fraction(1.5), lambda: fractions.Fraction(1, 2), lambda: decimal.Decimal("1.0"), lambda: 1j),
    *(lambda: datetime.date(2026, 1, 1), lambda: datetime.datetime(2026, 1, 1), lambda: collections.Counter("aab")),
    *(lambda: 1, lambda: 1.0, lambda: True, lambda: None, lambda: "x", lambda: "é\n", lambda: 10**30, lambda: -0.0),
    *(lambda: float("inf"), lambda: float("nan"), lambda: {"promptpress:conversation": [1]}),
    *(lambda: {"promptpress:tuple": [1]}, lambda: {"promptpress:dict": [[1, 2]]}, lambda: "promptpress:tuple"),
)
_KEYS = ("a", "b", "c", 1, True, None, 2.5, (1, 2), "role", Word.YES, np.int64(1))


def odd_conversation(drawn: random.Random) -> Any:
    """Draw a conversation."""
    message = {"role": "user", "content": _value(drawn, 3)}
    message |= {drawn.choice(("x", "y", "name")): _value(drawn, 3) for _ in range(drawn.randrange(3))}
    talk: Any = [{key: value for key, value in message.items() if value is not None}]
    if drawn.random() < 0.3:
        talk.append({"role": "assistant", "content": "ok"})
    return tuple(talk) if drawn.random() < 0.1 else talk


def _value(drawn: random.Random, depth: int) -> Any:
    kind = drawn.randrange(10) if depth else 9
    values = [_value(drawn, depth - 1) for _ in range(drawn.randrange(4))] if kind < 5 else []
    if kind == 0:
        return values
    if kind == 1:
        return tuple(values)
    if kind < 5:
        return {drawn.choice(_KEYS): value for value in values}
    if kind == 9:
        return drawn.choice(_LEAVES)()
    within = _value(drawn, depth - 1)
    return {5: Pair(within), 6: Model(x=within), 7: Named(within, 1), 8: collections.OrderedDict(a=within)}[kind]
