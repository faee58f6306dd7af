"""The base of the engines of the public renderers: schemas, tables, streams and batches.

An engine says which columns its requests have, and makes a run that renders samples part by part. Everything else is
the same for configurations, Jinja templates and chat templates, and stands here.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, overload

import pyarrow as pa

from promptpress._arrow.as_table import as_reader, as_table
from promptpress._arrow.core_tables import column_names, core_schema
from promptpress._arrow.python_rows import EXACT, ValueReading
from promptpress._config.request_hash import FINGERPRINT, PREFIX_ORDER, with_requests_hash
from promptpress._config.tokenizer import EncodedRequests
from promptpress._engine.batch_cuts import BatchCuts
from promptpress._engine.notes import MisspeltColumn, SchemaWarnings, warn_of_no_rows, with_misspelt_columns
from promptpress._engine.options import RenderOptions, indexed_schema, kept_schema, with_distinct_names
from promptpress._engine.rendering import Run, rendered_batch, rendered_batches, rendered_table
from promptpress._errors.errors import LeftOutWarning, callers_level, template_error
from promptpress.typing import StreamLike, TableLike

if TYPE_CHECKING:
    from promptpress._config.tokenizer import LoadedTokenizer
    from promptpress._engine.notes import LastRun
    from promptpress._jinja.chat.settings import ChatSettings
    from promptpress._jinja.run import JinjaRun

CHOSEN_EXAMPLES = "promptpress.examples"
"""The column of examples that are chosen by the positions of samples, for samples in another order."""

Engine = TypeVar("Engine", bound="TableEngine")


class TableEngine(ABC):
    """Renders tables, streams and batches of samples; safe to share between threads."""

    row_number: Callable[[int], int] = int
    """Returns the number of a row in messages, for its number among the samples; the command sets it."""

    last_run: LastRun | JinjaRun | None = None
    """The counts of the last run; None before one has ended."""

    tokenizer: LoadedTokenizer | None = None
    """The tokenizer that tokens are of, where no other is given; None: one has to be given."""

    token_counts: str | None = None
    """The column of the numbers of tokens, where tokens take the place of the prompts; None: prompts are there."""

    latest_tokens: TableEngine | None = None
    """The engine of the tokens that were asked for last: calls for single samples ask for the same again and again."""

    writes_chats = False
    """True if a chat template writes the requests, and special tokens with them."""

    has_roles = False
    """True if the spans of requests say who speaks."""

    closes_conversations = False
    """True if a prompt that ends with a turn holds nothing after it but the turn's end."""

    def __init__(self) -> None:
        self._latest: tuple[pa.Schema, RenderOptions, pa.Schema] | None = None
        self.warnings = SchemaWarnings()
        self.reports_runs = True
        """True if something is said when a run has ended, such as that nothing was rendered."""
        self._has_told_left_out = False

    # What a kind of renderer says of itself.

    @property
    @abstractmethod
    def names(self) -> Mapping[str, str]:
        """Other names of output columns, keyed by the usual ones."""

    @property
    @abstractmethod
    def required_columns(self) -> list[str]:
        """The columns that a scan has to read."""

    @property
    def writes_json(self) -> bool:
        """True if requests are messages written as JSON."""
        return False

    @property
    def bounds_batches(self) -> bool:
        """True if the bytes of a batch have a limit, which is that of batches as they are given."""
        return False

    @property
    def sources(self) -> list[str]:
        """The texts of the templates that write the requests, but those of a configuration."""
        return []

    @property
    def chat_settings(self) -> ChatSettings | None:
        """The settings of the chat template that writes the requests; None if none does."""
        return None

    @property
    def chat_template(self) -> TableRenderer[Any] | None:
        """The chat template after what else renders the requests; None if there is none."""
        return None

    @property
    def missing_tokens(self) -> list[str]:
        """The special tokens that begin a text, that the chat template writes, and that nothing gives."""
        return []

    @abstractmethod
    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """Return the fields of the label, the turn and the prompt, as far as requests have them."""

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:  # noqa: ARG002 - most have some
        """Return the type of a request's spans, with details or without; None if there are none or `detail` is None."""
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return what is the same for all engines that write the same bytes: 64 hexadecimal digits."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what a pickle holds, for `of_state`."""

    @classmethod
    @abstractmethod
    def of_state(cls, state: dict[str, Any]) -> TableEngine:
        """Make an engine from what `state` returned."""

    @abstractmethod
    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:
        """Begin a run over a table or a stream.

        Args:
            options: The columns next to the prompts.
            labels: The labels of ppl; None if there are none.
            first: How many samples an earlier run has rendered.
        """

    def begin_single(self, samples: Any) -> tuple[pa.Table, Run] | None:  # noqa: ARG002 - most need a table
        """Begin a run over a single sample of Python's values that needs no table of them.

        The result is a table of one row in the place of the sample's, and the run. It is None if a table has to be
        made. The run's requests, counts and warnings are those of the table.
        """
        return None

    @property
    def labels(self) -> list[Any] | None:
        """The labels of ppl that the configuration says; None if it says none."""
        return None

    def labels_of_table(self, table: pa.Table) -> list[Any] | None:  # noqa: ARG002 - most have none
        """Return the labels that each sample of a table is rendered with; None if there are none."""
        return None

    def check_table(self) -> None:  # noqa: B027 - most can be rendered
        """Check that a whole table can be rendered."""

    def check_stream(self) -> None:
        """Check that a stream can be rendered, whose rows aren't known beforehand."""
        self.check_table()

    def check_batch(self) -> None:
        """Check that a batch can be rendered by itself."""
        self.check_stream()

    def in_any_order(self, rows: int) -> tuple[TableEngine, pa.Array | None]:  # noqa: ARG002 - most need no column
        """Return an engine that renders samples in any order as this one does in theirs.

        The samples may need a column `CHOSEN_EXAMPLES` for it, whose values come next to the engine.
        """
        return self, None

    @property
    def example_column(self) -> str | None:
        """The column that says which examples each sample has: of the samples, or `CHOSEN_EXAMPLES`; None for none."""
        return None

    def columns_read(self, names: list[str]) -> list[str]:
        """Return the columns that requests may show."""
        read = set(self.required_columns)
        return [name for name in names if name in read]

    def undefined_names(self, schema: pa.Schema) -> list[str]:  # noqa: ARG002 - most have none
        """Return a text for each variable of a template that the samples don't give, and that it doesn't guard."""
        return []

    def warn(  # noqa: B027 - most have nothing to warn about
        self, output: pa.Schema, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, looks: bool = False
    ) -> None:
        """Warn about what the schema of the samples shows, before they are rendered.

        A template that is surely mistaken is refused, unless the prompts are only looked at.
        """

    @property
    def value_reading(self) -> ValueReading:
        """The settings that decide which columns of Python's values are JSON."""
        return EXACT if self.text_engine is self else self.text_engine.value_reading

    # What token ids and masks ask for.

    @property
    def text_engine(self) -> TableEngine:
        """The engine that renders the texts, which is another one where something is made of them."""
        return self

    @property
    def shot_fields(self) -> list[pa.Field]:
        """The fields after the prompt that say how many examples a request has; none without a budget of tokens."""
        return []

    def marked(self) -> TableEngine:
        """Make an engine of the same texts, with marks around those of `{% generation %}` blocks."""
        message = "'generation' is what a chat template's {% generation %} blocks say, and there is no chat template"
        raise template_error("unsupported_mode", "mask", message)

    def answered(self, column: str) -> TableEngine:  # noqa: ARG002 - most have no conversations
        """Make an engine whose conversations end with the texts of a column, as the assistant's messages."""
        message = "an answer is an assistant's message, and there is no chat template; chat_template= gives one"
        raise template_error("unsupported_mode", "answer", message)

    def prompts_of_pairs(self, rows: pa.Table) -> list[str | None] | None:  # noqa: ARG002 - others have none
        """Return the texts before completions, as far as an assistant speaks in them; None if there are none."""
        return None

    def conversations(self, rows: pa.Table) -> list[list[dict[str, Any]] | None] | None:  # noqa: ARG002 - most have none
        """Return the conversation of each row, as a chat template sees it; None if rows have none."""
        return None

    def refuse_left_out(self, codes: frozenset[str]) -> None:  # noqa: B027 - most have no chat template
        """Refuse rows of which a chat template leaves out what assistants say, given the codes of what is refused."""

    # What is the same for all of them.

    def output_schema(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        """Return the output's schema: the same object as before, where the same is asked again.

        It has the index, the kept columns, label, turn and prompt, then what else is said of each request. Two columns
        of one name, or a kept column that is missing, are a `RenderError`.
        """
        latest = self._latest
        if (
            latest is None
            or not (latest[1] is options or latest[1] == options)
            or not latest[0].equals(schema, check_metadata=True)
        ):
            latest = self._latest = (schema, options, self._new_schema(schema, options))
        return latest[2]

    def _new_schema(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        core = core_schema(schema)
        columns_after = options.fields(self.names, self.spans_type(core, options.span_detail))
        keep = options.of_schema(schema).kept
        kept = kept_schema(schema, keep, with_distinct_names([*self.request_fields(core), *columns_after]))
        if options.index is not None:
            kept = indexed_schema(kept, options.index, keep)
        kept = kept.with_metadata({FINGERPRINT: self.fingerprint()}) if options.hashes else kept
        if options.order is not None:
            kept = kept.with_metadata({**(kept.metadata or {}), PREFIX_ORDER: options.index})
        return with_misspelt_columns(kept, self.misspelt_columns(schema))

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:  # noqa: ARG002 - some have no template
        """Return the names in the template that no column of the samples has, and that resemble a column's name."""
        return []

    def take_counts(self, other: TableEngine) -> None:
        """Take over what another engine has counted in its last run."""
        self.last_run = other.last_run

    def count_tokens(self, tokens: EncodedRequests) -> None:
        """Put counts of tokens next to those of the last run."""
        if self.last_run is not None:
            self.last_run = replace(self.last_run, tokens=tokens)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        """Say what is to be said when a run has ended: that there was nothing to render, or what was left out."""
        if self.reports_runs and not is_batch:
            warn_of_no_rows(run.first + run.samples)
        text = run.lacking.renumbered(self._row_number_in(run)).warning(run.conversations)
        if text and self.reports_runs and not (is_batch and self._has_told_left_out):
            self._has_told_left_out = True
            warnings.warn(text, LeftOutWarning, stacklevel=callers_level())

    def _row_number_in(self, run: Run) -> Callable[[int], int]:
        """Return what gives the number of a row in messages, for its place in a run."""
        return lambda row: self.row_number(run.row_number(row))

    def render(self, samples: TableLike, options: RenderOptions, *, is_batch: bool = False) -> pa.Table:
        """Render all samples: what `Renderer.render` returns."""
        single = self.begin_single(samples) if options == RenderOptions() else None
        table = as_table(samples, self.value_reading) if single is None else single[0]
        options = options.of_schema(table.schema)
        schema = self.output_schema(table.schema, options)
        self.check_table()
        self.warn(schema, table.schema, table)
        run = self.begin(options, self.labels_of_table(table)) if single is None else single[1]
        rendered = rendered_table(run, table, schema, options)
        self.ended(run, is_batch=is_batch)
        return self.hashed(rendered, options)

    def hashed(self, rendered: pa.Table, options: RenderOptions) -> pa.Table:
        """Return a rendered table with the hash of its requests in its metadata, if hashes are asked for."""
        if not options.hashes:
            return rendered
        columns_after = len(options.fields()) + int(options.spans is not False) + len(self.shot_fields)
        return with_requests_hash(rendered, rendered.num_columns - 1 - columns_after, is_json=self.writes_json)

    def stream(
        self,
        batches: StreamLike,
        options: RenderOptions,
        *,
        labels: list[Any] | None = None,
        first: int = 0,
        cuts: BatchCuts | None = None,
    ) -> pa.RecordBatchReader:
        """Render a stream batch by batch, as it is read: what `Renderer.stream` returns.

        Args:
            batches: Anything that holds batches.
            options: The columns next to the prompts.
            labels: The labels of ppl, for who knows them of all samples. None: those of the configuration.
            first: How many samples an earlier run has rendered.
            cuts: What cuts batches by the bytes that are rendered of them; None: anew, of the usual size.
        """
        if labels is None:
            self.check_stream()
            labels = self.labels
        reader = as_reader(batches, self.value_reading)
        options = options.of_schema(reader.schema)
        schema = self.output_schema(reader.schema, options)
        self.warn(schema, reader.schema, None)
        run = self.begin(options, labels, first)
        cuts = BatchCuts(None) if self.text_engine.bounds_batches else cuts
        rendered = rendered_batches(run, reader, schema, options, first=first, cuts=cuts)
        return pa.RecordBatchReader.from_batches(schema, self._to_end(run, rendered))

    def _to_end(self, run: Run, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        self.ended(run)

    def batch(self, batch: pa.RecordBatch | TableLike) -> pa.RecordBatch | pa.Table:
        """Render a batch and keep all its columns: what calling a renderer returns."""
        self.check_batch()
        if not isinstance(batch, pa.RecordBatch):
            table = as_table(batch, self.value_reading)
            return self.render(table, RenderOptions.of(column_names(table.schema)), is_batch=True)
        options = RenderOptions.of(column_names(batch.schema))
        schema = self.output_schema(batch.schema, options)
        self.warn(schema, batch.schema, batch)
        run = self.begin(options, self.labels)
        rendered = rendered_batch(run, batch, schema)
        self.ended(run, is_batch=True)
        return rendered


class TableRenderer(Generic[Engine]):
    """Holds an engine: compared, hashed and pickled by it."""

    __slots__ = ("__weakref__", "_engine")

    _engine: Engine
    _engine_class: ClassVar[type[TableEngine]]

    def _set(self, engine: Engine) -> None:
        object.__setattr__(self, "_engine", engine)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed: {name!r} is set when it is made")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableRenderer) or self._engine_class is not other._engine_class:
            return NotImplemented
        return bool(self._engine == other._engine)

    def __hash__(self) -> int:
        return hash(self._engine)

    def __getstate__(self) -> dict[str, Any]:
        return self._engine.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(self._engine_class.of_state(state))  # type: ignore[arg-type]  # a class variable has no type variable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._engine!r})"


class StreamRenderer(TableRenderer[Engine]):
    """Renders streams alone, with the interface of the renderers as far as files need it."""

    __slots__ = ()

    def output_schema(self, schema: pa.Schema, keep: Any = (), *, index: str | None = None) -> pa.Schema:
        """Return the schema of `stream`."""
        return self._engine.output_schema(schema, RenderOptions.of(keep, index))

    def stream(self, batches: Any, keep: Any = (), *, index: str | None = None) -> pa.RecordBatchReader:
        """Return what the engine makes of a stream, next to some of its columns, as `Renderer.stream`."""
        return self._engine.stream(batches, RenderOptions.of(keep, index))


@overload
def engine_of(renderer: TableRenderer[Engine]) -> Engine: ...
@overload
def engine_of(renderer: TableRenderer[Any]) -> TableEngine: ...
def engine_of(renderer: TableRenderer[Any]) -> TableEngine:
    """Return the engine of a renderer, for the rooms that go beyond its public methods."""
    engine: TableEngine = renderer._engine  # noqa: SLF001 - its own class
    return engine
