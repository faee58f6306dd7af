"""Runs of configured renderers: samples through the compiled configuration, with a budget of tokens or without.

With a budget, a block of samples is rendered with all examples, as without one. The samples whose requests are too long
are rendered once more with one example less, by a column that says which examples each sample has, and so on. At the
end the requests are put into the samples' order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from promptpress._arrow.core_tables import for_core
from promptpress._arrow.python_values import to_pylist, values_of
from promptpress._arrow.take import rows_in_any_order, take_rows
from promptpress._config.configuration import Configuration
from promptpress._core import RenderedRows, RenderError, StreamState
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run, sample_numbers
from promptpress._engine.table_engine import CHOSEN_EXAMPLES
from promptpress._errors.errors import ABOUT_THE_TABLE, of_row

if TYPE_CHECKING:
    from promptpress._engine.chat_stage import ChatStage

SHOT_COLUMNS = {"n_shots": pa.int32(), "truncated": pa.bool_()}
"""The types of the columns that say what is left of each request, keyed by their usual names."""

_ROWS = 4096
"""Samples that are rendered and counted together, so that memory doesn't grow with the table."""

_COUNTED = ("text", "messages")
"""The output forms whose requests a harness counts."""

_KEPT_OF_RETRIEVERS = ("ice_separator", "ice_eos_token", "prompt_eos_token")
"""The keys of a retriever that don't say which examples it chooses."""


class ConfiguredRun(Run):
    """Renders samples by a configuration."""

    def __init__(
        self,
        configuration: Configuration,
        chat: ChatStage | None,
        labels: list[Any] | None,
        options: RenderOptions,
        first: int = 0,
        *,
        counts: bool = False,
    ) -> None:
        super().__init__(first)
        self.configuration = configuration
        self.chat = chat
        self.labels = labels
        self.options = options
        self.position = StreamState(counts)
        if labels is not None:
            self.times = len(labels)
        if first:
            configuration.core.skip(self.position, first)

    @property
    def writes_json(self) -> bool:
        return self.configuration.writes_json

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[RenderedRows | Part]:
        """Render the next samples; those between them and the last ones count as rendered."""
        if first > self.position.rows:
            self.configuration.core.skip(self.position, first - self.position.rows)
        core_table, python_text = for_core(table, first)
        options, hashes, detail = self.options, self.options.hashes, self.options.span_detail
        if self.chat is not None:
            # The hashes are those of the texts, and their spans need to know which message is whose.
            hashes, detail = False, None if detail is None else True
        outcomes = self.configuration.core.render(
            core_table, self.labels, self.position, single, python_text, detail, hashes, options.collects_errors
        )
        # What was read is let go before it is written: a batch may be most of the memory there is.
        samples = None if self.chat is None else table
        del table, core_table, python_text
        outcomes.reverse()
        while outcomes:
            if self.chat is None or samples is None:
                yield outcomes.pop()
            else:
                part = outcomes.pop()
                rows = samples.slice(part.start - first, part.rows)
                yield self.chat.finished(part, self.times, options, rows, lacking=self.lacking)


@dataclass(frozen=True)
class ShotFit:
    """A budget of tokens, and the rule by which examples are left out.

    Args:
        counter: The `Encoder` that counts tokens.
        limit: The most tokens of a request.
        drops: The end of a sample's list of examples from which examples are left out; None: none is.
        labels: `"each"` fits each label's request alone; `"jointly"` gives all labels of a sample the same examples;
            `"in_turn"` fits label after label, and what is left out for one stays out for the next.
        is_harness: True if tokens are counted as the harness counts them: with special tokens; and of messages, in one
            text of all.
        names: Other names of the columns, keyed by the usual ones.
    """

    counter: Any
    limit: int
    drops: Literal["first", "last"] | None
    labels: Literal["each", "jointly", "in_turn"]
    is_harness: bool
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> list[pa.Field]:
        """The fields of the columns, by the names that they shall have."""
        return [pa.field(self.names.get(name, name), data_type) for name, data_type in SHOT_COLUMNS.items()]

    def shorter(self, examples: list[int]) -> list[int]:
        """Return a list of examples without the one that is left out first."""
        return examples[1:] if self.drops == "first" else examples[:-1]

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.counter.digest, self.limit, self.drops, self.labels, self.is_harness

    def fingerprint(self, inner: str) -> str:
        """Return the fingerprint of a renderer with this budget."""
        return hashlib.sha256(json.dumps([inner, *self._key]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShotFit):
            return NotImplemented
        return self._key == other._key and dict(self.names) == dict(other.names)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"ShotFit(limit={self.limit}, drops={self.drops!r}, labels={self.labels!r})"


class ExampleChoices:
    """The examples that a configuration chooses for samples, by their positions."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._drawn: pa.Array | None = None

    @property
    def has_any(self) -> bool:
        """True if a sample may have examples."""
        core = self._configuration.core
        if core.by_position or core.index_column is not None:
            return True
        choice = core.retrieve(1)
        return choice is not None and bool(choice[0].as_py())

    def of_samples(self, table: pa.Table, first: int) -> list[list[int]]:
        """Return the examples of each sample; none for a sample whose own list can't be read."""
        core = self._configuration.core
        if core.index_column is not None:
            chosen = values_of(table, core.index_column)
            return [examples if isinstance(examples, list) else [] for examples in chosen]
        if not core.by_position:
            choice = core.retrieve(1)
            return [choice[0].as_py()] * len(table) if choice is not None else [[]] * len(table)
        stop = first + len(table)
        if self._drawn is None or stop > len(self._drawn):
            # Each draw goes on from the sample before. Drawing for twice as many saves most of the repetition.
            self._drawn = core.retrieve(stop if not first else 2 * stop)
        assert self._drawn is not None
        return list(self._drawn.slice(first, len(table)).to_pylist())


def chosen_configuration(configuration: Configuration) -> tuple[Configuration, str]:
    """Return a configuration that takes each sample's examples from a column, and the name of the column."""
    column = configuration.core.index_column
    if column is not None:
        return configuration, column
    if not ExampleChoices(configuration).has_any:
        return configuration, CHOSEN_EXAMPLES
    retriever = dict(configuration.settings["retriever"] or {})
    kept = {name: retriever[name] for name in _KEPT_OF_RETRIEVERS if name in retriever}
    chosen = {"type": "IndexColumn", "column": CHOSEN_EXAMPLES, **kept}
    return configuration.changed(retriever=chosen), CHOSEN_EXAMPLES


@dataclass
class _Fitting:
    """The requests of a part while they are fitted."""

    start: int
    samples: pa.Table
    examples: list[list[int]]
    requests: list[list[int]]
    """The numbers of each sample's requests in the part."""
    renderings: list[RenderedRows | Part]
    """The part, and its samples with fewer examples."""
    sources: list[int]
    """The number of each request among those of all renderings."""


class FittedRun(ConfiguredRun):
    """Renders samples by a configuration, with as many examples as fit."""

    def __init__(
        self,
        configuration: Configuration,
        chat: ChatStage | None,
        labels: list[Any] | None,
        options: RenderOptions,
        first: int = 0,
        *,
        fit: ShotFit,
        chosen: tuple[Configuration, str],
        counts: bool = False,
    ) -> None:
        super().__init__(configuration, chat, labels, options, first, counts=counts)
        self._fit = fit
        self._chosen = chosen
        self._choices = ExampleChoices(configuration)
        self._column: str | None = None
        is_text = chat is not None or configuration.core.settings["output"] == "text"
        if not is_text and configuration.core.index_column is None and self._choices.has_any:
            # The type of messages may depend on whether a sample can be without examples.
            self.configuration, self._column = chosen
        is_counted = chat is None and configuration.core.settings["output"] in _COUNTED
        self._counted = self._counted_run(configuration, first) if fit.is_harness and not is_counted else None

    def _counted_run(self, configuration: Configuration, first: int = 0) -> ConfiguredRun:
        """Return a run whose requests are those that a harness counts, whatever becomes of them later."""
        if self.chat is None:
            configuration = configuration.changed(output=None, roles=None)
        options = RenderOptions(errors="column" if self.options.collects_errors else "raise")
        return ConfiguredRun(configuration, None, self.labels, options, first)

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[RenderedRows | Part]:
        step = max(table.num_rows if single else _ROWS, 1)
        for start in range(0, max(table.num_rows, 1), step):
            rows, number = table.slice(start, step), first + start
            choices = self._choices.of_samples(rows, number)
            if self._column is not None:
                rows = with_examples(rows, self._column, choices)
            counted = None if self._counted is None else self._counted.parts(rows, number, single=single)
            for part in super().parts(rows, number, single=single):
                prompts = (part if counted is None else next(counted)).prompts
                begin, end = part.start - number, part.start - number + part.rows
                yield self._fitted(part, prompts, rows.slice(begin, part.rows), choices[begin:end])

    def _fitted(
        self, part: RenderedRows | Part, counted: pa.Array, samples: pa.Table, choices: Sequence[list[int]]
    ) -> Part:
        """Return the requests of a part with as many examples as fit, by those whose tokens are counted."""
        of_requests = sample_numbers(part, self.times).to_pylist()
        requests: list[list[int]] = [[] for _ in range(part.rows)]
        for number, sample in enumerate(of_requests):
            requests[sample - part.start].append(number)
        size = len(of_requests)
        fitting = _Fitting(part.start, samples, list(choices), requests, [part], list(range(size)))
        lengths = dict(enumerate(self._lengths(counted, range(size))))
        shots, is_cut = [0] * size, [False] * size
        pending = dict(enumerate(requests))
        while pending:
            for row, numbers in pending.items():
                for number in numbers:
                    shots[number], is_cut[number] = len(fitting.examples[row]), self._is_too_long(lengths[number])
            pending = {
                row: too_long
                for row, numbers in pending.items()
                if fitting.examples[row] and (too_long := self._too_long(numbers, lengths))
            }
            if pending:
                lengths = self._shortened(fitting, pending)
        return self._part(part, fitting, shots, is_cut)

    def _is_too_long(self, length: int | None) -> bool:
        return length is not None and length > self._fit.limit

    def _too_long(self, numbers: list[int], lengths: Mapping[int, int | None]) -> list[int]:
        """Return the requests of a sample from which a further example is left out, of those that may change."""
        too_long = [number for number in numbers if self._is_too_long(lengths[number])]
        if not too_long or self._fit.drops is None:
            return []
        if self._fit.labels == "jointly":
            return numbers
        # In turn, a label that is too long leaves out an example for itself and all that follow.
        return numbers[numbers.index(too_long[0]) :] if self._fit.labels == "in_turn" else too_long

    def _shortened(self, fitting: _Fitting, pending: Mapping[int, list[int]]) -> dict[int, int | None]:
        """Render samples with one example less; return the number of tokens of each of their pending requests."""
        for row in pending:
            fitting.examples[row] = self._fit.shorter(fitting.examples[row])
        configuration, column = self._chosen
        rows, schema = pa.array(pending, pa.int64()), fitting.samples.schema
        columns = [pa.chunked_array(take_rows(values, rows), values.type) for values in fitting.samples.columns]
        table = with_examples(pa.table(columns, schema=schema), column, [fitting.examples[row] for row in pending])
        try:
            parts = list(ConfiguredRun(configuration, self.chat, self.labels, self.options).parts(table, 0))
            counted = parts
            if self._counted is not None:
                counted = list(self._counted_run(configuration).parts(table, 0))
        except RenderError as error:
            if error.row is None or error.code in ABOUT_THE_TABLE:
                raise
            raise of_row(error, fitting.start + list(pending)[error.row]) from error.__cause__
        # Requests follow each other as in the part, sample after sample.
        of_samples = [number for row in pending for number in fitting.requests[row]]
        is_pending = {number for numbers in pending.values() for number in numbers}
        lengths: dict[int, int | None] = {}
        begin, size = 0, sum(len(rendering.prompts) for rendering in fitting.renderings)
        for of_counted in counted:
            of_part = of_samples[begin : begin + len(of_counted.prompts)]
            indices = [index for index, number in enumerate(of_part) if number in is_pending]
            for index, length in zip(indices, self._lengths(of_counted.prompts, indices), strict=True):
                lengths[of_part[index]], fitting.sources[of_part[index]] = length, size + begin + index
            begin += len(of_part)
        fitting.renderings += parts
        return lengths

    def _lengths(self, prompts: pa.Array, wanted: Sequence[int]) -> list[int | None]:
        """Count the tokens of some requests; None where there is no request, because of an error."""
        if len(wanted) < len(prompts):
            prompts = rows_in_any_order(pa.chunked_array([prompts]), pa.array(wanted, pa.int64()))
        texts = [_texts(value) for value in to_pylist(prompts)]
        special: bool | None = True if self._fit.is_harness else None
        flat = [text for of_request in texts if of_request is not None for text in of_request]
        if self.chat is not None:
            special = False
            if self._fit.is_harness:
                flat = self.chat.of_users(flat)
        counts = iter(self._fit.counter.counts(flat, special))
        return [None if of_request is None else _sum([next(counts) for _ in of_request]) for of_request in texts]

    def _part(self, part: RenderedRows | Part, fitting: _Fitting, shots: Sequence[int], is_cut: Sequence[bool]) -> Part:
        """Return a part with the fitted requests, and what is left of each."""
        names = ("prompts", "errors", "spans", "hashes")
        prompts, errors, spans, hashes = (getattr(part, name) for name in names)
        if len(fitting.renderings) > 1:
            sources = pa.array(fitting.sources, pa.int64())
            prompts, errors, spans, hashes = (
                _chosen([getattr(rendering, name) for rendering in fitting.renderings], sources) for name in names
            )
        has_prompt = prompts.is_valid().to_pylist()
        more = [
            pa.array([value if has else None for value, has in zip(values, has_prompt, strict=True)], data_type)
            for values, data_type in zip((shots, is_cut), SHOT_COLUMNS.values(), strict=True)
        ]
        return Part.of(part, prompts, errors, spans=spans, hashes=hashes, more=more)


def _chosen(arrays: Sequence[Any], sources: pa.Array) -> Any:
    """Return some rows of arrays that are put together; None if there are none."""
    if arrays[0] is None:
        return None
    return rows_in_any_order(pa.chunked_array(list(arrays), arrays[0].type), sources)


def with_examples(table: pa.Table, column: str, examples: Sequence[list[int]]) -> pa.Table:
    """Return samples with a column of their examples, in the place of one of that name."""
    chosen = pa.array(examples, pa.list_(pa.int64()))
    if column in table.column_names:
        return table.set_column(table.column_names.index(column), column, chosen)
    return table.append_column(column, chosen)


def _texts(request: Any) -> list[str] | None:
    """Return the texts of a request whose tokens are counted; None if there is no request, because of an error.

    Messages are one text, as the harness prints a list of them; raw messages are a text each, that of their dict.
    """
    if request is None or isinstance(request, str):
        return None if request is None else [request]
    if any(isinstance(message, dict) and "content" in message for message in request):
        return [str(message) for message in request]
    return ["".join(message if isinstance(message, str) else message.get("prompt", "") for message in request)]


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)
