"""Sources of prompts: tables of requests, which are gone through in batches, looked at one by one, or searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import TableEngine, as_table
from promptpress.engine import core as _core
from promptpress.engine.errors import render_error
from promptpress.engine.tables import EXACT, ValueReading, is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.prompts.failed_rows import FailedRows
from promptpress_workbench.prompts.layout import TextMark
from promptpress_workbench.prompts.prompt import Prompt

_TEXT_KEYS = ("prompt", "content")

Measure: TypeAlias = Callable[[pa.Array, bool], pa.Array]
"""Returns the length of each request of a column, of which it is said whether its texts are messages as JSON."""

_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


class RequestId(NamedTuple):
    """Identifies a request by its sample, and by its label and turn if it has any."""

    sample: int
    label: Any = None
    turn: int | None = None


@dataclass(frozen=True)
class RequestBatch:
    """Some requests, as Arrow columns: strings, or lists of messages."""

    samples: pa.Array
    """The number of each request's sample (int64), from 0, ascending."""
    prompts: pa.Array
    labels: pa.Array | None = None
    turns: pa.Array | None = None
    numbering: Literal["own", "said", "counted"] = "said"
    """The origin of the samples' numbers: the rows of a renderer (`"own"`), a file that states them or whose rows leave
    no doubt (`"said"`), or a count of turns, which may be wrong (`"counted"`)."""
    errors: pa.Array | None = None
    """The error of each request, whose prompt is null then; null for all others. None: there are none."""

    def __len__(self) -> int:
        return len(self.prompts)

    def ids(self) -> Iterator[RequestId]:
        nulls = [None] * len(self)
        labels, turns = (nulls if column is None else column.to_pylist() for column in (self.labels, self.turns))
        return map(RequestId, self.samples.to_pylist(), labels, turns)

    def take(self, rows: pa.Array) -> RequestBatch:
        """Return some of the requests, by their positions in the batch."""
        samples, labels, turns, errors = (
            None if column is None else column.take(rows)
            for column in (self.samples, self.labels, self.turns, self.errors)
        )
        prompts = take(pa.chunked_array([self.prompts]), rows)
        return replace(self, samples=samples, prompts=prompts, labels=labels, turns=turns, errors=errors)

    def slice(self, start: int, rows: int) -> RequestBatch:
        if start == 0 and rows == len(self):
            return self
        samples, prompts, labels, turns, errors = (
            None if column is None else column.slice(start, rows)
            for column in (self.samples, self.prompts, self.labels, self.turns, self.errors)
        )
        return replace(self, samples=samples, prompts=prompts, labels=labels, turns=turns, errors=errors)

    @property
    def failed(self) -> pa.Array:
        """The positions in the batch of the requests that can't be rendered, ascending."""
        none = pa.array([], pa.uint64())
        return none if self.errors is None else pc.indices_nonzero(self.errors.is_valid())


class RowEngine(NamedTuple):
    """An engine that renders some samples, with the samples, their labels and the number of the first."""

    engine: TableEngine
    table: pa.Table
    labels: list[Any] | None = None
    first: int = 0


class PromptSource(Protocol):
    """A table of requests, each of which can be looked at."""

    @property
    def has_origins(self) -> bool:
        """True if the pieces of prompts have origins."""

    @property
    def labels(self) -> list[Any] | None:
        """The labels of each sample; None if there are none, or they aren't known."""

    @property
    def num_samples(self) -> int:
        """The number of samples. If no file states it, the samples are counted once."""

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of a sample: all, or those of one label, as `Renderer.explain` takes it, or of one turn.

        Those of a row that can't be rendered have an error and the row's values. If there is no such row, label or
        turn, a RenderError is raised.
        """

    def requests(self) -> Iterator[RequestBatch]:
        """Yield all requests in order, in memory that a batch limits; those that can't be rendered have an error."""

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins from a value of `requests`, as `promptpress.to_pylist` returns it."""


class SampleRows(Protocol):
    """A table of samples, or of prompts, that may be larger than memory."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def num_rows(self) -> int: ...

    def row(self, number: int) -> pa.Table:
        """Return one row by its number, from 0; a RenderError is raised if there is no such row."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, from the first one at each call."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all rows, and no other if the format allows it."""


class TableRows:
    """The rows of a table in memory, given as `Renderer.render` takes samples."""

    def __init__(self, samples: object, reading: ValueReading = EXACT) -> None:
        self._table = as_table(samples, reading)
        self.schema: pa.Schema = self._table.schema
        self.num_rows: int = self._table.num_rows

    def row(self, number: int) -> pa.Table:
        check_row(number, self.num_rows)
        return self._table.slice(number, 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches(max_chunksize=65536)

    def column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(self.schema.get_field_index(name))


def check_row(number: int, rows: int) -> None:
    """Raise a RenderError if a table of so many rows lacks a row."""
    if not 0 <= number < rows:
        message = f"there is no such row: rows count from 0, and the table has {rows}"
        raise render_error("row_out_of_range", message, row=number)


def take(column: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """Take rows of a column in any order, even if Arrow's kernel doesn't take the type; views become strings."""
    column = without_views(column)
    try:
        chunks = column.take(rows).chunks
    except pa.ArrowNotImplementedError:  # views within messages
        chunks = [column.slice(row, 1).chunk(0) for row in rows.to_pylist()]
    return pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))


def parent_rows(lists: pa.Array) -> pa.Array:
    """Return the number (int64) of the list of each item that `lists.flatten()` gives.

    pyarrow's own `list_parent_indices` counts items that stand below a null list, and `flatten` leaves them out.
    """
    rows = pc.list_parent_indices(lists).cast(pa.int64())
    return rows.filter(lists.is_valid().take(rows)) if lists.null_count else rows


def message_texts(prompts: pa.Array) -> list[tuple[pa.Array, pa.Array | None]] | None:
    """Return the texts of a column with the numbers of their requests (None: one each); None if it may hold parts."""
    if is_text(prompts.type):
        return [(without_views(prompts), None)]
    if not is_list(prompts.type) or not types.is_struct(prompts.type.value_type):
        return None
    fields = {field.name: field.type for field in prompts.type.value_type}
    names = [name for name in _TEXT_KEYS if name in fields and is_text(fields[name])]
    if any(map(types.is_nested, fields.values())) or not names or (len(names) > 1 and "role" not in fields):
        return None
    messages, parents = prompts.flatten(), parent_rows(prompts)
    return [(without_views(pc.struct_field(messages, name)), parents) for name in names]


@dataclass(frozen=True)
class RequestFilter:
    """Keeps the requests of one label, given as text, and of one turn; None keeps all.

    A row of several turns that can't be rendered has no turn, and is kept.
    """

    label: str | None = None
    turn: int | None = None

    def apply(self, batch: RequestBatch) -> RequestBatch:
        """Return the requests of a batch that are kept."""
        mask = None
        if self.label is not None and batch.labels is not None:
            mask = pc.equal(batch.labels.cast(pa.string()), self.label)
        if self.turn is not None and batch.turns is not None:
            of_turn = pc.equal(batch.turns, self.turn)
            if batch.errors is not None:
                of_turn = pc.coalesce(of_turn, batch.errors.is_valid())
            mask = of_turn if mask is None else pc.and_(mask, of_turn)
        return batch if mask is None else batch.take(pc.indices_nonzero(pc.fill_null(mask, False)))


@dataclass
class Matches:
    """The numbers of requests that were searched, that match and that can't be rendered; and the first that match."""

    requests: int = 0
    matching: int = 0
    first: list[RequestId] = field(default_factory=list)
    failed: FailedRows = field(default_factory=FailedRows)
    """The rows that can't be rendered."""


def matching(source: PromptSource, pattern: re.Pattern[str], limit: int, kept: RequestFilter) -> Matches:
    """Search the texts of all kept requests, each message without its role, and keep the first `limit` matches."""
    return _chosen(source, limit, kept, lambda batch: _matching_rows(source, batch, pattern))


def failing(source: PromptSource, limit: int, kept: RequestFilter) -> Matches:
    """Find the kept requests that can't be rendered, and keep the first `limit` of them."""
    return _chosen(source, limit, kept, lambda batch: batch.failed.to_pylist())


def _chosen(
    source: PromptSource, limit: int, kept: RequestFilter, choose: Callable[[RequestBatch], list[int]]
) -> Matches:
    """Choose requests of each batch by their positions, and keep the first `limit`."""
    out = Matches()
    for batch in map(kept.apply, source.requests()):
        rows = choose(batch)
        out.requests += len(batch)
        out.matching += len(rows)
        out.failed.add(batch.samples, batch.errors)
        remembered = rows[: limit - len(out.first)]
        if remembered:
            out.first += batch.take(pa.array(remembered, pa.int64())).ids()
    return out


def _matching_rows(source: PromptSource, batch: RequestBatch, pattern: re.Pattern[str]) -> list[int]:
    columns = None if may_be_json(source, batch) else message_texts(batch.prompts)
    if columns is None:
        prompts = (None if value is None else source.request(value, 0) for value in to_pylist(batch.prompts))
        return [row for row, prompt in enumerate(prompts) if prompt is not None and match_marks(prompt, pattern)]
    plain = not _SPECIAL.search(pattern.pattern) and pattern.flags == re.UNICODE
    rows: set[int] = set()
    for texts, parents in columns:
        if plain:
            matches = pc.indices_nonzero(pc.fill_null(pc.match_substring(texts, pattern.pattern), False))
        else:
            search, values = pattern.search, enumerate(texts.to_pylist())
            matches = pa.array([index for index, text in values if text is not None and search(text)])
        if parents is not None and len(matches):
            matches = parents.take(matches)
        rows.update(matches.to_pylist())
    return sorted(rows)


def may_be_json(source: PromptSource, batch: RequestBatch) -> bool:
    """Return true if texts are messages in JSON, so that a prompt's text isn't the text of its column."""
    if not len(batch) or not is_text(batch.prompts.type):
        return False
    first = batch.prompts[pc.index(batch.prompts.is_valid(), True).as_py()].as_py()
    return first is not None and source.request(first, 0).messages is not None


def match_marks(prompt: Prompt, pattern: re.Pattern[str]) -> list[TextMark]:
    """Return a mark for each match of a pattern in a prompt, empty matches included."""
    out: list[TextMark] = []
    for text in prompt.texts():
        out += [(text.number, text.part, (*match.span(), "match")) for match in pattern.finditer(text.text)]
    return out


def text_bytes(prompts: pa.Array, is_json: bool) -> pa.Array:
    """Return the bytes of the texts of each request."""
    return _core.request_sizes(prompts, is_json)[0]


def extremes(
    source: PromptSource, count: int, kept: RequestFilter, measure: Measure = text_bytes, *, longest: bool
) -> Matches:
    """Find the longest or the shortest requests by what `measure` returns; among equal ones the first come first."""
    best: list[tuple[int, int, RequestId]] = []
    out = Matches()
    sign = -1 if longest else 1
    for batch in map(kept.apply, source.requests()):
        sizes = pc.multiply(measure(batch.prompts, may_be_json(source, batch)).cast(pa.int64()), sign)
        rows = pc.sort_indices(sizes).slice(0, min(count, len(sizes) - sizes.null_count))  # stable, nulls at the end
        positions = [out.requests + row for row in rows.to_pylist()]
        best += zip(sizes.take(rows).to_pylist(), positions, batch.take(rows).ids(), strict=True)
        best = sorted(best, key=lambda entry: entry[:2])[:count]
        out.requests += len(batch)
        out.failed.add(batch.samples, batch.errors)
    out.first = [request for _, _, request in best]
    out.matching = len(out.first)
    return out
