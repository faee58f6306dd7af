"""The engine of `ChatTemplate`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import LAYOUTS, is_text, without_views
from promptpress._arrow.core_tables import column_names
from promptpress._arrow.json_columns import is_json
from promptpress._arrow.python_rows import ValueReading
from promptpress._arrow.python_text import with_texts
from promptpress._arrow.python_values import PAIR
from promptpress._arrow.take import take_rows
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run
from promptpress._engine.template_engine import FailedRows, TemplateEngine
from promptpress._errors.errors import did_you_mean, render_error, template_error
from promptpress._errors.left_out import OF_ASSISTANTS, Kind
from promptpress._jinja.chat.append_only import AppendOnly, append_only
from promptpress._jinja.chat.arguments import LISTS
from promptpress._jinja.chat.chat_renderer import ChatRenderer, starts_with_bos
from promptpress._jinja.chat.conversations import (
    COLUMN,
    conversation_of,
    conversations_as_texts,
    json_texts,
    normalised,
)
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.run import JinjaRun, Origins, Texts
from promptpress._jinja.undefined_names import guarded_names
from promptpress.typing import StringLayout

_GENERATION = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_LONGEST_SHOWN_SOURCE = 60
_DEFAULTS: dict[str, Any] = {
    "environment": "transformers",
    "column": "messages",
    "fallback": "jinja2",
    "add_generation_prompt": False,
    "continue_final_message": False,
    "strings": "string",
    "names": {},
    "roles": {},
    "decode_arguments": False,
    "refuse": (),
}


def answer_texts(rows: pa.Table, column: str, first: int = 0) -> pa.ChunkedArray:
    """Return the texts of a column of answers; null where there is none."""
    if column not in rows.column_names:
        hint = did_you_mean(column, rows.column_names)
        message = f"the table has no such column{hint or '; it has ' + ', '.join(map(repr, rows.column_names))}"
        raise render_error("missing_column", message, column=column)
    answers = with_texts(rows.select([column]), [column], first)
    texts = answers.column(0)
    if not is_text(texts.type):
        texts = pa.chunked_array(_core.field_texts(answers), pa.large_string())
    return pc.if_else(rows.column(column).is_valid(), without_views(texts), None)


def _messages_of(value: Any, role: str) -> list[Any]:
    """Return the messages of a part of a conversation; a text that isn't the JSON of messages is what a role says."""
    if not isinstance(value, str):
        return conversation_of(value)
    try:
        messages = conversation_of(value) if value.lstrip().startswith("[") else []
    except ValueError:
        messages = []
    are_messages = messages and all(isinstance(each, dict) and ("role" in each or "from" in each) for each in messages)
    return messages if are_messages else [{"role": role, "content": value}]


def _parts_of(rows: pa.Table, name: str) -> list[Any]:
    """Return the prompts or the completions of rows."""
    values: list[Any] = conversations_as_texts(rows, name).column(0).to_pylist()
    if not is_json(rows.schema.field(name)):
        return values
    return [None if text is None else json.loads(text) for text in values]


def _answered(conversation: Any, answer: str | None) -> str | None:
    """Return a conversation with an assistant's answer, as JSON; what is no conversation stays what it is."""
    try:
        messages = [*conversation_of(conversation), {"role": "assistant", "content": answer}]
    except ValueError:
        messages = conversation
    return messages if messages is None or isinstance(messages, str) else (json_texts([messages]) or [None])[0]


def _json_of(conversation: list[dict[str, Any]]) -> str | None:
    """Return a conversation as JSON; None if it holds something that JSON has no form for."""
    try:
        return json.dumps(conversation, ensure_ascii=False)
    except (TypeError, ValueError):
        return None


class _SingleRun(Run):
    """Has the text of a single conversation, which is rendered already, and the counts."""

    def __init__(self, engine: ChatEngine, text: str, counts: JinjaRun) -> None:
        super().__init__()
        self._engine = engine
        self._text = text
        self._counts = counts
        self.lacking = counts.lacking

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[Part]:  # noqa: ARG002 - one row
        self._engine.last_run = self._counts
        yield Part(first, 1, pa.array([self._text], LAYOUTS[self._engine.strings]))


class ChatEngine(TemplateEngine):
    """Renders conversations by a chat template."""

    column: str

    def __init__(
        self,
        renderer: ChatRenderer,
        column: str,
        strings: StringLayout,
        names: Mapping[str, str] | None,
        answer: str | None = None,
    ) -> None:
        super().__init__(strings, names)
        self.answer = answer
        self.refused: frozenset[Kind] | None = frozenset()
        """The kinds of what no text may lack; None: what texts lack isn't counted."""
        self.renderer = renderer
        self.column = column
        self._one_row = pa.table({column: pa.nulls(1)})
        self.writes_chats = self.has_roles = True
        self.closes_conversations = not renderer.settings.add_generation_prompt

    @property
    def required_columns(self) -> list[str]:
        return list(dict.fromkeys([self.column, *(self.chat_settings.argument_columns or {}).values()]))

    def columns_read(self, names: list[str]) -> list[str]:
        # What the template doesn't read is left out, which is counted.
        of_rows = self.renderer.argument_columns(names).values()
        pair = PAIR if self.has_pairs(names) else ()
        read = {self.column, *of_rows, *self.renderer.unread_columns(names, self.column), *pair}
        return [name for name in names if name in read]

    @property
    def source(self) -> str:
        return self.renderer.settings.source

    @property
    def chat_settings(self) -> ChatSettings:
        return self.renderer.settings

    @property
    def value_reading(self) -> ValueReading:
        """Conversations may hold objects, such as dataclasses, which are written as templates see them."""
        columns = self.chat_settings.argument_columns
        return ValueReading(True, self.column, json_texts, LISTS if columns is None else tuple(columns.values()))

    @cached_property
    def starts_with_bos(self) -> bool | None:
        """True if texts begin with the `bos_token`; None if it depends on the conversation."""
        return starts_with_bos(self.renderer)

    def refuse_left_out(self, codes: frozenset[str]) -> None:
        self.refused = frozenset((code, OF_ASSISTANTS) for code in codes)

    @property
    def missing_tokens(self) -> list[str]:
        reference, settings = self.renderer.reference, self.renderer.settings
        reads = "bos_token" in reference.undeclared and not settings.variables.get("bos_token")
        return ["bos_token"] if reads and "bos_token" not in guarded_names(reference.ast()) else []

    @cached_property
    def append_only(self) -> AppendOnly:
        """The answer to whether texts only grow as conversations go on."""
        return append_only(self.renderer)

    def conversations(self, rows: pa.Table) -> list[list[dict[str, Any]] | None] | None:
        """Return the conversation of each row; None for one that can't be read, whose error rendering raises."""
        out: list[list[dict[str, Any]] | None] = []
        failed: FailedRows = {}
        given = rows
        rows = self._with_answers(self._with_conversations(rows, 0, failed), 0, failed)
        for row, value in enumerate(conversations_as_texts(rows, self.column).column(0).to_pylist()):
            try:
                if row in failed:
                    raise ValueError("the row has an error")
                out.append(normalised(conversation_of(value), self.renderer.settings.turn_rules))
            except (ValueError, TypeError, AttributeError):
                out.append(None)
        if self.has_pairs(given.column_names):
            for conversation, prompt in zip(out, _parts_of(given, PAIR[0]), strict=True):
                for message in (conversation or [])[: 0 if conversation is None else len(_messages_of(prompt, "user"))]:
                    message["train"] = False
        return out

    def as_written(self, messages: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
        """Return messages of `conversations` as a template sees them: without the key that untrained prompts have."""
        if not self.has_pairs(names):
            return messages
        return [{key: value for key, value in message.items() if key != "train"} for message in messages]

    def has_pairs(self, names: Sequence[str]) -> bool:
        """Return true if the columns of a table are prompts and completions in the place of conversations."""
        return self.column == COLUMN and self.column not in names and set(PAIR) <= set(names)

    def prompts_of_pairs(self, rows: pa.Table) -> list[str | None] | None:
        if not self.has_pairs(rows.column_names):
            return None
        talks = [
            list(takewhile(lambda message: message.get("train") is False, talk or ()))
            for talk in self.conversations(rows) or ()
        ]
        numbers = [row for row, talk in enumerate(talks) if any(each.get("role") == "assistant" for each in talk)]
        texts = dict(zip(numbers, self.texts_of(rows, numbers, [talks[row] for row in numbers]), strict=True))
        return [texts.get(row, "") for row in range(len(talks))]

    def _with_conversations(self, rows: pa.Table, first: int, failed: FailedRows | None) -> pa.Table:
        """Return rows whose prompts and completions are conversations; a row of which none can be made is an error."""
        if not self.has_pairs(rows.column_names):
            return rows
        parts = [_parts_of(rows, name) for name in PAIR]
        texts: list[str | None] = []
        for row, (prompt, completion) in enumerate(zip(*parts, strict=True), first):
            texts.append(None)
            try:
                messages = [*_messages_of(prompt, "user"), *_messages_of(completion, "assistant")]
                (texts[-1],) = json_texts([messages]) or [None]
            except ValueError as error:
                refused = render_error("unconvertible_value", f"a prompt and its completion: {error}", row)
                if failed is None:
                    raise refused from error
                failed[row] = refused
        return rows.append_column(self.column, pa.chunked_array([pa.array(texts, pa.large_string())]))

    def texts_of(
        self, rows: pa.Table, numbers: Sequence[int], conversations: Sequence[list[dict[str, Any]]]
    ) -> list[str | None]:
        of_conversations = pa.array(numbers, pa.int64())
        of_rows = rows.select([name for name in self.columns_read(rows.column_names) if name != self.column])
        columns = [pa.chunked_array(take_rows(column, of_conversations), column.type) for column in of_rows.columns]
        conversations = [self.as_written(conversation, rows.column_names) for conversation in conversations]
        given = pa.array([_json_of(conversation) for conversation in conversations], pa.large_string())
        schema = of_rows.schema.append(pa.field(self.column, given.type))
        table = pa.Table.from_arrays([*columns, given], schema=schema)
        # These conversations have their answers and the other names of roles already.
        engine = self._changed(self._without_names, None)
        engine.refused = None
        parts: list[Any] = list(engine.begin(RenderOptions(errors="column"), None).parts(table, 0))
        return [text for part in parts for text in part.prompts.to_pylist()]

    @cached_property
    def of_turns(self) -> tuple[ChatEngine, ChatEngine]:
        """Engines of messages whose roles have their other names already: of texts, and of what asks for a turn."""
        settings = replace(self.renderer.settings, roles={})

        def asking(asks: bool) -> ChatEngine:
            given = replace(settings, add_generation_prompt=asks, refuse=() if asks else settings.refuse)
            return self._changed(self.renderer if given == self.renderer.settings else ChatRenderer(given), None)

        return asking(False), asking(True)

    @cached_property
    def _without_names(self) -> ChatRenderer:
        """A renderer of messages whose roles have their other names already, and which refuses none."""
        settings = self.renderer.settings
        return (
            ChatRenderer(replace(settings, roles={}, refuse=())) if settings.roles or settings.refuse else self.renderer
        )

    def marked(self) -> ChatEngine:
        """Make an engine whose texts have marks around the texts of `{% generation %}` blocks."""
        settings = self.renderer.settings
        if not _GENERATION.search(settings.source) or settings.environment != "transformers":
            message = (
                'the template has no {% generation %} block to say what is trained; mask="assistant" follows from '
                "where texts come from, and needs none"
            )
            raise template_error("unsupported_mode", "mask", message)
        if settings.continued is not None:
            message = "a mask isn't known for a message that is continued, nor in transformers"
            raise template_error("unsupported_mode", "continue_final_message", message)
        return self._changed(ChatRenderer(replace(settings, is_marked=True, refuse=())), self.answer)

    def answered(self, column: str) -> ChatEngine:
        settings = self.renderer.settings
        if settings.continued is not None:
            message = "the assistant's answer follows, so no message is continued"
            raise template_error("unsupported_mode", "continue_final_message", message)
        renderer = self.renderer
        if settings.add_generation_prompt is not False:
            renderer = ChatRenderer(replace(settings, add_generation_prompt=False))
        return self._changed(renderer, column)

    @cached_property
    def with_other_end(self) -> ChatEngine:
        """An engine whose texts end with the generation prompt if those of this one don't, and the other way round."""
        settings = self.renderer.settings
        other = replace(settings, add_generation_prompt=not settings.add_generation_prompt)
        return self._changed(ChatRenderer(other), self.answer)

    def _changed(self, renderer: ChatRenderer, answer: str | None) -> ChatEngine:
        return ChatEngine(renderer, self.column, self.strings, self.names, answer)

    def _with_answers(self, rows: pa.Table, first: int, failed: FailedRows | None) -> pa.Table:
        """Return rows whose conversations end with their answers; a row without an answer has an error."""
        if self.answer is None:
            return rows
        answers = answer_texts(rows, self.answer, first).to_pylist()
        for row in (row for row, answer in enumerate(answers) if answer is None):
            error = render_error("null_value", "the answer is null, and an assistant says a text", first + row)
            if failed is None:
                raise error
            failed[first + row] = error
        conversations = conversations_as_texts(rows, self.column).column(0).to_pylist()
        answered = [_answered(*of_row) for of_row in zip(conversations, answers, strict=True)]
        column = pa.chunked_array([pa.array(answered, pa.large_string())])
        return rows.set_column(rows.column_names.index(self.column), self.column, column)

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        names = column_names(schema)
        if self.column not in names and not self.has_pairs(names):
            present = ", ".join(map(repr, names)) or "no columns"
            message = (
                f"the table has no such column, which holds the conversations; it has {present}"
                f"{did_you_mean(self.column, names) or '; name it by column='}"
            )
            raise render_error("missing_column", message, column=self.column)
        self.renderer.argument_columns(names)
        return super().request_fields(schema)

    def texts(
        self, table: pa.Table, first: int, counts: JinjaRun, failed: FailedRows | None, origins: Origins | None
    ) -> Iterator[Texts]:
        unanswered: FailedRows | None = None if failed is None else {}
        table = self._with_answers(self._with_conversations(table, first, unanswered), first, unanswered)
        yield from self.renderer.texts(table, self.column, first, self.strings, counts, failed, origins, self.refused)
        if failed is not None:
            failed |= unanswered or {}
        self.last_run = counts

    def begin_single(self, samples: Any) -> tuple[pa.Table, Run] | None:
        if type(samples) is not list or len(samples) != 1 or self.answer is not None or self.refused != frozenset():
            return None
        (row,) = samples
        if type(row) is not dict or len(row) != 1 or self.column not in row:
            return None
        rendered = self.renderer.singles.rendered(row[self.column])
        return None if rendered is None else (self._one_row, _SingleRun(self, *rendered))

    def fingerprint(self) -> str:
        from promptpress._config.fingerprint import of_chat_template  # noqa: PLC0415 - seldom asked for

        return of_chat_template(self.renderer.settings, self.column, self.answer)

    def state(self) -> dict[str, Any]:
        return {
            "settings": dict(vars(self.renderer.settings)),
            "column": self.column,
            "strings": self.strings,
            "names": dict(self.names),
            "answer": self.answer,
        }

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> ChatEngine:
        renderer = ChatRenderer(ChatSettings(**state["settings"]))
        return cls(renderer, state["column"], state["strings"], state["names"], state.get("answer"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChatEngine):
            return NotImplemented
        # Of equal numbers each has a text of its own: 0, 0.0 and False.
        return self.state() == other.state() and repr(self.state()) == repr(other.state())

    def __hash__(self) -> int:
        settings = self.renderer.settings
        return hash((settings.source, settings.environment, self.column, self.strings))

    def __repr__(self) -> str:
        settings = self.renderer.settings
        source = settings.source
        if len(source) > _LONGEST_SHOWN_SOURCE:
            source = source[:_LONGEST_SHOWN_SOURCE] + "…"
        given = {**vars(settings), **self.state(), "continue_final_message": settings.continued or False}
        arguments = [f"{name}={given[name]!r}" for name, default in _DEFAULTS.items() if given[name] != default]
        if settings.system is not None:
            role = "no system role" if self.renderer.merges_system else "a system role"
            arguments.append(f"system={settings.system!r} <the template has {role}>")
        for name, value in (("tools", settings.tools), ("documents", settings.documents)):
            if value is not None:
                arguments.append(f"{name}=<{len(value)}>")
        if settings.now is not None:
            arguments.append(f"now={settings.now!r}")
        if settings.argument_columns is not None:
            arguments.append(f"argument_columns={settings.argument_columns!r}")
        arguments += [f"{name}={value!r}" for name, value in settings.variables.items()]
        return ", ".join([repr(source), *arguments])
