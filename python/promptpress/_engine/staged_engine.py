"""The engine of a chat template after texts that no configuration makes: those of a Jinja template, or of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from promptpress._arrow.python_rows import ValueReading
from promptpress._core import RenderedRows
from promptpress._engine.chat_stage import ChatStage
from promptpress._engine.column_engine import ColumnEngine
from promptpress._engine.notes import MisspeltColumn
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run
from promptpress._engine.table_engine import StreamRenderer, TableEngine, TableRenderer, engine_of
from promptpress._jinja.chat.settings import ChatSettings
from promptpress.typing import StringLayout


class StagedEngine(TableEngine):
    """Renders by a chat template what another engine renders: each text is a message of the user."""

    writes_chats = has_roles = True

    def __init__(self, inner: TableEngine, chat: ChatStage) -> None:
        super().__init__()
        self.inner = inner
        self.chat = chat
        self.warnings = inner.warnings
        self.tokenizer = inner.tokenizer

    @property
    def names(self) -> Mapping[str, str]:
        return self.inner.names

    @property
    def sources(self) -> list[str]:
        return [*self.inner.sources, self.chat.chat_settings.source]

    @property
    def chat_settings(self) -> ChatSettings:
        return self.chat.chat_settings

    def refuse_left_out(self, codes: frozenset[str]) -> None:
        self.chat.refuse_left_out(codes)

    @property
    def missing_tokens(self) -> list[str]:
        return self.chat.missing_tokens

    @property
    def chat_template(self) -> TableRenderer[Any] | None:
        template: TableRenderer[Any] = self.chat.template
        return template

    @property
    def required_columns(self) -> list[str]:
        return list(dict.fromkeys([*self.inner.required_columns, *self.chat.required_columns]))

    def columns_read(self, names: list[str]) -> list[str]:
        read = {*self.required_columns, *self.inner.columns_read(names), *self.chat.columns(names)}
        return [name for name in names if name in read]

    @property
    def value_reading(self) -> ValueReading:
        return self.inner.value_reading

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        *others, prompt = self.inner.request_fields(schema)
        return [*others, self.chat.field(prompt)]

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:  # noqa: ARG002
        return None if detail is None else self.chat.spans_type(is_detailed=detail)

    def marked(self) -> StagedEngine:
        return StagedEngine(self.inner, self.chat.marked())

    def answered(self, column: str) -> StagedEngine:
        return StagedEngine(self.inner, self.chat.answered(column))

    def undefined_names(self, schema: pa.Schema) -> list[str]:
        return self.inner.undefined_names(schema)

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:
        return self.inner.misspelt_columns(schema)

    def warn(
        self, output: pa.Schema, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, looks: bool = False
    ) -> None:
        self.inner.warn(output, schema, samples, looks=looks)

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:
        has_spans = options.span_detail is not None and not isinstance(self.inner, ColumnEngine)
        texts = replace(options, keep=(), index=None, hashes=False, spans="detailed" if has_spans else False)
        return _StagedRun(self, self.inner.begin(texts, labels, first), options, first)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        super().ended(run, is_batch=is_batch)
        self.last_run = self.chat.last_run
        if self.last_run is not None:
            self.last_run.errors = run.errors.renumbered(self._row_number_in(run))
            self.last_run.lacking = run.lacking.renumbered(self._row_number_in(run))

    def fingerprint(self) -> str:
        from promptpress._config.fingerprint import of_staged  # noqa: PLC0415 - seldom asked for

        return of_staged(self.inner.fingerprint(), self.chat.chat_settings, self.chat.answer)

    def state(self) -> dict[str, Any]:
        return {"inner": self.inner, "chat": self.chat}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> StagedEngine:
        return cls(**state)


class StagedRenderer(StreamRenderer[StagedEngine]):
    """A chat template after the texts of a Jinja template, or of a column of prompts.

    Args:
        texts: What gives the texts: a `JinjaTemplate`, or a `PromptColumn`.
        chat_template: The `ChatTemplate`.
        strings: The Arrow layout of the chats.

    >>> from promptpress import ChatTemplate, JinjaTemplate
    >>> chat = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    >>> questions = StagedRenderer(JinjaTemplate("Q: {{ q | trim }}"), chat)
    >>> questions.stream(pa.table({"q": [" 1+1? "]})).read_all().to_pylist()
    [{'prompt': '<user>Q: 1+1?'}]
    """

    __slots__ = ()
    _engine_class: ClassVar[type[TableEngine]] = StagedEngine

    def __init__(self, texts: TableRenderer[Any], chat_template: Any, strings: StringLayout = "string") -> None:
        self._set(StagedEngine(engine_of(texts), ChatStage(chat_template, strings)))

    def fingerprint(self) -> str:
        """Return the same as for every other renderer of the same chats: 64 hexadecimal digits."""
        return self._engine.fingerprint()


class _StagedRun(Run):
    def __init__(self, engine: StagedEngine, inner: Run, options: RenderOptions, first: int) -> None:
        super().__init__(first)
        self._engine = engine
        self._inner = inner
        self._options = options
        self.times = inner.times

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[RenderedRows | Part]:
        inner = self._engine.inner
        column = inner.column if isinstance(inner, ColumnEngine) else None
        for part in self._inner.parts(table, first, single=single):
            rows = table.slice(part.start - first, part.rows)
            yield self._engine.chat.finished(part, self.times, self._options, rows, column=column, lacking=self.lacking)
