"""Comparison of two sources of prompts over whole tables: their requests in pairs, and the pairs that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import groupby, product
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import RenderError, to_pylist
from promptpress.engine import core as _core
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.diff.differences import Location, are_equal_errors, first_difference, kinds_of_change
from promptpress_workbench.prompts.kinds import with_speakers
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import (
    PromptSource,
    RequestBatch,
    RequestId,
    is_list,
    parent_rows,
    take,
)
from promptpress_workbench.prompts.rendered_source import RenderedSource

MAX_KINDS = 100
"""The most kinds of changes that are told from each other."""

MAX_GROUPED = 20_000
"""The most requests whose changes are compared with each other: each takes a comparison of words."""


@dataclass(frozen=True)
class Difference:
    """A request that isn't the same on both sides; a prompt is None if its side lacks it, or it isn't kept."""

    sample: int
    label: Any
    turn: int | None
    location: Location
    a: Prompt | None = None
    b: Prompt | None = None


@dataclass
class Group:
    """Requests with the same change: their number, and the first of them, with the change's location."""

    first: Difference
    count: int = 0


@dataclass
class Comparison:
    """The numbers of requests that both sides have, that differ, and that one side lacks; and the first differences.

    Requests that can't be rendered on one side, or for other reasons on both, differ.
    """

    compared: int = 0
    different: int = 0
    only_a: int = 0
    only_b: int = 0
    errors_a: int = 0
    """The requests that only the first side can't render."""
    errors_b: int = 0
    errors_differ: int = 0
    """The requests that neither side can render, for different reasons."""
    errors_equal: int = 0
    other_masks: int | None = None
    """The requests that differ and have equal token ids; None if no tokens are compared."""
    has_masks: bool = False
    """True if it is compared which tokens are trained."""
    first: list[Difference] = field(default_factory=list)
    groups: dict[object, Group] = field(default_factory=dict)
    """Equal changes, each kind by a value that stands for it."""
    ungrouped: int = 0
    """The number of requests with changes that are in no group, because there are too many."""

    @property
    def other_ids(self) -> int:
        """The number of requests with other token ids on both sides."""
        errors = self.errors_a + self.errors_b + self.errors_differ
        return self.different - (self.other_masks or 0) - errors

    @property
    def is_equal(self) -> bool:
        return not (self.different or self.only_a or self.only_b)


def compare(a: PromptSource, b: PromptSource, *, limit: int, prompts: int, grouped: bool = False) -> Comparison:
    """Compare all requests of two sources; keep `limit` differences, and the first `prompts` with their prompts.

    If `grouped` is true, equal changes are counted in `groups`, whose first differences have their prompts.
    """
    out = Comparison()
    left = MAX_GROUPED
    for side, other in ((a, b), (b, a)):
        if isinstance(side, RenderedSource) and other.labels:
            side.follow(other.labels)
    for item in paired(a.requests(), b.requests()):
        if isinstance(item, Unpaired):
            out.only_a += item.is_a
            out.only_b += not item.is_a
            difference = Difference(item.sample, item.label, item.turn, Location("only_a" if item.is_a else "only_b"))
            if len(out.first) < limit:
                out.first.append(difference)
            if grouped:
                out.groups.setdefault((item.is_a, item.key), Group(difference)).count += 1
            continue
        out.compared += len(item.a)
        rows = unequal(a, b, item)
        out.different += len(rows)
        if types.is_struct(item.a.prompts.type):
            out.other_masks = (out.other_masks or 0) + _equal_ids(item, rows)
            out.has_masks |= any(pc.struct_field(side.prompts, "trained").null_count < len(side) for side in item)
        if item.has_errors:
            mine, yours = item.failed
            neither, both = pc.sum(pc.and_(mine, yours)).as_py(), len(rows.filter(pc.and_(mine, yours).take(rows)))
            out.errors_a += pc.sum(pc.and_not(mine, yours)).as_py()
            out.errors_b += pc.sum(pc.and_not(yours, mine)).as_py()
            out.errors_differ += both
            out.errors_equal += neither - both
        for row in rows[: limit - len(out.first)].to_pylist():
            out.first.append(_difference(a, b, item, row, keep=len(out.first) < prompts))
        if grouped:
            for row in rows[:left].to_pylist():
                _count(out, a, b, item, row)
            out.ungrouped += max(len(rows) - left, 0)
            left = max(left - len(rows), 0)
    return out


def _count(out: Comparison, a: PromptSource, b: PromptSource, pairs: Pairs, row: int) -> None:
    """Count each change of a pair of requests; the first of its kind is kept with its prompts."""
    kinds = list(kinds_of_change(*_prompts(a, b, pairs, row, plain=True)[1]))
    if len(out.groups) < MAX_KINDS and not all(kind in out.groups for _, kind in kinds):
        request, prompts = _prompts(a, b, pairs, row)
        sides = list(map(with_speakers, prompts))
        for location, kind in kinds_of_change(*prompts):
            out.groups.setdefault(kind, Group(Difference(*request, location, *sides)))
    counts = [kind for _, kind in kinds] if out.other_masks is None else {kind for _, kind in kinds}
    for kind in counts:  # of tokens, rows are counted: a change may be in each turn
        if kind in out.groups:
            out.groups[kind].count += 1
    out.ungrouped += any(kind not in out.groups for _, kind in kinds)


def _equal_ids(pairs: Pairs, rows: pa.Array) -> int:
    """Count the pairs of some rows that have the same token ids, and no error."""
    mine, yours = (pc.struct_field(side.prompts.take(rows), "input_ids") for side in pairs)
    return int(pc.sum(pc.and_(equal_rows(mine, yours), mine.is_valid())).as_py() or 0)


def unequal(a: PromptSource, b: PromptSource, pairs: Pairs) -> pa.Array:
    """Return the numbers of the pairs whose requests differ, ascending: one has an error, or another error, too."""
    rows = _unequal_prompts(a, b, pairs)
    if not pairs.has_errors:
        return rows
    mine, yours = pairs.failed
    both = pc.indices_nonzero(pc.and_(mine, yours))
    errors = [[] if side.errors is None else side.errors.take(both).to_pylist() for side in (pairs.a, pairs.b)]
    others = both.filter(pa.array([not are_equal_errors(*pair) for pair in zip(*errors, strict=False)], pa.bool_()))
    prompts = rows.filter(pc.invert(pc.or_(mine, yours)).take(rows))
    numbers = pa.concat_arrays(
        [column.cast(pa.uint64()) for column in (prompts, others, pc.indices_nonzero(pc.xor(mine, yours)))]
    )
    return numbers.take(pc.sort_indices(numbers))


def _unequal_prompts(a: PromptSource, b: PromptSource, pairs: Pairs) -> pa.Array:
    """Return the numbers of the pairs whose prompts differ, whatever their errors are."""
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
    request, prompts = _prompts(a, b, pairs, row)
    location = first_difference(*prompts) or Location("form")
    return Difference(*request, location, *(map(with_speakers, prompts) if keep else ()))


def _prompts(
    a: PromptSource, b: PromptSource, pairs: Pairs, row: int, *, plain: bool = False
) -> tuple[RequestId, tuple[Prompt, Prompt]]:
    """Make both prompts of a pair, with their origins if they are known, or `plain`."""
    # A row of several turns that can't be rendered has no turn.
    label, turn = (
        next((of_row for column in columns if column is not None and (of_row := column[row].as_py()) is not None), None)
        for columns in ((pairs.a.labels, pairs.b.labels), (pairs.a.turns, pairs.b.turns))
    )
    request = RequestId(pairs.a.samples[row].as_py(), label, turn)
    (mine,), (yours,) = (to_pylist(side.prompts.slice(row, 1)) for side in pairs)
    errors = [None if side.errors is None else side.errors[row].as_py() for side in pairs]
    prompts = _prompt(a, mine, request, errors[0], plain), _prompt(b, yours, request, errors[1], plain)
    return request, prompts


def _prompt(source: PromptSource, value: Any, request: RequestId, error: str | None, is_plain: bool) -> Prompt:
    """Make a prompt of a request, with its origins or the row's values if the source knows them and they are wanted."""
    plain = replace(source.request(value, *request), error=error)
    if source.has_origins and not is_plain:
        try:
            for prompt in source.prompts(*request):
                if prompt.request == plain.request:
                    return replace(prompt, error=error)
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


class Pairs(NamedTuple):
    """Requests that both sides have, row by row: of the same samples, labels and turns."""

    a: RequestBatch
    b: RequestBatch

    @property
    def has_errors(self) -> bool:
        """True if a request of a side can't be rendered."""
        return any(side.errors is not None and side.errors.null_count < len(side) for side in self)

    @property
    def failed(self) -> tuple[pa.Array, pa.Array]:
        """The masks of the requests of each side that can't be rendered."""
        mine, yours = (
            pa.repeat(pa.scalar(False), len(side)) if side.errors is None else side.errors.is_valid() for side in self
        )
        return mine, yours


class Unpaired(NamedTuple):
    """A request of one side, which the other lacks or that isn't paired yet."""

    sample: int
    label: Any
    turn: int | None
    is_a: bool
    batch: RequestBatch
    row: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (None if self.label is None else str(self.label), self.turn)

    @property
    def is_without_turn(self) -> bool:
        """True if the request is the error of a row with turns."""
        batch = self.batch
        return batch.turns is not None and self.turn is None and batch.errors is not None


def paired(a: Iterator[RequestBatch], b: Iterator[RequestBatch]) -> Iterator[Pairs | Unpaired]:
    """Pair the requests of two streams, which are both ordered by sample.

    As long as both streams have the same samples, labels and turns, which is the usual case, whole batches are paired.
    After the first difference, each sample's requests are paired by label and turn.
    """
    left, right = _Stream(a), _Stream(b)
    while rows := min(left.available(), right.available()):
        mine, yours = left.peek(rows), right.peek(rows)
        if not _have_same_keys(mine, yours):
            break
        left.skip(rows)
        right.skip(rows)
        if _is_one_counted(mine, yours):  # counted samples may be wrong, and the renderer's are right
            samples = mine.samples if mine.numbering == "own" else yours.samples
            mine, yours = replace(mine, samples=samples), replace(yours, samples=samples)
        yield Pairs(mine, yours)
    by_sample = attrgetter("sample")
    for _, requests in groupby(
        merge(_requests(left, is_a=True), _requests(right, is_a=False), key=by_sample), by_sample
    ):
        yield from _of_sample(requests)


class _Stream:
    """A stream of requests that can be looked at before they are consumed."""

    def __init__(self, batches: Iterator[RequestBatch]) -> None:
        self._batches = batches
        self._batch: RequestBatch | None = None
        self._offset = 0

    def available(self) -> int:
        """Return the number of requests that can be peeked at; 0 at the end."""
        while self._batch is None or self._offset == len(self._batch):
            self._batch, self._offset = next(self._batches, None), 0
            if self._batch is None:
                return 0
        return len(self._batch) - self._offset

    def peek(self, rows: int) -> RequestBatch:
        assert self._batch is not None
        return self._batch.slice(self._offset, rows)

    def skip(self, rows: int) -> None:
        self._offset += rows


def _have_same_keys(batch: RequestBatch, other: RequestBatch) -> bool:
    return (
        (_is_one_counted(batch, other) or batch.samples.cast(pa.int64()).equals(other.samples.cast(pa.int64())))
        and _are_same(batch.labels, other.labels)
        and _are_same(batch.turns, other.turns)
    )


def _is_one_counted(batch: RequestBatch, other: RequestBatch) -> bool:
    """Return true if one side's samples are counted by turns and the other's are known.

    Counting goes wrong if only the last turns are rendered, because their numbers don't show where a sample begins.
    """
    return {batch.numbering, other.numbering} == {"own", "counted"}


def _are_same(values: pa.Array | None, others: pa.Array | None) -> bool:
    if values is None or others is None:
        return values is others
    if values.type == others.type:
        return bool(values.equals(others))
    return [str(value) for value in values.to_pylist()] == [str(value) for value in others.to_pylist()]


def _requests(stream: _Stream, *, is_a: bool) -> Iterator[Unpaired]:
    while rows := stream.available():
        batch = stream.peek(rows)
        stream.skip(rows)
        none = [None] * rows
        labels = none if batch.labels is None else batch.labels.to_pylist()
        turns = none if batch.turns is None else batch.turns.to_pylist()
        for row, (sample, label, turn) in enumerate(zip(batch.samples.to_pylist(), labels, turns, strict=True)):
            yield Unpaired(sample, label, turn, is_a, batch, row)


def _of_sample(requests: Iterable[Unpaired]) -> Iterator[Pairs | Unpaired]:
    """Pair the requests of one sample, of which the first side's come first."""
    mine: list[Unpaired] = []
    waiting: dict[tuple[Any, ...], list[Unpaired]] = {}
    for request in requests:
        if request.is_a:
            mine.append(request)
        else:
            waiting.setdefault(request.key, []).append(request)
    yours = [request for others in waiting.values() for request in others]
    for sides in ((mine, yours), (yours, mine)):
        if len(sides[0]) == 1 and len(sides[1]) and sides[0][0].is_without_turn and not sides[1][0].is_without_turn:
            # The one error of a row stands for all of its turns.
            for request, other in product(mine, yours):
                yield Pairs(request.batch.slice(request.row, 1), other.batch.slice(other.row, 1))
            return
    for request in mine:
        others = waiting.get(request.key)
        if others:
            other = others.pop(0)
            yield Pairs(request.batch.slice(request.row, 1), other.batch.slice(other.row, 1))
        else:
            yield request
    for others in waiting.values():
        yield from others


def is_comparable(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return true if both types are texts, or both are lists of messages."""
    return is_text(kind) == is_text(other) and is_list(kind) == is_list(other)


def equal_rows(column: pa.Array, other: pa.Array) -> pa.Array:  # noqa: PLR0911 - a kind of type each
    """Compare two columns row by row, and return booleans without nulls.

    A field that only one side's messages have makes a difference if it isn't null: a null stands for a missing field.
    """
    kinds = column.type, other.type
    if column.type == other.type and column.equals(other):
        return pa.repeat(pa.scalar(True), len(column))
    if all(map(is_list, kinds)):
        return _equal_lists(column, other)
    if all(map(types.is_struct, kinds)):
        return _equal_structs(column, other)
    if all(map(is_text, kinds)):
        return _equal_values(column.cast(pa.large_string()), other.cast(pa.large_string()))
    if column.type == other.type and not types.is_nested(column.type):
        return _equal_values(column, other)
    if any(map(types.is_null, kinds)):
        return pc.and_(column.is_null(), other.is_null())
    pairs = zip(column.to_pylist(), other.to_pylist(), strict=True)
    return pa.array([mine == yours for mine, yours in pairs], pa.bool_())


def _equal_values(column: pa.Array, other: pa.Array) -> pa.Array:
    are_null = pc.and_(column.is_null(), other.is_null())
    return pc.if_else(are_null, True, pc.fill_null(pc.equal(column, other), False))


def _equal_lists(column: pa.Array, other: pa.Array) -> pa.Array:
    have_equal_lengths = _equal_values(pc.list_value_length(column), pc.list_value_length(other))
    kept = pc.indices_nonzero(have_equal_lengths)
    mine, yours = (side if len(kept) == len(side) else side.take(kept) for side in (column, other))
    items = equal_rows(mine.flatten(), yours.flatten())
    different = kept.take(pc.unique(parent_rows(mine).filter(pc.invert(items))))
    rows = _core.repeated_rows(0, len(column), 1)
    return pc.and_not(have_equal_lengths, pc.is_in(rows, value_set=different.cast(pa.int64())))


def _equal_structs(column: pa.Array, other: pa.Array) -> pa.Array:
    out = pa.repeat(pa.scalar(True), len(column))
    for name in dict.fromkeys(item.name for side in (column, other) for item in side.type):
        fields = [pc.struct_field(side, name) for side in (column, other) if side.type.get_field_index(name) >= 0]
        if len(fields) == 2:
            out = pc.and_(out, equal_rows(*fields))
        elif fields:
            out = pc.and_(out, fields[0].is_null())
    return out
