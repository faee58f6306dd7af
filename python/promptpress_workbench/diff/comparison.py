"""Comparison of two sources of prompts over whole tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import core as _core
from promptpress.engine.core import RenderError
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.diff.equal_rows import equal_rows, is_comparable
from promptpress_workbench.diff.first_difference import Location, first_difference
from promptpress_workbench.diff.pairs import Pairs, Unpaired, paired
from promptpress_workbench.prompts.kinds import with_speakers
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import PromptSource, take
from promptpress_workbench.prompts.rendered_source import RenderedSource


@dataclass(frozen=True)
class Difference:
    """A request that isn't the same on both sides.

    Args:
        sample: The sample.
        label: The label, if the request has one.
        turn: The turn, if the request has one.
        location: The location of the first difference.
        a: The first side's prompt; None if that side lacks the request, or the prompt isn't kept.
        b: The second side's prompt, or None for the same reasons.

    """

    sample: int
    label: Any
    turn: int | None
    location: Location
    a: Prompt | None = None
    b: Prompt | None = None


@dataclass
class Comparison:
    """The result of a comparison.

    Args:
        compared: The number of requests that both sides have.
        different: The number of those that differ.
        only_a: The number of requests that the second side lacks.
        only_b: The number of requests that the first side lacks.
        first: The first differences.

    """

    compared: int = 0
    different: int = 0
    only_a: int = 0
    only_b: int = 0
    first: list[Difference] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """True if both sides have the same requests."""
        return not (self.different or self.only_a or self.only_b)


def compare(a: PromptSource, b: PromptSource, *, limit: int, prompts: int) -> Comparison:
    """Compare all requests of two sources of the same samples.

    Args:
        a: The first source.
        b: The second source.
        limit: The most differences to return; the others are only counted.
        prompts: The number of these whose prompts are kept.

    """
    out = Comparison()
    for side, other in ((a, b), (b, a)):
        if isinstance(side, RenderedSource) and other.labels:
            side.follow(other.labels)
    for item in paired(a.requests(), b.requests()):
        if isinstance(item, Unpaired):
            out.only_a += item.is_a
            out.only_b += not item.is_a
            if len(out.first) < limit:
                location = Location("only_a" if item.is_a else "only_b")
                out.first.append(Difference(item.sample, item.label, item.turn, location))
            continue
        out.compared += len(item.a)
        rows = unequal(a, b, item)
        out.different += len(rows)
        for row in rows[: limit - len(out.first)].to_pylist():
            out.first.append(_difference(a, b, item, row, keep=len(out.first) < prompts))
    return out


def unequal(a: PromptSource, b: PromptSource, pairs: Pairs) -> pa.Array:
    """Return the numbers of the pairs whose requests differ, ascending."""
    mine, yours = pairs.a.prompts, pairs.b.prompts
    if is_comparable(mine.type, yours.type):
        try:
            return pc.indices_nonzero(pc.invert(equal_rows(mine, yours)))
        except pa.ArrowNotImplementedError:  # kernels that Arrow lacks for views within lists
            pass
    # A text and messages may still be the same request: messages_json. A text that begins otherwise needs no look.
    doubtful = pc.indices_nonzero(pc.and_(_may_be_messages(mine), _may_be_messages(yours)))
    both = zip(*(to_pylist(take(pa.chunked_array([side]), doubtful)) for side in (mine, yours)), strict=True)
    equal = [a.request(value, 0).request == b.request(other, 0).request for value, other in both]
    same = doubtful.filter(pa.array(equal, pa.bool_())).cast(pa.int64())
    rows = _core.repeated_rows(0, len(mine), 1)
    return rows.filter(pc.invert(pc.is_in(rows, value_set=same)))


def _may_be_messages(prompts: pa.Array) -> pa.Array:
    """Return which requests are messages, null, or texts that may be messages in JSON."""
    if not is_text(prompts.type):
        return pa.repeat(pa.scalar(True), len(prompts))
    return pc.fill_null(pc.starts_with(without_views(prompts), "[{"), True)


def _difference(a: PromptSource, b: PromptSource, pairs: Pairs, row: int, *, keep: bool) -> Difference:
    sample: int = pairs.a.samples[row].as_py()
    label, turn = (None if column is None else column[row].as_py() for column in (pairs.a.labels, pairs.a.turns))
    (mine,), (yours,) = (to_pylist(side.prompts.slice(row, 1)) for side in (pairs.a, pairs.b))
    prompt, other = (_prompt(source, value, sample, label, turn) for source, value in ((a, mine), (b, yours)))
    location = first_difference(prompt, other) or Location("form")
    sides = (with_speakers(prompt), with_speakers(other)) if keep else (None, None)
    return Difference(sample, label, turn, location, *sides)


def _prompt(source: PromptSource, value: Any, sample: int, label: Any, turn: int | None) -> Prompt:
    """Make a prompt of a request, with its origins if the source knows them."""
    plain = source.request(value, sample, label, turn)
    if source.has_origins:
        try:
            for prompt in source.prompts(sample, label, turn):
                if prompt.request == plain.request:
                    return prompt
        except (RenderError, pa.ArrowException):
            return plain
    return plain


def difference_rows(differences: Sequence[Difference]) -> pa.Table:
    """Return differences as the table of `promptpress.Diff.rows`."""
    locations = [difference.location for difference in differences]
    columns: dict[str, pa.Array] = {"sample": pa.array([difference.sample for difference in differences], pa.int64())}
    if any(difference.label is not None for difference in differences):
        labels = [None if difference.label is None else str(difference.label) for difference in differences]
        columns["label"] = pa.array(labels, pa.string())
    if any(difference.turn is not None for difference in differences):
        columns["turn"] = pa.array([difference.turn for difference in differences], pa.int64())
    columns["change"] = pa.array([location.change for location in locations], pa.string())
    for name in ("message", "part", "start"):
        columns[name] = pa.array([getattr(location, name) for location in locations], pa.int64())
    for side in ("a", "b"):
        for name in ("source", "column"):
            texts = [getattr(getattr(location, side), name, None) for location in locations]
            columns[f"{side}_{name}"] = pa.array(texts, pa.string())
    return pa.table(columns)
