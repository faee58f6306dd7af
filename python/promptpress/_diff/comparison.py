"""Comparing two sources of prompts, over whole tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._core import RenderError
from promptpress._diff.equal_rows import equal_rows, is_comparable
from promptpress._diff.pairs import Pairs, Unpaired, paired
from promptpress._diff.places import Place, first_difference
from promptpress._to_pylist import to_pylist
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import PromptSource
from promptpress._view.rendered_source import RenderedSource
from promptpress._view.renderer_source import RendererSource

__all__ = ["Comparison", "Difference", "compare", "unequal"]


@dataclass(frozen=True)
class Difference:
    """A request that isn't the same on both sides.

    Args:
        sample: Its sample.
        label: Its label, if it has one.
        turn: Its turn, likewise.
        place: Where the sides begin to differ.
        a: The first side's prompt; None where it lacks the request, or prompts aren't kept any more.
        b: The other's.

    """

    sample: int
    label: Any
    turn: int | None
    place: Place
    a: Prompt | None = None
    b: Prompt | None = None


@dataclass
class Comparison:
    """What comparing two sources has found.

    Args:
        compared: Requests that both sides have.
        different: Those of them that differ.
        only_a: Requests that the second side lacks.
        only_b: Requests that the first side lacks.
        first: The first differences.

    """

    compared: int = 0
    different: int = 0
    only_a: int = 0
    only_b: int = 0
    first: list[Difference] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether both sides give the same requests."""
        return not (self.different or self.only_a or self.only_b)


def compare(a: PromptSource, b: PromptSource, *, limit: int, prompts: int) -> Comparison:
    """Compare all requests of two sources.

    Args:
        a: One source.
        b: The other, of the same samples.
        limit: How many differences to say more of than that they are there.
        prompts: Of how many of those to keep the prompts.

    Returns:
        What was found.

    Raises:
        RenderError: If one side can't render a request.

    """
    out = Comparison()
    for one, other in ((a, b), (b, a)):
        if isinstance(one, RenderedSource) and isinstance(other, RendererSource | RenderedSource) and other.labels:
            one.follow(other.labels)
    for found in paired(a.requests(), b.requests()):
        if isinstance(found, Unpaired):
            out.only_a += found.is_a
            out.only_b += not found.is_a
            if len(out.first) < limit:
                place = Place("only_a" if found.is_a else "only_b")
                out.first.append(Difference(found.sample, found.label, found.turn, place))
            continue
        out.compared += len(found.a)
        rows = unequal(a, b, found)
        out.different += len(rows)
        for row in rows[: limit - len(out.first)].to_pylist():
            out.first.append(_difference(a, b, found, row, keep=len(out.first) < prompts))
    return out


def unequal(a: PromptSource, b: PromptSource, pairs: Pairs) -> pa.Array:
    """Find the requests that aren't the same on both sides.

    Args:
        a: One source.
        b: The other.
        pairs: Requests of both.

    Returns:
        Their places among the pairs, ascending.

    """
    mine, yours = pairs.a.prompts, pairs.b.prompts
    if is_comparable(mine.type, yours.type):
        try:
            return pc.indices_nonzero(pc.invert(equal_rows(mine, yours)))
        except pa.ArrowNotImplementedError:  # kernels that Arrow lacks for views within lists
            pass
    # A text here and messages there may still be the same: messages_json.
    both = enumerate(zip(to_pylist(mine), to_pylist(yours), strict=True))
    return pa.array([row for row, (one, other) in both if _request(a, one) != _request(b, other)], pa.int64())


def _request(source: PromptSource, value: Any) -> Any:
    return source.request(value, 0).request


def _difference(a: PromptSource, b: PromptSource, pairs: Pairs, row: int, *, keep: bool) -> Difference:
    sample: int = pairs.a.samples[row].as_py()
    label, turn = (None if own is None else own[row].as_py() for own in (pairs.a.labels, pairs.a.turns))
    (mine,), (yours,) = (to_pylist(side.prompts.slice(row, 1)) for side in (pairs.a, pairs.b))
    one = _prompt(a, mine, sample, label, turn)
    other = _prompt(b, yours, sample, label, turn)
    place = first_difference(one, other) or Place("form")
    return Difference(sample, label, turn, place, one if keep else None, other if keep else None)


def _prompt(source: PromptSource, value: Any, sample: int, label: Any, turn: int | None) -> Prompt:
    """A request with its origins, as far as the source knows them."""
    plain = source.request(value, sample, label, turn)
    if source.has_origins:
        try:
            for prompt in source.prompts(sample, label, turn):
                if prompt.request == plain.request:
                    return prompt
        except (RenderError, pa.ArrowException):
            return plain
    return plain
