"""Random choices that a seed and a case's number decide, the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw(random.Random):
    """The random choices of one case."""

    @classmethod
    def of(cls, seed: int, case: int, kind: str = "") -> Draw:
        """The choices of case number `case`: a case is made anew from these three."""
        return cls(f"{kind}:{seed}:{case}")

    def chance(self, one_in: float) -> bool:
        """True once in `one_in` times."""
        return self.random() * one_in < 1

    def pick(self, *options: T) -> T:
        return options[self._randbelow(len(options))]

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """From `least` to `most` of the options, each maybe several times."""
        return [self.choice(options) for _ in range(self.randint(least, most))]

    def subset(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """From `least` to `most` of the options, each once at the most, in any order."""
        most = min(most, len(options))
        return self.sample(list(options), self.randint(min(least, most), most))
