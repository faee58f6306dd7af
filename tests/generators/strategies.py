"""The fuzz's random cases for property tests: the same choices, made by hypothesis, which shrinks what fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import pyarrow as pa
from fuzz import chats, configurations, media, openicl
from fuzz.configurations import Case
from fuzz.draw import Draw
from hypothesis import strategies as st

T = TypeVar("T")
_SHARES = 120
"""A chance is one of so many numbers, which hypothesis draws evenly: many others are a share of it."""


@cache
def _below(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most - 1)


class HypothesisDraw(Draw):
    """The random choices of one case; each becomes smaller on its own: first option, no chance, least number."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(0)
        self._draw = draw

    def _randbelow(self, n: int) -> int:
        return self._draw(_below(n))

    def getrandbits(self, k: int) -> int:
        return self._randbelow(1 << k)

    def random(self) -> float:
        return self._randbelow(1 << 53) / (1 << 53)

    def chance(self, one_in: float) -> bool:
        return self._randbelow(_SHARES) * one_in >= _SHARES * (one_in - 1)


def drawn(make: Callable[[Draw], T]) -> st.SearchStrategy[T]:
    @st.composite
    def made(draw: st.DrawFn) -> T:
        return make(HypothesisDraw(draw))

    return made()


def plain_type(draw: Draw) -> pa.DataType:
    """A type whose values `to_pylist` gives as the harness has them."""
    return draw.pick(
        *(pa.string(), pa.int64(), pa.float64(), pa.float32(), pa.bool_(), pa.list_(pa.string()), pa.binary()),
        pa.struct([("q", pa.string()), ("n", pa.int64())]),
    )


def _few(draw: Draw) -> int:
    return draw.randint(1, 4)


def cases() -> st.SearchStrategy[Case]:
    """A whole case. Most are valid; the rest are refused by some rule."""
    return drawn(lambda draw: configurations.case_of(draw, _few(draw), plain_type))


def media_cases(*, content: bool | None = None) -> st.SearchStrategy[Case]:
    """A case of MMPromptTemplate, whose samples have a column `content` or not; None: some have.

    Its messages are no JSON texts: tests that look into them write those themselves.
    """

    def made(draw: Draw) -> Case:
        case = media.case_of(draw, _few(draw), content)
        case.config["output"] = case.config["output"].removesuffix("_json")
        return case

    return drawn(made)


def chat_cases() -> st.SearchStrategy[Case]:
    return drawn(lambda draw: chats.case_of(draw, _few(draw)))


def openicl_cases() -> st.SearchStrategy[Case]:
    return drawn(lambda draw: openicl.case_of(draw, _few(draw), plain_type))
