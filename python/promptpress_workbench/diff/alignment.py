"""Messages of two prompts, aligned: a message that one side has more pushes none of the others away from its like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from promptpress_workbench.prompts.prompt import PromptMessage

Numbers = tuple[int | None, int | None]
"""The numbers of a message on both sides; None on the side that lacks it."""

_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_CELLS = 2500
"""The most pairs of messages that are compared; beyond them, messages are paired by their order."""

_MAX_TEXT = 4000
"""The characters of a message whose words count."""

_SAME_ROLE = 0.3
_ANY = 0.01
"""The least value of a pair: two messages that have nothing in common still stand side by side."""


def aligned(a: Sequence[PromptMessage], b: Sequence[PromptMessage]) -> list[Numbers]:
    """Pair the messages of two prompts in order, so that the pairs have as much in common as possible.

    Messages at the beginning and the end that are equal are pairs. Those between are aligned by their words and roles.

    >>> from promptpress_workbench.prompts.prompt import Piece
    >>> def message(role, text):
    ...     return PromptMessage(role, (Piece(text),))
    >>> aligned([message("user", "One?")], [message("system", "Be kind."), message("user", "One, two?")])
    [(None, 0), (0, 1)]

    """
    start, ends = 0, [len(a), len(b)]
    while start < min(ends) and _is_same(a[start], b[start]):
        start += 1
    while start < min(ends) and _is_same(a[ends[0] - 1], b[ends[1] - 1]):
        ends = [end - 1 for end in ends]
    between = [
        (None if mine is None else start + mine, None if yours is None else start + yours)
        for mine, yours in _aligned(a[start : ends[0]], b[start : ends[1]])
    ]
    tail = zip(range(ends[0], len(a)), range(ends[1], len(b)), strict=True)
    return [*((number, number) for number in range(start)), *between, *tail]


def _is_same(message: PromptMessage, other: PromptMessage) -> bool:
    return message.role == other.role and message.text == other.text


def _aligned(a: Sequence[PromptMessage], b: Sequence[PromptMessage]) -> list[Numbers]:
    """Align by dynamic programming: `best[i][j]` is the greatest value of pairs among the messages from i and j on."""
    if not a or not b or len(a) * len(b) > _MAX_CELLS:
        return list(zip_longest(range(len(a)), range(len(b))))
    words, other_words = ([Counter(_WORD.findall(message.text[:_MAX_TEXT])) for message in side] for side in (a, b))
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    values = [[_value(a[i], b[j], words[i], other_words[j]) for j in range(len(b))] for i in range(len(a))]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(values[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    return list(_walked(best, values))


def _value(a: PromptMessage, b: PromptMessage, words: Counter[str], others: Counter[str]) -> float:
    """Return how much two messages have in common: the share of their words, and more if the roles are the same."""
    total = words.total() + others.total()
    shared = 2 * (words & others).total() / total if total else float(a.text == b.text)
    return _ANY + shared + _SAME_ROLE * (a.role == b.role)


def _walked(best: list[list[float]], values: list[list[float]]) -> Iterator[Numbers]:
    i = j = 0
    while i < len(values) and j < len(values[0]):
        if best[i][j] == values[i][j] + best[i + 1][j + 1]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1
    yield from ((number, None) for number in range(i, len(values)))
    yield from ((None, number) for number in range(j, len(values[0])))
