"""Finding prompts in a whole table: those that match, the longest, some at random."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._to_pylist import to_pylist
from promptpress._view.layout import TextMark
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import PromptSource, RequestBatch
from promptpress._view.request_texts import message_texts

__all__ = ["Found", "Matches", "RequestFilter", "extremes", "match_marks", "matching", "sampled_rows"]

_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True)
class Found:
    """Which request was found.

    Args:
        sample: Its sample.
        label: Its label, where it has one.
        turn: Its turn, likewise.

    """

    sample: int
    label: Any = None
    turn: int | None = None

    def prompts(self, source: PromptSource) -> list[Prompt]:
        """Return it, as the source shows it."""
        return source.prompts(self.sample, self.label, self.turn)


@dataclass(frozen=True)
class RequestFilter:
    """Which requests of a table are looked at.

    Args:
        label: Those of this label only, as text.
        turn: Those of this turn only.

    """

    label: str | None = None
    turn: int | None = None

    def kept(self, batch: RequestBatch) -> RequestBatch:
        """Return what of a batch is looked at."""
        mask = None
        if self.label is not None and batch.labels is not None:
            mask = pc.equal(batch.labels.cast(pa.string()), self.label)
        if self.turn is not None and batch.turns is not None:
            right = pc.equal(batch.turns, self.turn)
            mask = right if mask is None else pc.and_(mask, right)
        return batch if mask is None else _taken(batch, pc.indices_nonzero(pc.fill_null(mask, False)))


@dataclass
class Matches:
    """What `matching` found.

    Args:
        requests: How many requests were looked at.
        matching: How many of them match.
        first: The first of those.

    """

    requests: int
    matching: int
    first: list[Found]


def matching(source: PromptSource, pattern: re.Pattern[str], limit: int, kept: RequestFilter) -> Matches:
    """Look for a pattern in the texts of all requests: in each message by itself, not in roles.

    Args:
        source: The requests.
        pattern: What to look for.
        limit: How many to remember.
        kept: Which requests to look at.

    Returns:
        How many match, and the first of them.

    """
    out = Matches(0, 0, [])
    for whole in source.requests():
        batch = kept.kept(whole)
        rows = _matching_rows(source, batch, pattern)
        out.requests += len(batch)
        out.matching += len(rows)
        wanted = rows[: limit - len(out.first)]
        out.first += _found(batch, pa.array(wanted, pa.int64())) if wanted else []
    return out


def _matching_rows(source: PromptSource, batch: RequestBatch, pattern: re.Pattern[str]) -> list[int]:
    columns = None if _may_be_json(source, batch) else message_texts(batch.prompts)
    if columns is None:
        return [row for row, prompt in enumerate(_prompts(source, batch)) if match_marks(prompt, pattern)]
    plain = not _SPECIAL.search(pattern.pattern) and pattern.flags == re.UNICODE
    rows: set[int] = set()
    for texts, parents in columns:
        if plain:
            found = pc.indices_nonzero(pc.fill_null(pc.match_substring(texts, pattern.pattern), False))
        else:
            search = pattern.search
            found = pa.array([at for at, text in enumerate(texts.to_pylist()) if text is not None and search(text)])
        if parents is not None and len(found):
            found = parents.take(found)
        rows.update(found.to_pylist())
    return sorted(rows)


def _may_be_json(source: PromptSource, batch: RequestBatch) -> bool:
    """Whether texts are messages, so that a prompt says something else than its text."""
    if not pa.types.is_string(batch.prompts.type) and not pa.types.is_large_string(batch.prompts.type):
        return False
    first = next((value for value in batch.prompts.slice(0, 1).to_pylist()), None)
    return first is not None and source.request(first, 0).messages is not None


def match_marks(prompt: Prompt, pattern: re.Pattern[str]) -> list[TextMark]:
    """Mark where a pattern matches in a prompt.

    Args:
        prompt: The prompt.
        pattern: What to look for.

    Returns:
        A mark each; an empty match, too.

    """
    out: list[TextMark] = []
    for number, part, pieces in prompt.texts():
        text = "".join(piece.text for piece in pieces)
        out += [(number, part, (*found.span(), "match")) for found in pattern.finditer(text)]
    return out


def extremes(source: PromptSource, count: int, kept: RequestFilter, *, longest: bool) -> list[Found]:
    """Find the longest or the shortest requests, by the bytes of their texts.

    Args:
        source: The requests.
        count: How many.
        kept: Which requests to look at.
        longest: Which of both.

    Returns:
        Them, the most extreme first; of equal ones the first in the table.

    """
    best: list[tuple[int, int, Found]] = []
    first = 0
    sign = -1 if longest else 1
    for whole in source.requests():
        batch = kept.kept(whole)
        sizes, _ = _core.request_sizes(batch.prompts, _may_be_json(source, batch))
        sizes = pc.fill_null(sizes.cast(pa.int64()), 0)
        rows = pc.sort_indices(pc.multiply(sizes, sign)).slice(0, count)  # stable
        found = _found(batch, rows)
        places = zip(rows.to_pylist(), sizes.take(rows).to_pylist(), found, strict=True)
        best += [(sign * size, first + row, one) for row, size, one in places]
        best = sorted(best, key=lambda one: one[:2])[:count]
        first += len(batch)
    return [found for _, _, found in best]


def sampled_rows(rows: int, count: int, seed: int) -> list[int]:
    """Draw some samples, without repeating any.

    Args:
        rows: How many there are.
        count: How many to draw.
        seed: What the draw depends on.

    Returns:
        Their numbers, ascending.

    >>> sampled_rows(3, 5, 0)
    [0, 1, 2]

    """
    return sorted(random.Random(seed).sample(range(rows), min(rows, count)))


def _prompts(source: PromptSource, batch: RequestBatch) -> Iterator[Prompt]:
    return (source.request(value, 0) for value in to_pylist(batch.prompts))


def _taken(batch: RequestBatch, rows: pa.Array) -> RequestBatch:
    labels = None if batch.labels is None else batch.labels.take(rows)
    turns = None if batch.turns is None else batch.turns.take(rows)
    prompts = batch.prompts
    if prompts.type == pa.string_view():  # which pyarrow doesn't take
        prompts = prompts.cast(pa.large_string())
    return RequestBatch(batch.samples.take(rows), prompts.take(rows), labels, turns)


def _found(batch: RequestBatch, rows: pa.Array) -> list[Found]:
    none = [None] * len(rows)
    labels = none if batch.labels is None else batch.labels.take(rows).to_pylist()
    turns = none if batch.turns is None else batch.turns.take(rows).to_pylist()
    return [Found(*own) for own in zip(batch.samples.take(rows).to_pylist(), labels, turns, strict=True)]
