"""The engine of `Renderer`: a configuration, and maybe a chat template for its messages and a budget of tokens."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.columns import is_text
from promptpress._arrow.core_tables import check_values, for_core
from promptpress._arrow.python_rows import EXACT, OF_HARNESS, ValueReading
from promptpress._config.configuration import Configuration, labels_of
from promptpress._config.tokenizer import EncodedRequests
from promptpress._engine.configured_run import ConfiguredRun, FittedRun, ShotFit, chosen_configuration
from promptpress._engine.notes import (
    LastRun,
    MisspeltColumn,
    checked_notes,
    find_notes,
    misspelt_in,
    warn_of_no_rows,
    warning_text,
)
from promptpress._engine.options import RenderOptions, with_distinct_names
from promptpress._engine.rendering import RenderedLines, Run, rendered_lines
from promptpress._engine.table_engine import CHOSEN_EXAMPLES, TableEngine, TableRenderer, engine_of
from promptpress._errors.errors import FilledValuesWarning, callers_level, render_error, template_error
from promptpress._errors.left_out import LeftOut
from promptpress.typing import ArrowArrayExportable, ArrowStreamExportable

if TYPE_CHECKING:
    from promptpress._engine.chat_stage import ChatStage

_MOST_SAMPLES = 2**31


class Conversation:
    """The requests of the current turn, and the way to the next. Made by `Renderer.converse`.

    Conversations of one table may have different lengths: those that are over give no more requests.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> talk = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    >>> renderer = Renderer(
    ...     {"type": "MultiTurnPromptTemplate", "template": talk},
    ...     inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every"},
    ...     dialect="aisbench",
    ... )
    >>> samples = pa.table({"question": [["Hi.", "And 2+2?"], ["Bye."]], "answer": [["Hello!", "4"], ["Ciao."]]})
    >>> conversation = renderer.converse(samples)
    >>> conversation.requests["sample"].to_pylist()
    [0, 1]
    >>> print(conversation.reply(["Good day.", "So long."])["prompt"][0])
    Hi.
    Good day.
    And 2+2?
    >>> len(conversation.reply(["Four."]))
    0
    """

    def __init__(self, core: _core.CompiledRenderer, samples: pa.Table, schema: pa.Schema) -> None:
        self._core = core
        check_values(samples)  # the core puts chunks together, which believes all that they say
        self._samples, self._python_text = for_core(samples)
        self._schema = schema
        self._replies: list[list[str]] = [[] for _ in range(len(samples))]
        self._turn = 0
        self._requests = self._render()

    @property
    def requests(self) -> pa.Table:
        """Requests of the current turn, in the columns `sample` (its row, int64), `turn` (int64) and `prompt`.

        The table has no rows when all turns are done.
        """
        return self._requests

    def reply(self, replies: ArrowArrayExportable | ArrowStreamExportable | Iterable[str]) -> pa.Table:
        """Put the model's replies in and go to the next turn.

        Args:
            replies: An Arrow array of strings, one for each of `requests`, in their order.

        Returns:
            The next turn's requests.

        Raises:
            RenderError: If there are more or fewer replies than requests, or one is null or no string; the conversation
                stays where it is.
        """
        try:
            array = replies if isinstance(replies, (pa.Array, pa.ChunkedArray)) else pa.array(replies)
            array.validate(full=True)
            texts = array.to_pylist()
        except (pa.ArrowException, UnicodeError) as error:
            raise render_error("invalid_replies", f"replies: they are no array of strings: {error}") from error
        samples = self._requests.column("sample").to_pylist()
        if len(texts) != len(samples):
            raise render_error(
                "invalid_replies", f"replies: {len(samples)} requests are waiting, but {len(texts)} replies came"
            )
        for sample, text in zip(samples, texts, strict=True):
            if not isinstance(text, str):
                raise render_error("invalid_replies", f"the reply is {text!r}, and a str is needed", row=sample)
        for sample, text in zip(samples, texts, strict=True):
            self._replies[sample].append(text)
        self._turn += 1
        self._requests = self._render()
        return self._requests

    def _render(self) -> pa.Table:
        pending = [replies if len(replies) == self._turn else [] for replies in self._replies]
        replies = pa.array(pending, pa.large_list(pa.large_string()))
        parts = self._core.turn(self._samples, self._turn, replies, self._python_text)
        schema = pa.schema([pa.field("sample", pa.int64()), *list(self._schema)[-2:]])
        arrays = zip(*((part.samples, part.turns, part.prompts) for part in parts), strict=True)
        columns = [pa.chunked_array(list(chunks), field.type) for chunks, field in zip(arrays, schema, strict=True)]
        return pa.Table.from_arrays(columns, schema=schema)


class ConfiguredEngine(TableEngine):
    """Renders samples by a configuration."""

    def __init__(
        self,
        configuration: Configuration,
        chat: ChatStage | None = None,
        fit: ShotFit | None = None,
        *,
        silent: bool = False,
    ) -> None:
        super().__init__()
        self.configuration = configuration
        self.chat = chat
        self.fit = fit
        self.writes_chats = chat is not None
        self.has_roles = chat is not None or configuration.settings["meta_template"] is not None
        self.warnings.silent = silent
        self._checked_output: pa.Schema | None = None
        self._fingerprint: str | None = None
        self._last_run: LastRun | ConfiguredRun | None = None
        self.reports_runs = not silent
        self._has_warned = False

    @property
    def core(self) -> _core.CompiledRenderer:
        """The compiled configuration."""
        return self.configuration.core

    @property
    def value_reading(self) -> ValueReading:
        """Values have the types that a harness's reader gives them, where anything of a harness is given."""
        return OF_HARNESS if self.settings["substitution"] == "harness" else EXACT

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `Renderer`, but for tables, tokens and the chat template."""
        return self.configuration.settings

    @property
    def names(self) -> Mapping[str, str]:
        return {**(self.settings.get("names") or {}), **({} if self.fit is None else self.fit.names)}

    @property
    def chat_template(self) -> TableRenderer[Any] | None:
        return None if self.chat is None else self.chat.template

    @property
    def required_columns(self) -> list[str]:
        of_chat = [] if self.chat is None else self.chat.required_columns
        return list(dict.fromkeys([*self.configuration.required_columns(), *of_chat]))

    @property
    def bounds_batches(self) -> bool:
        return "batch_bytes" in (self.settings.get("limits") or {})

    @property
    def writes_json(self) -> bool:
        return self.configuration.writes_json

    def marked(self) -> TableEngine:
        if self.chat is None:
            return super().marked()
        if self.fit is not None:
            message = (
                "'generation' finds its blocks by marks, which would count as tokens of max_seq_len=; "
                "'assistant+end' needs no marks"
            )
            raise template_error("unsupported_mode", "mask", message)
        return ConfiguredEngine(self.configuration, self.chat.marked(), silent=True)

    def answered(self, column: str) -> TableEngine:
        if self.chat is None:
            return super().answered(column)
        return ConfiguredEngine(self.configuration, self.chat.answered(column), self.fit)

    def changed(self, **settings: Any) -> ConfiguredEngine:
        """Make another engine that differs in some settings."""
        return ConfiguredEngine(self.configuration.changed(**settings), self.chat, self.fit)

    @property
    def unfitted(self) -> ConfiguredEngine:
        """The same engine without a budget."""
        return ConfiguredEngine(self.configuration, self.chat, silent=True)

    @cached_property
    def chosen(self) -> tuple[Configuration, str]:
        """The configuration that takes examples from a column, and the column, as `chosen_configuration` makes them."""
        return chosen_configuration(self.configuration)

    @property
    def shot_fields(self) -> list[pa.Field]:
        return [] if self.fit is None else self.fit.fields

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        fields = list(self.core.output_fields(schema))
        if self.chat is not None:
            fields[-1] = self.chat.field(fields[-1])
        elif self.fit is not None and self.core.settings["output"] != "text":
            configuration, column = self.chosen
            if column not in schema.names:
                schema = schema.append(pa.field(column, pa.list_(pa.int64())))
            fields = list(configuration.core.output_fields(schema))
        if self.fit is None:
            return fields
        self._check_fit(self.fit, fields)
        return with_distinct_names([*fields, *self.shot_fields])

    def _check_fit(self, fit: ShotFit, fields: list[pa.Field]) -> None:
        """Refuse a budget for requests whose tokens aren't known."""
        output = self.core.settings["output"]
        if self.chat is not None or output == "text" or fit.is_harness:
            return
        if is_text(fields[-1].type) and not self.writes_json:
            return
        message = (
            "max_seq_len= is of a text's tokens, and the requests are messages; output='text' writes them as one text, "
            "and chat_template= as the text that a chat model gets"
        )
        raise template_error("unsupported_mode", "output", message)

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:
        if detail is None:
            return None
        if self.chat is not None:
            return self.chat.spans_type(is_detailed=detail)
        return self.core.spans_field(schema, detail).field(0).type

    @property
    def labels(self) -> list[Any] | None:
        return self.core.labels

    def refuse_left_out(self, codes: frozenset[str]) -> None:
        if self.chat is not None:
            self.chat.refuse_left_out(codes)

    @property
    def missing_tokens(self) -> list[str]:
        return [] if self.chat is None else self.chat.missing_tokens

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> ConfiguredRun:
        counts = self._counts_filled_values
        parts = self.configuration, self.chat
        if self.fit is None:
            return ConfiguredRun(*parts, labels, options, first, counts=counts)
        return FittedRun(*parts, labels, options, first, fit=self.fit, chosen=self.chosen, counts=counts)

    @property
    def _counts_filled_values(self) -> bool:
        """True if values may be filled in, and somebody is told so."""
        return self.reports_runs and self.settings["substitution"] == "harness"

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        assert isinstance(run, ConfiguredRun)
        super().ended(run, is_batch=is_batch)
        if self._counts_filled_values:
            self._report(self._counts_of(run), is_batch=is_batch)
        else:
            # Counting takes as long as rendering ten rows, and few ask for it.
            self._last_run = run

    def _counts_of(self, run: ConfiguredRun) -> LastRun:
        return LastRun.of(run.position, run.samples, run.errors, self._row_number_in(run), run.lacking)

    @property
    def last_run(self) -> LastRun | None:  # type: ignore[override]  # nobody else sets it
        """The counts of the last run; None before one has ended."""
        if isinstance(self._last_run, ConfiguredRun):
            self._last_run = self._counts_of(self._last_run)
        return self._last_run

    def take_counts(self, other: TableEngine) -> None:
        self._last_run = other.last_run  # type: ignore[assignment]  # of another engine of its kind

    def count_tokens(self, tokens: EncodedRequests) -> None:
        run = self.last_run
        self._last_run = None if run is None else replace(run, tokens=tokens)

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:
        if not self.reports_runs or self.settings["unknown"] == "keep":
            return []
        notes = find_notes(self.configuration, schema, None)
        shows_nothing = set(self.required_columns).isdisjoint(schema.names)
        return misspelt_in(notes, shows_nothing=shows_nothing)

    def _report(self, run: LastRun, *, is_batch: bool = False) -> None:
        self._last_run = run
        if run.rows and not (is_batch and self._has_warned):
            self._has_warned = True
            warnings.warn(run.message, FilledValuesWarning, stacklevel=callers_level())

    def labels_of_table(self, table: pa.Table) -> list[Any] | None:
        """Return the labels of a table; no other column than theirs is looked at."""
        core = self.core
        name = core.label_column
        if name is None:
            return core.labels
        column = table.select([name]) if name in table.column_names else table
        return labels_of(core, column, for_core(column)[0])

    def check_table(self) -> None:
        """Refuse conversations whose requests depend on the model's replies."""
        self.configuration.refuse_replies()

    def check_stream(self) -> None:
        """Refuse what a stream can't know: labels that are the values of a column."""
        self.configuration.refuse_label_column("stream")
        self.check_table()

    def check_batch(self) -> None:
        """Refuse what a batch can't know: the position of its samples, and labels of a column."""
        self.configuration.refuse_position()
        self.configuration.refuse_label_column("a batch")
        self.check_table()

    def in_any_order(self, rows: int) -> tuple[TableEngine, pa.Array | None]:
        core = self.core
        if not core.by_position:
            return self, None
        engine = ConfiguredEngine(self.chosen[0], self.chat, self.fit)
        engine.reports_runs = self.reports_runs
        return engine, core.retrieve(rows)

    @property
    def example_column(self) -> str | None:
        return CHOSEN_EXAMPLES if self.core.by_position else self.core.index_column

    def columns_read(self, names: list[str]) -> list[str]:
        """Return the columns that requests may show; values may bring in any, if they are looked into."""
        if self.settings["substitution"] == "harness":
            return names
        of_chat = [] if self.chat is None else self.chat.columns(names)
        read = {*self.required_columns, *of_chat, self.core.index_column, self.core.label_column}
        return [name for name in names if name in read]

    def refuse_chat(self, what: str) -> None:
        """Refuse what isn't there for texts of a chat template."""
        if self.chat is not None:
            message = f"{what} isn't available for what a chat template makes of messages; leave chat_template= out"
            raise template_error("unsupported_mode", "chat_template", message)

    def warn(
        self, output: pa.Schema, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, looks: bool = False
    ) -> None:
        def text() -> str:
            notes = find_notes(self.configuration, schema, samples)
            return warning_text(notes if looks else checked_notes(notes))

        # Batch after batch has the schema of the one before, and so the same object as its output's.
        if self._checked_output is not output:
            self.warnings.warn(schema, text)
            self._checked_output = output

    def lines(self, reader: pa.RecordBatchReader, frame: _core.LineLayout) -> Iterator[RenderedLines | pa.RecordBatch]:
        """Render a stream into lines, without any column but the requests."""
        schema = self.output_schema(reader.schema, RenderOptions.of(()))
        self.warn(schema, reader.schema, None)
        position = _core.StreamState(self._counts_filled_values)
        yield from rendered_lines(self.configuration, reader, schema, frame, position)
        if self.reports_runs:
            warn_of_no_rows(position.rows)
        self._report(LastRun.of(position, position.rows, row_number=self.row_number))

    def prompts(
        self, part: _core.RenderedRows, times: int, samples: pa.Table, lacking: LeftOut | None = None
    ) -> pa.Array:
        """Return the requests of a part of samples; `lacking` takes what a chat template leaves out."""
        if self.chat is None:
            return part.prompts
        return self.chat.finished(part, times, RenderOptions.of(()), samples, lacking=lacking).prompts

    def converse(self, samples: pa.Table) -> Conversation:
        """Begin conversations, as `Renderer.converse`."""
        self.refuse_chat("converse")
        if not self.core.wants_replies:
            message = (
                'only "every" of MultiTurnGenInferencer or ChatInferencer takes replies; '
                "render gives the requests of any other"
            )
            raise template_error("unsupported_mode", "inferencer.infer_mode", message)
        schema = self.output_schema(samples.schema, RenderOptions())
        self.warn(schema, samples.schema, samples)
        return Conversation(self.core, samples, schema)

    def divergence(self, samples: pa.Table) -> pa.Table:
        """Find the rows in which the rules of substitution differ, as `Renderer.divergence`."""
        core_table, python_text = for_core(samples)
        labels = labels_of(self.core, samples, core_table)
        return pa.Table.from_batches([self.core.divergence(core_table, labels, python_text)])

    def findings(self, samples: pa.Table) -> pa.Table:
        """Find what a harness renders without a word, as `Renderer.findings`."""
        return pa.Table.from_batches([self.core.findings(*for_core(samples))])

    def retrieve(self, num_samples: int) -> pa.Array:
        """Return the retriever's choice for the first samples, as `Renderer.retrieve`."""
        if not 0 <= operator.index(num_samples) < _MOST_SAMPLES:
            message = f"num_samples: expected a number from 0 to {_MOST_SAMPLES - 1}, found {num_samples}"
            raise render_error("invalid_number", message)
        chosen = self.core.retrieve(num_samples)
        if chosen is None:
            message = f"the samples' column {self.core.index_column!r} holds the choice itself"
            raise template_error("unsupported_mode", "retriever", message)
        return chosen

    def fingerprint(self) -> str:
        if self._fingerprint is None:
            from promptpress._config.fingerprint import of_configuration  # noqa: PLC0415 - seldom asked for

            chat = (None, None) if self.chat is None else (self.chat.chat_settings, self.chat.answer)
            fingerprint = of_configuration(self.configuration, *chat)
            self._fingerprint = fingerprint if self.fit is None else self.fit.fingerprint(fingerprint)
        return self._fingerprint

    def state(self) -> dict[str, Any]:
        state = self.configuration.state()
        if self.chat is not None:
            state |= {"chat": self.chat.template, "answer": self.chat.answer}
        if self.fit is not None:
            state["fit"] = self.fit
        if self.tokenizer is not None:
            state["tokenizer"] = self.tokenizer
        return state

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> ConfiguredEngine:
        configuration, template, fit = Configuration.of_state(state), state.get("chat"), state.get("fit")
        chat = None
        if template is not None:
            from promptpress._engine.chat_stage import ChatStage  # noqa: PLC0415 - it needs Jinja2

            chat = ChatStage.after(template, configuration.settings)
            chat = chat if state.get("answer") is None else chat.answered(state["answer"])
        engine = cls(configuration, chat, fit)
        engine.tokenizer = state.get("tokenizer")
        return engine

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfiguredEngine):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self.configuration)

    @property
    def _key(self) -> tuple[Any, ...]:
        chat = None if self.chat is None else (self.chat.template, self.chat.answer)
        tokenizer = None if self.tokenizer is None else self.tokenizer.digest
        return self.configuration, chat, self.fit, tokenizer

    def __repr__(self) -> str:
        chat = "" if self.chat is None else f", chat_template={self.chat.template!r}"
        return f"{self.configuration!r}{chat}{'' if self.fit is None else f', {self.fit!r}'}"


ConfiguredRenderer = TableRenderer[ConfiguredEngine]
"""A `Renderer`, as the rooms below the public classes know it."""

AnyRenderer = TypeVar("AnyRenderer", bound=ConfiguredRenderer)


def silent(renderer: AnyRenderer) -> AnyRenderer:
    """Make a renderer that nobody else has yet warn of nothing, and return it; its pickles and copies may warn."""
    engine = engine_of(renderer)
    engine.warnings.silent = True
    engine.reports_runs = False
    return renderer
