"""The engine of prompts that a table already holds: texts, messages, or conversations in ShareGPT's form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from promptpress._arrow.columns import is_text, one_array
from promptpress._arrow.json_columns import is_json, json_texts
from promptpress._arrow.python_text import json_on_one_line
from promptpress._arrow.python_values import column_of_prompts, to_pylist
from promptpress._core import RenderError
from promptpress._engine.notes import LastRun
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run
from promptpress._engine.table_engine import StreamRenderer, TableEngine
from promptpress._errors.errors import render_error, row_error_text
from promptpress._jinja.chat.conversations import conversation_of
from promptpress._jinja.chat.roles import as_openai


class ColumnEngine(TableEngine):
    """Takes the prompts from a column. ShareGPT's conversations become the JSON of messages."""

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column

    @property
    def names(self) -> Mapping[str, str]:
        return {"prompt": self.column}

    @property
    def required_columns(self) -> list[str]:
        return [self.column]

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        kind = schema.field(column_of_prompts(schema, self.column)).type
        if _is_sharegpt(kind):
            kind = pa.large_string()
        elif not (is_text(kind) or _fields_of(kind) & {"role", "from"}):
            message = f"prompts are texts, or lists of messages with a role, and it is {kind}"
            raise render_error("wrong_column_type", message, column=self.column)
        return [pa.field(self.column, kind)]

    def _new_schema(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        """Return the output's schema; what a column of JSON has becomes the JSON of messages."""
        index = schema.get_field_index(self.column)
        if index >= 0 and is_json(schema.field(index)):
            schema = schema.set(index, pa.field(self.column, pa.large_string()))
        return super()._new_schema(schema, options)

    def fingerprint(self) -> str:
        return ""

    def state(self) -> dict[str, Any]:
        return {"column": self.column}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> ColumnEngine:
        return cls(**state)

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:  # noqa: ARG002
        return _ColumnRun(self, options, first)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        super().ended(run, is_batch=is_batch)
        self.last_run = LastRun(samples=run.samples, errors=run.errors.renumbered(self._row_number_in(run)))


class PromptColumn(StreamRenderer[ColumnEngine]):
    """The prompts of a column, for exports.

    >>> prompts = PromptColumn("talk")
    >>> talks = pa.table({"talk": [[{"from": "human", "value": "Hi."}]]})
    >>> prompts.stream(talks).read_all().to_pylist()
    [{'talk': '[{"role": "user", "content": "Hi."}]'}]
    """

    __slots__ = ()
    _engine_class: ClassVar[type[TableEngine]] = ColumnEngine

    def __init__(self, column: str) -> None:
        self._set(ColumnEngine(column))

    def is_json(self, schema: pa.Schema) -> bool:
        """Return true if prompts of a table are written as JSON, though it holds none."""
        field = schema.field(self._engine.column)
        return is_json(field) or _is_sharegpt(field.type)


class _ColumnRun(Run):
    def __init__(self, engine: ColumnEngine, options: RenderOptions, first: int) -> None:
        super().__init__(first)
        self._column = engine.column
        self._collects_errors = options.collects_errors

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[Part]:
        field = table.schema.field(self._column)
        chunks = table[self._column].chunks
        if single:
            chunks = [one_array(chunks, self._column)]
        for chunk in chunks:
            prompts = chunk
            failed: dict[int, RenderError] = {}
            if is_json(field):
                prompts = _of_json(chunk, self._column, first, failed)
            elif _is_sharegpt(chunk.type):
                prompts = _as_json(chunk, self._column, first, failed)
            if chunk.null_count:
                nulls = (row for row, is_null in enumerate(chunk.is_null().to_pylist(), first) if is_null)
                failed |= {row: render_error("null_value", "it has no prompt", row, self._column) for row in nulls}
            if failed and not self._collects_errors:
                raise failed[min(failed)]
            errors = None
            if self._collects_errors:
                texts = {row: row_error_text(error) for row, error in failed.items()}
                errors = pa.array([texts.get(row) for row in range(first, first + len(prompts))], pa.string())
            yield Part(first, len(prompts), prompts, errors)
            first += len(prompts)


_CALLS = ("tool_calls", "function_call")


def _fields_of(kind: pa.DataType) -> set[str]:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or not pa.types.is_struct(kind.value_type):
        return set()
    return {field.name for field in kind.value_type}


def _is_sharegpt(kind: pa.DataType) -> bool:
    return "from" in _fields_of(kind)


def _as_json(column: pa.Array, name: str, first_row: int, failed: dict[int, RenderError]) -> pa.Array:
    """Return ShareGPT's conversations as the JSON of messages; `failed` gets rows with a call that isn't JSON."""
    texts: list[str | None] = []
    conversations: list[Any] = to_pylist(column)
    for row, conversation in enumerate(conversations, first_row):
        if conversation is None:
            texts.append(None)
            continue
        messages = [{key: value for key, value in message.items() if value is not None} for message in conversation]
        try:
            messages = [as_openai(message, number) for number, message in enumerate(messages)]
        except RenderError as error:
            failed[row] = render_error(error.code, error.message, row, name)
        texts.append(None if row in failed else json.dumps(messages, ensure_ascii=False))
    return pa.array(texts, pa.large_string())


def _check_messages(conversation: list[Any]) -> None:
    """Raise a ValueError for what no chat API takes as messages."""
    if not conversation:
        raise ValueError("it has no message")
    for number, message in enumerate(conversation):
        if not isinstance(message, dict):
            raise ValueError(f"message {number} is {message!r}, and no object")
        openai = as_openai(message, number)
        content = openai.get("content")
        if not isinstance(openai.get("role"), str):
            raise ValueError(f"message {number} has no role")
        if content is None and not any(openai.get(name) for name in _CALLS):
            raise ValueError(f"message {number} has no content")
        if content is not None and not isinstance(content, (str, list)):
            raise ValueError(f"message {number} has the content {content!r}, which is no text")


def _of_json(column: pa.Array, name: str, first_row: int, failed: dict[int, RenderError]) -> pa.Array:
    """Return the conversations of a column of JSON as the JSON of messages; text of a prompt stays one.

    Rows that hold no conversation are put into `failed`.
    """
    written = json_on_one_line(column, name, first_row).to_pylist()
    texts: list[str | None] = []
    for row, (value, text) in enumerate(zip(json_texts(column).to_pylist(), written, strict=True), first_row):
        if value is None:
            texts.append(None)
            continue
        messages = json.loads(value)
        try:
            conversation = messages if isinstance(messages, str) else conversation_of(messages)
            if isinstance(conversation, list):
                _check_messages(conversation)
        except ValueError as error:
            failed[row] = render_error("wrong_column_type", str(error), row, name)
            texts.append(None)
            continue
        if isinstance(conversation, list):
            conversation = [as_openai(message) if isinstance(message, dict) else message for message in conversation]
        texts.append(text if conversation == messages else json.dumps(conversation, ensure_ascii=False))
    return pa.array(texts, pa.large_string())
