"""Some samples with their requests, the texts within both, and values that several checks share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa
from promptpress import RenderError, to_pylist
from promptpress.engine import core as _core
from promptpress.engine import sample_numbers
from promptpress.engine.core import RenderedRows
from promptpress.engine.tables import is_json, is_text, json_texts, without_views
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import text_parts
from pyarrow import types

from promptpress_workbench.audit.findings import sorted_unique
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject, TemplateSubject
from promptpress_workbench.prompts.prompt_source import message_texts, parent_rows

Value = TypeVar("Value")

_NAME = re.compile(r"[\w .-]*")
"""The names of fields that hold nothing to look for."""


class shared_property(Generic[Value]):  # noqa: N801 - used like functools.cached_property
    """A `functools.cached_property` with a lock for each object and property: other threads wait for the value."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Value:
        if instance is None:
            return self  # type: ignore[return-value]  # the class shows the property itself
        attributes = instance.__dict__
        # An attribute of the instance hides this descriptor, so this runs until the value is there.
        with attributes.setdefault(f"_{self._name}_lock", Lock()):
            if self._name not in attributes:
                attributes[self._name] = self._compute(instance)
        value: Value = attributes[self._name]
        return value


class Texts(NamedTuple):
    """Some texts, with the row of each."""

    array: pa.Array
    """The texts, as strings."""
    parents: pa.Array | None
    """The row of each text (int64), ascending; None if each row has one text."""

    def rows(self, numbers: pa.Array) -> pa.Array:
        """Return the rows of some texts, which are given by number."""
        return numbers.cast(pa.int64()) if self.parents is None else self.parents.take(numbers)

    def spread(self, values: pa.Array) -> pa.Array:
        """Return for each text the value of its row."""
        return values if self.parents is None else values.take(self.parents)

    def of_rows(self, mask: pa.Array) -> Texts:
        """Keep the texts of the rows that a mask marks."""
        if self.parents is None:
            return Texts(self.array.filter(mask), pc.indices_nonzero(mask).cast(pa.int64()))
        kept = mask.take(self.parents)
        return Texts(self.array.filter(kept), self.parents.filter(kept))


def texts_within(array: pa.Array, parents: pa.Array | None = None) -> Iterator[Texts]:
    """Yield the texts of a column (`parents` has the rows), also in lists and structs, and odd names of fields."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from texts_within(array.storage, parents)
    elif is_text(kind):
        yield Texts(without_views(array), parents)
    elif types.is_dictionary(kind):
        if is_text(kind.value_type):
            values = without_views(array.dictionary)
            yield Texts(pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode(), parents)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if _may_hold_text(kind):
            rows = parent_rows(array)
            yield from texts_within(array.flatten(), rows if parents is None else parents.take(rows))
    elif types.is_struct(kind):
        for index in range(kind.num_fields):
            name = kind.field(index).name
            if not _NAME.fullmatch(name):
                rows = pc.indices_nonzero(array.is_valid()).cast(pa.int64())
                names = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), pa.array([name]))
                yield Texts(names.dictionary_decode(), rows if parents is None else parents.take(rows))
            if _may_hold_text(kind.field(index).type):
                yield from texts_within(pc.struct_field(array, [index]), parents)


def texts_in_json(array: pa.Array) -> Texts:
    """Return the texts within a column whose values are JSON; a value that is none is a text itself."""
    values, parents = [], []
    for number, value in enumerate(to_pylist(array)):
        remaining: list[Any] = [] if value is None else [value]
        with suppress(ValueError, RecursionError):
            remaining = [json.loads(text) for text in remaining]
        while remaining:
            item = remaining.pop()
            if isinstance(item, str):
                values.append(item)
                parents.append(number)
            elif isinstance(item, (list, dict)):
                remaining += reversed([*item, *item.values()] if isinstance(item, dict) else item)
    return Texts(pa.array(values, pa.large_string()), pa.array(parents, pa.int64()))


def _may_hold_text(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    if types.is_union(kind):
        return False  # pyarrow ends the process when it takes a union out of a struct with nulls
    return is_text(kind) or any(_may_hold_text(kind.field(index).type) for index in range(kind.num_fields))


def request_texts(prompts: pa.Array, *, is_json: bool) -> list[Texts]:
    """Return the texts of requests, or of their messages without roles and payloads of media."""
    columns = None if is_json else message_texts(prompts)
    if columns is not None:
        return [Texts(texts, None if rows is None else rows.cast(pa.int64())) for texts, rows in columns]
    values, parents = [], []
    for number, request in enumerate(to_pylist(prompts)):
        for text in text_parts(request, is_json=is_json):
            values.append(text)
            parents.append(number)
    return [Texts(pa.array(values, pa.large_string()), pa.array(parents, pa.int64()))]


class Requests:
    """Requests of some samples, with the number of each one's sample; they may be messages written as JSON."""

    def __init__(self, prompts: pa.Array, samples: pa.Array, *, is_json: bool = False) -> None:
        self.prompts = prompts
        self.samples = samples
        self._is_json = is_json

    @shared_property
    def texts(self) -> list[Texts]:
        """The texts of `prompts`, whose rows are the numbers of the requests in this part."""
        return request_texts(self.prompts, is_json=self._is_json)

    @property
    def message_texts(self) -> list[Texts]:
        """The texts of the messages before a chat template, whose rows are the numbers of the requests."""
        return self.texts


class ConfiguredRequests(Requests):
    """The requests of some samples, as a configuration renders them."""

    def __init__(self, subject: ConfiguredSubject, part: RenderedRows, samples: pa.Table) -> None:
        self._subject = subject
        self._samples = samples
        self._is_json = subject.is_json
        self.part = part

    @shared_property
    def prompts(self) -> pa.Array:
        """The requests after a chat template."""
        subject = self._subject
        return subject.engine.prompts(self.part, subject.requests_per_sample, self._samples, subject.lacking)

    @shared_property
    def samples(self) -> pa.Array:
        """The number of each request's sample among all samples."""
        return sample_numbers(self.part, self._subject.requests_per_sample)

    @property
    def messages(self) -> pa.Array:
        """The requests before a chat template."""
        return self.part.prompts

    @shared_property
    def message_texts(self) -> list[Texts]:
        """The texts of `messages`, whose rows are the numbers of the requests in this part."""
        if self._subject.engine.chat is None:
            return self.texts
        return request_texts(self.messages, is_json=False)


class Columns:
    """Rows, and the texts within their columns; the base of samples and of the rows of examples."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.samples = rows
        self._texts: dict[str, list[Texts]] = {}
        self._reading = Lock()

    def column(self, name: str) -> pa.Array:
        return self.samples.column(self.samples.schema.get_field_index(name))

    def texts(self, name: str) -> list[Texts]:
        """Return the texts within a column, with the numbers of their rows in this batch."""
        with self._reading:  # checks of other threads wait for the finished list
            if name not in self._texts:
                self._texts[name] = self._read_texts(name)
            return self._texts[name]

    def _read_texts(self, name: str) -> list[Texts]:
        return list(texts_within(self.column(name)))

    @property
    def names(self) -> list[str]:
        """The columns whose values requests show."""
        raise NotImplementedError

    def visible_rows(self, name: str, rows: pa.Array) -> pa.Array:
        """Keep the rows of this batch, ascending, in which a request shows the value of a column of `names`."""
        raise NotImplementedError

    def visible_texts(self, name: str, texts: Texts, numbers: pa.Array) -> pa.Array:
        """Keep the texts within a column of `names`, given by number and ascending, that a request shows."""
        rows = texts.rows(numbers)
        unique = pc.unique(rows)
        kept = self.visible_rows(name, unique)
        return numbers if len(kept) == len(unique) else numbers.filter(pc.is_in(rows, value_set=kept))

    def matches(self, name: str, find: Callable[[pa.Array], pa.RecordBatch]) -> Iterator[tuple[Texts, pa.RecordBatch]]:
        """Yield a column's texts with what `find` finds in those that are shown; texts without any are left out."""
        for texts in self.texts(name):
            matches = find(texts.array)
            if len(matches):
                numbers = pc.unique(matches.column(0))
                visible = self.visible_texts(name, texts, numbers)
                if len(visible) < len(numbers):
                    matches = matches.filter(pc.is_in(matches.column(0), value_set=visible))
            if len(matches):
                yield texts, matches

    def is_flat(self, name: str) -> bool:
        """Return true if a column's values are texts themselves, so that bytes of a text are bytes of the value."""
        kind = self.samples.schema.field(name).type
        return is_text(kind.value_type if types.is_dictionary(kind) else kind)

    def row_numbers(self, rows: pa.Array) -> pa.Array:
        """Return the numbers of rows of this batch as users count them, ascending and each once."""
        return sorted_unique(rows)


class RequestContent(NamedTuple):
    """The columns, examples and literals that the requests of some samples show, as the renderer's plans say."""

    columns: dict[str, pa.Array | None]
    """The samples' columns in the schema's order, each with a mask of the rows that show it; None for all rows."""
    examples: pa.Array | None
    """A mask of the rows that show examples; None for all rows."""
    literals: list[str]
    """The literals of each plan outside examples, with a NUL where anything else stands between two of them."""
    plans: pa.Array | None
    """The number of each request's plan; None if each label has one plan."""


class Batch(Columns):
    """Some samples with their requests. `first` is the number of the first sample."""

    def __init__(self, subject: Subject, samples: pa.RecordBatch, first: int) -> None:
        super().__init__(samples)
        self.subject = subject
        self.first = first

    @property
    def requests(self) -> Sequence[Requests]:
        """The requests of the samples, in parts; they are rendered when they are first read."""
        raise NotImplementedError

    @property
    def unknown_rows(self) -> pa.Array:
        """The numbers in this batch of the rows whose origins aren't known."""
        return pa.array([], pa.int64())

    @property
    def content(self) -> RequestContent:
        """The content of these samples' requests."""
        raise NotImplementedError

    @property
    def spans(self) -> list[pa.Array]:
        """The detailed spans of the requests of each part."""
        raise NotImplementedError

    def explained(self, row: int) -> list[dict[str, Any]]:
        """Return the spans of a sample's first request before a chat template; none if it can't be explained."""
        raise NotImplementedError

    @property
    def names(self) -> list[str]:
        return list(self.content.columns)

    def _read_texts(self, name: str) -> list[Texts]:
        """Read the texts of the rows whose requests show them, because those of other rows needn't be texts."""
        mask = self.content.columns.get(name)
        texts = super()._read_texts(name)
        return texts if mask is None else [part.of_rows(mask) for part in texts]

    def visible_rows(self, name: str, rows: pa.Array) -> pa.Array:
        mask = self.content.columns[name]
        return rows if mask is None or not len(rows) else rows.filter(mask.take(rows))

    def visible_texts(self, name: str, texts: Texts, numbers: pa.Array) -> pa.Array:
        numbers = super().visible_texts(name, texts, numbers)
        if not len(numbers) or self.is_flat(name) or not self.subject.is_conversation:
            return numbers
        # Requests needn't show all turns of a conversation: the last answer, for example.
        rows = texts.rows(numbers).to_pylist()
        searched = pa.array(set(rows), pa.int64())
        requests: dict[int, list[str]] = {row: [] for row in rows}
        for part in self.requests:
            samples = pc.subtract(part.samples, self.first)
            for texts_of in part.message_texts:
                parents = texts_of.spread(samples)
                kept = pc.is_in(parents, value_set=searched)
                pairs = zip(parents.filter(kept).to_pylist(), texts_of.array.filter(kept).to_pylist(), strict=True)
                for row, text in pairs:
                    requests[row].append(text or "")
        # A chat template may trim a text.
        values = pc.utf8_trim_whitespace(texts.array.take(numbers)).to_pylist()
        is_shown = [
            any(form in text for form in _written_forms(value) for text in requests[row])
            for row, value in zip(rows, values, strict=True)
        ]
        return numbers.filter(pa.array(is_shown))

    @shared_property
    def answers(self) -> pa.Array:
        """A hash of each sample's answer; null if there is no column of answers."""
        name = self.subject.output_column
        if name is None:
            return pa.nulls(self.samples.num_rows, pa.binary())
        return _core.content_hashes(pa.table({name: self.column(name)}), False).cast(pa.binary())

    def row_numbers(self, rows: pa.Array) -> pa.Array:
        return pc.add(super().row_numbers(rows), self.first)


def _written_forms(value: str) -> set[str]:
    """Return a text as it is, and as JSON and Python write it within quotes."""
    return {value, *(text[1:-1] for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)))}


class ConfiguredBatch(Batch):
    """Some samples with their requests, as a configuration renders them.

    `core_table` and `python_text` are the samples as the core reads them, `position` is that of the first sample in the
    stream, and `rendered` that after the last sample that was rendered, with the number of rows with filled values.
    """

    def __init__(
        self,
        subject: ConfiguredSubject,
        samples: pa.RecordBatch,
        first: int,
        *,
        core_table: pa.Table,
        python_text: Callable[..., Any],
        position: _core.StreamState,
        rendered: _core.StreamState,
    ) -> None:
        super().__init__(subject, samples, first)
        self.subject: ConfiguredSubject = subject
        self.core_table, self.python_text, self._position = core_table, python_text, position
        self._rendered = rendered
        self._fills_values: bool | None = None

    @property
    def position(self) -> _core.StreamState:
        """A copy, because rendering moves a position."""
        return self._position.copy()

    @shared_property
    def requests(self) -> Sequence[ConfiguredRequests]:
        core, state = self.subject.core, self._rendered
        core.skip(state, self.first - state.rows)
        filled, *_ = state.filled
        parts = core.render(self.core_table, self.subject.labels, state, False, self.python_text)
        more, _, is_partial = state.filled
        self._fills_values = more > filled or is_partial
        samples = pa.Table.from_batches([self.samples])
        slices = [samples.slice(part.start - self.first, part.rows) for part in parts]
        return [ConfiguredRequests(self.subject, part, rows) for part, rows in zip(parts, slices, strict=True)]

    @property
    def may_fill_values(self) -> bool:
        """True if braces in values may change requests: false is known once the requests are rendered."""
        return self.subject.is_harness and self._fills_values is not False

    @shared_property
    def divergence(self) -> tuple[pa.Array, pa.Array]:
        """The numbers in this batch of the rows whose prompt depends on braces in values, and the columns of each."""
        rows = self.subject.core.divergence(self.core_table, self.subject.labels, self.python_text)
        return rows.column(0), rows.column(1)

    @shared_property
    def content(self) -> RequestContent:
        copies = not self.may_fill_values
        columns, examples, literals, plans = _core.shown_columns(
            self.subject.core, self.core_table, self.subject.labels, self.position, copies, self.python_text
        )
        masks = dict(columns)
        in_order = {name: masks[name] for name in self.core_table.column_names if name in masks}
        return RequestContent(in_order, examples, literals, plans)

    @shared_property
    def spans(self) -> list[pa.Array]:
        core, labels = self.subject.core, self.subject.labels
        parts = core.render(self.core_table, labels, self.position, False, self.python_text, True)
        return [part.spans for part in parts]

    def explained(self, row: int) -> list[dict[str, Any]]:
        core, labels = self.subject.core, self.subject.labels
        try:
            spans = core.explain(self.core_table, row - self.first, labels, None, None, self.python_text, self.first)
        except RenderError:
            return []
        return spans.to_pylist()  # type: ignore[no-any-return]


class TemplateBatch(Batch):
    """Some rows with the texts of a template, and their detailed spans if a check reads columns."""

    def __init__(
        self, subject: TemplateSubject, samples: pa.RecordBatch, first: int, prompts: pa.Array, spans: pa.Array | None
    ) -> None:
        super().__init__(subject, samples, first)
        self.subject: TemplateSubject = subject
        self._prompts, self._spans = prompts, spans

    @shared_property
    def requests(self) -> Sequence[Requests]:
        return [Requests(self._prompts, _core.repeated_rows(self.first, len(self._prompts), 1))]

    def _read_texts(self, name: str) -> list[Texts]:
        column = self.column(name)
        is_conversation = name == self.subject.engine.value_reading.column
        if is_conversation and is_json(self.samples.schema.field(name)):
            return [texts_in_json(json_texts(column))]
        return [texts_in_json(column)] if is_conversation and is_text(column.type) else super()._read_texts(name)

    @property
    def spans(self) -> list[pa.Array]:
        return [self._spans]

    @shared_property
    def unknown_rows(self) -> pa.Array:
        """The numbers in this batch of the rows that Jinja2 rendered, whose origins aren't known."""
        return self._rows_with("source", "jinja2")

    @shared_property
    def content(self) -> RequestContent:
        """The columns that the texts show; if a text may show any column that the template reads, all of them."""
        every = pa.concat_arrays([self.unknown_rows, self._rows_with("source", "computed")])
        columns: dict[str, pa.Array | None] = {}
        rows = pa.array(range(self.samples.num_rows), pa.int64())
        for name in self.subject.template_columns:
            matches = pa.concat_arrays([every, self._rows_with("column", name)])
            columns[name] = pc.is_in(rows, value_set=pc.unique(matches))
        return RequestContent(columns, None, self.subject.engine.sources, None)

    def _rows_with(self, name: str, value: str) -> pa.Array:
        """Return the rows with a span one of whose fields has a value, ascending, maybe repeated."""
        (all_spans,) = self.spans
        fields = pc.struct_field(all_spans.flatten(), name)
        index = pc.index(fields.dictionary, pa.scalar(value, pa.string())).as_py()
        matches = pc.indices_nonzero(pc.fill_null(pc.equal(fields.indices, index), False))
        return pc.list_parent_indices(all_spans).cast(pa.int64()).take(matches)

    def explained(self, row: int) -> list[dict[str, Any]]:
        """Return the spans of a row's text. A row that Jinja2 rendered has none with a column."""
        spans: list[dict[str, Any]] = self.spans[0][row - self.first].as_py()
        return spans
