"""Searches for rows, each in a thread of its own: for what the prompts say, what they are made of, or what differs."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import core as _core
from promptpress.engine.errors import reason
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.diff.comparison import Pairs, paired, unequal
from promptpress_workbench.prompts.prepared_source import IDS, true_counts
from promptpress_workbench.prompts.prompt_source import (
    PromptSource,
    RequestBatch,
    RequestFilter,
    may_be_json,
    parent_rows,
    take,
)
from promptpress_workbench.prompts.tokenized import TokenView
from promptpress_workbench.viewer.sources import Source, StoredPrepared, StoredRendered

ERROR_COLUMN = "error"
"""The name under which the errors of rows that can't be rendered are a column of the samples."""


@dataclass(frozen=True)
class Wanted:
    """The conditions for rows of the list; empty fields ask for nothing. The address of the page has all of them."""

    search: str = ""
    case: str = ""
    """`yes` if upper and lower case count."""
    column: str = ""
    value: str = ""
    """The value of the column as text; empty for any but null."""
    bytes: str = ""
    """The least and the greatest length in bytes: `100-199`."""
    rows: str = ""
    """Rows and ranges of them: `3,17,100-105`."""
    token: str = ""
    """A token, as its id or its text."""
    untrained: str = ""
    """`yes` for the prompts in which nothing is trained."""
    order: str = ""
    """`longest` or `shortest` come first; empty for the order of the rows."""

    def described(self) -> str:
        """Return the conditions in words, but for the text, which stands in its field."""
        value = f"{self.column} = {self.value}" if self.value else f"with {self.column}" if self.column else ""
        size = f"{self.bytes.replace('-', ' to ')} bytes" if self.bytes else ""
        rows = f"rows {self.rows}" if self.rows else ""
        tokens = [f"token {self.token}" if self.token else "", "nothing is trained" if self.untrained else ""]
        return " · ".join(filter(None, [value, size, rows, *tokens, self.order and f"{self.order} first"]))


def value_text(value: Any) -> str:
    """Return a value of a column as the page shows it and looks for it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class RowFinder(ABC):
    """Renders all prompts in a background thread and keeps the numbers of some samples, but no prompts."""

    def __init__(self) -> None:
        self.rows: array[int] = array("q")
        """The samples found so far, in the order of the list."""
        self.seen = 0
        """The number of samples that were looked at."""
        self.failed = 0
        """The number of those that can't be rendered."""
        self.error: str | None = None
        """The reason of an early end, in one line."""
        self._cancelled = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="promptpress-finder", daemon=True).start()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the current batch; the rows found so far stay."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> bool:
        return self._done.wait(timeout)

    def _run(self) -> None:
        try:
            for samples, seen in self._steps():
                if self._cancelled.is_set():
                    return
                self.seen = max(self.seen, seen)  # before the rows, so that no more are found than were seen
                for sample in dict.fromkeys(samples):  # a row may have several requests
                    if not self.rows or sample != self.rows[-1]:
                        self.rows.append(sample)
        except Exception as error:
            self.error = reason(error)
        finally:
            self._done.set()

    @abstractmethod
    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        """Yield the samples that a step found, and how many samples were looked at so far."""


class RowSearch(RowFinder):
    """Finds the rows that are wanted, by their requests of one label, or of all labels if that is None."""

    def __init__(
        self,
        source: Source,
        wanted: Wanted,
        *,
        rows: Sequence[int] | None = None,
        label: str | None = None,
        tokens: TokenView | None = None,
    ) -> None:
        self.wanted = wanted
        self._tokens = tokens
        self._source = source
        self._numbers = None if rows is None else pa.array(sorted(set(rows)), pa.int64())
        self._filter = RequestFilter(label)
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        if self._numbers is not None and self.wanted == Wanted(rows=self.wanted.rows):
            self._source.rows.store.wait(self._numbers[-1].as_py() + 1)
            total = self._source.num_samples
            yield self._numbers.filter(pc.less(self._numbers, total)).to_pylist(), total
            return
        if self._tokens is not None and (self.wanted.token or self.wanted.untrained):
            steps = self._token_steps(self._tokens)
            if self._numbers is None and self.wanted == Wanted(
                token=self.wanted.token, untrained=self.wanted.untrained
            ):
                yield from steps
                return
            rows = self._numbers
            matches = pa.array([sample for samples, _ in steps for sample in samples], pa.int64())
            self._numbers = matches if rows is None else matches.filter(pc.is_in(matches, value_set=rows))
        done = 0
        samples: list[pa.Array] = []
        lengths: list[pa.Array] = []
        for batch in self._source.requests():
            if len(batch):
                self.failed += len(pc.unique(batch.samples.take(batch.failed)))
                kept = self._kept(batch, done)
                done += len(batch)
                if self.wanted.order:
                    samples.append(kept.samples.cast(pa.int64()))
                    lengths.append(request_sizes(self._source, kept.prompts).cast(pa.int64()))
                yield () if self.wanted.order else kept.samples.to_pylist(), batch.samples[-1].as_py() + 1
        if samples:
            order = "descending" if self.wanted.order == "longest" else "ascending"
            ordered = pc.array_sort_indices(pa.concat_arrays(lengths), order=order)  # stable
            yield pa.concat_arrays(samples).take(ordered).to_pylist(), 0

    def _token_steps(self, view: TokenView) -> Iterator[tuple[Iterable[int], int]]:
        """Yield the samples that have the token, or in which nothing is trained."""
        ids = pa.array(view.ids_of(self.wanted.token) if self.wanted.token else [], pa.int64())
        for samples, is_sound, lists, trained in self._token_lists(view):
            wanted = is_sound
            if self.wanted.token:
                flags = pc.is_in(lists.flatten().cast(pa.int64(), safe=False), value_set=ids)
                wanted = pc.and_(wanted, pc.greater(true_counts(lists, flags), 0))
            if self.wanted.untrained:
                is_silent = pc.equal(true_counts(trained, trained.flatten()), 0)
                wanted = pc.and_(wanted, pc.and_(trained.is_valid(), is_silent))
            yield samples.filter(wanted).to_pylist(), samples[-1].as_py() + 1 if len(samples) else 0

    def _token_lists(self, view: TokenView) -> Iterator[tuple[pa.Array, pa.Array, pa.Array, pa.Array]]:
        """Yield samples, true for those without an error, their ids, and what of them is trained."""
        if not isinstance(self._source, StoredPrepared):
            for batch in view.requests(self._source):
                lists = (pc.struct_field(batch.prompts, name) for name in (IDS, "trained"))
                yield batch.samples, batch.prompts.is_valid(), *lists
            return
        for first, prepared in self._source.prepared():
            count = len(prepared.ids)
            trained = pa.nulls(count, pa.list_(pa.bool_())) if prepared.trained is None else prepared.trained
            yield _core.repeated_rows(first, count, 1), prepared.errors.is_null(), prepared.ids, trained

    def _kept(self, batch: RequestBatch, done: int) -> RequestBatch:
        """Return the wanted requests of a batch, which comes after so many others."""
        wanted, source = self.wanted, self._source
        if wanted.column:
            batch = _filtered(batch, self._has_value(batch, done))
        if self._numbers is not None:
            batch = _filtered(batch, pc.is_in(batch.samples.cast(pa.int64()), value_set=self._numbers))
        batch = self._filter.apply(batch)
        if wanted.search:
            batch = _filtered(batch, _matches(batch.prompts, wanted.search, ignore_case=not wanted.case))
        if wanted.bytes:
            least, greatest = map(int, wanted.bytes.split("-"))
            sizes = request_sizes(source, batch.prompts)
            batch = _filtered(batch, pc.and_(pc.greater_equal(sizes, least), pc.less_equal(sizes, greatest)))
        return batch

    def _has_value(self, batch: RequestBatch, done: int) -> pa.Array:
        """Return a mask of the requests whose row has the value; an error only has to hold it."""
        source, name, value = self._source, self.wanted.column, self.wanted.value
        is_rendered = isinstance(source, StoredRendered)
        if name == ERROR_COLUMN and (is_rendered or name not in source.rows.schema.names):
            errors = pa.nulls(len(batch), pa.string()) if batch.errors is None else batch.errors
            return _match(errors, value, ignore_case=False) if value else errors.is_valid()
        if isinstance(source, StoredRendered):
            values = source.values(name, done, len(batch))
        else:
            first = batch.samples[0].as_py()
            column = source.rows.store.rows(first, batch.samples[-1].as_py() + 1).column(name)
            values = take(column, pc.subtract(batch.samples.cast(pa.int64()), first))
        if not value:
            return values.is_valid()
        if types.is_integer(values.type) or types.is_boolean(values.type):
            values = values.cast(pa.string())  # as JSON has them
        if is_text(values.type):
            return pc.fill_null(pc.equal(without_views(values), value), value == "null")
        return pa.array([value_text(item) == value for item in to_pylist(values)], pa.bool_())


def request_sizes(source: PromptSource, prompts: pa.Array) -> pa.Array:
    """Return the bytes of the texts of requests; null for one that can't be rendered."""
    batch = RequestBatch(prompts, prompts)
    return _core.request_sizes(prompts, prompts.null_count < len(prompts) and may_be_json(source, batch))[0]


def _filtered(batch: RequestBatch, mask: pa.Array) -> RequestBatch:
    return batch.take(pc.indices_nonzero(pc.fill_null(mask, False)))


class DifferenceSearch(RowFinder):
    """Finds the rows for which two sources give different requests or errors, or one lacks a request."""

    def __init__(self, a: PromptSource, b: PromptSource) -> None:
        self._a, self._b = a, b
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for step in paired(self._a.requests(), self._b.requests()):
            if isinstance(step, Pairs):
                samples = step.a.samples
                if step.has_errors:
                    self.failed += len(pc.unique(samples.filter(pc.or_(*step.failed))))
                yield samples.take(unequal(self._a, self._b, step)).to_pylist(), samples[-1].as_py() + 1
            else:
                yield [step.sample], step.sample + 1


def _matches(prompts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    """Return a mask of the requests of which a text holds `wanted`."""
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        # Within JSON a text is escaped, in any other request it isn't.
        texts = [wanted, json.dumps(wanted, ensure_ascii=False)[1:-1]]
        masks = [_match(prompts, text, ignore_case=ignore_case) for text in dict.fromkeys(texts)]
        return masks[0] if len(masks) == 1 else pc.or_(*masks)
    numbers = pa.array(range(len(prompts)), pa.int64())
    matches = pa.array([], pa.int64())
    for texts, rows in _texts(prompts, numbers):
        matches = pa.concat_arrays([matches, rows.filter(_match(texts, wanted, ignore_case=ignore_case))])
    return pc.is_in(numbers, value_set=matches)


def _match(texts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    return pc.fill_null(pc.match_substring(without_views(texts), wanted, ignore_case=ignore_case), False)


def _texts(values: pa.Array, rows: pa.Array) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the texts in messages, without roles, each with the number of its request."""
    kind = values.type
    if is_text(kind):
        yield values, rows
    elif types.is_list(kind) or types.is_large_list(kind):
        yield from _texts(values.flatten(), rows.take(parent_rows(values)))
    elif types.is_struct(kind):
        for number, field in enumerate(kind):
            if field.name not in ("role", "type"):
                yield from _texts(values.field(number), rows)
