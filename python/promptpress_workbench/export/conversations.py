"""Files of conversations for training and other tools: `sharegpt` and `messages_json`, and what makes their lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from promptpress.engine.errors import render_error, template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import named_json_field
from promptpress.typing import StreamLike
from pyarrow import types

from promptpress_workbench.export.answers import (
    ASSISTANT,
    check_answer,
    refuse_no_answers,
    refuse_unanswered,
    unanswered,
)
from promptpress_workbench.export.chat_messages import Form, Prompts, lists_of
from promptpress_workbench.export.line_files import Path, Written, write_lines
from promptpress_workbench.export.misspelt import Unknown
from promptpress_workbench.export.object_lines import kept_members
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces

_SHAREGPT_ROLES = {
    "user": "human",
    "assistant": "gpt",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
}
"""The roles in ShareGPT's `from`."""


class _Conversations:
    """Makes a line for each row of batches of one schema: kept columns, then the messages.

    `key` is the key of the conversation in a line, and `fields` are the keys of a message's role and of its text. If
    there are `roles`, they are all valid roles with their names; or else the roles are those of chat APIs.
    """

    frame = None

    def __init__(
        self,
        schema: pa.Schema,
        *,
        key: str,
        fields: tuple[str, str],
        roles: Mapping[str, str] | None,
        answer: str | None,
        keep: Sequence[str],
        prompt: str,
        form: Form | None,
    ) -> None:
        self._prompts = Prompts(schema, prompt, form)
        self._prompt_index = schema.get_field_index(prompt)
        self._fields = fields
        self._roles = roles
        self._answer = answer
        members = kept_members(schema, keep, {key: None})
        if answer is not None:
            check_answer(schema, answer)
        self._is_json = roles is None and self._prompts.form == "messages_json"
        if self._is_json:
            self._prompt_field = named_json_field(prompt, self._prompts.type)
        else:
            no_messages = self._prompts.as_messages(pa.nulls(0, schema.field(prompt).type), 0)
            self._prompt_field = pa.field(prompt, self._converted(no_messages).type)
        *head, end = object_pieces([*members, (key, Piece("items" if answer else "request", column=prompt))])
        if answer is not None:
            assistant = (roles or {}).get("assistant", "assistant")
            *head, items = head
            begin = Piece("literal", f'{{"{fields[0]}": "{assistant}", "{fields[1]}": "')
            head += [Piece("literal", "["), items, begin, Piece("text", column=answer), Piece("literal", '"}]')]
        self._writer = LineWriter(schema.set(self._prompt_index, self._prompt_field), [*head, end])
        self._rows = 0

    def lines(self, batch: pa.RecordBatch) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch, in several arrays."""
        column = batch.column(self._prompt_index)
        if self._is_json:
            prompts = self._prompts.converted(column, self._rows)
        else:
            messages = self._prompts.as_messages(column, self._rows)
            prompts = self._converted(messages)
        if self._answer is None and self._is_json:
            self._refuse_unanswered_json(prompts)
        elif self._answer is None:
            refuse_unanswered(messages, self._rows, self._prompts.name)
        else:
            answers = batch.column(batch.schema.get_field_index(self._answer))
            refuse_no_answers(answers, self._rows, self._answer)
        converted = batch.set_column(self._prompt_index, self._prompt_field, prompts)
        out = self._writer.lines(converted, self._rows)
        self._rows += batch.num_rows
        return out

    def _refuse_unanswered_json(self, prompts: pa.Array) -> None:
        for row, text in enumerate(prompts.to_pylist(), self._rows):
            if not any(message["role"] == ASSISTANT for message in json.loads(text)):
                raise unanswered(row, self._prompts.name)

    def _converted(self, messages: pa.Array) -> pa.Array:
        """Give messages the fields and the names of roles that lines have."""
        if self._roles is None:
            return messages
        items = messages.flatten()
        content = items.type.field("content").type
        if types.is_nested(content):
            message = f"its contents are {content}, and {self._fields[1]!r} is a text; export messages_json"
            raise render_error("wrong_column_type", message, column=self._prompts.name)
        for field in items.type:
            if field.name not in ("role", "content") and items.field(field.name).null_count < len(items):
                message = f"its messages have {field.name!r}, for which this form has no place; export messages_json"
                raise render_error("wrong_column_type", message, column=self._prompts.name)
        indices = pc.index_in(items.field("role"), pa.array(list(self._roles), items.type.field("role").type))
        if indices.null_count:
            role = items.field("role")[pc.index(pc.is_null(indices), True).as_py()].as_py()
            names = ", ".join(map(repr, self._roles))
            raise template_error("unknown_role", "roles", f"it has no {role!r} (it has {names})")
        speakers = pa.array(list(self._roles.values()), pa.string()).take(indices)
        return lists_of(messages, pa.StructArray.from_arrays([speakers, items.field("content")], list(self._fields)))


def sharegpt(
    table: StreamLike,
    path: Path,
    *,
    answer: str | None = None,
    keep: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as ShareGPT's conversations, as LLaMA-Factory, Axolotl and FastChat read them.

    Each line is `{"conversations": [{"from": "human", "value": ...}, ...]}`.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        answer: A column whose text is the last turn, `gpt`'s: the text that a model is trained on. None: the
            conversations have turns of the assistant already.
        keep: Columns that stand before the conversation, such as an `id`.
        roles: Names of roles in `from` that replace the usual ones, such as `{"tool": "observation"}`.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The file, the number of conversations and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`; if a content is no text or an answer is null; and if a
            conversation has no answer of the assistant.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> table = pa.table({"prompt": ["1+1=?"], "gold": ["2"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = export.sharegpt(table, f"{folder.name}/train.jsonl", answer="gold")
    >>> print(Path(f"{folder.name}/train.jsonl").read_text(), end="")
    {"conversations": [{"from": "human", "value": "1+1=?"}, {"from": "gpt", "value": "2"}]}
    >>> folder.cleanup()

    """
    form_of_lines = partial(_Conversations, key="conversations", fields=("from", "value"))
    names = {**_SHAREGPT_ROLES, **(roles or {})}
    source_of = partial(form_of_lines, roles=names, answer=answer, keep=keep, prompt=prompt, form=form)
    return write_lines(table, path, source_of, unknown=unknown)


def messages_json(
    table: StreamLike,
    path: Path,
    *,
    answer: str | None = None,
    keep: Sequence[str] = (),
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as lines of messages: `{"messages": [{"role": ..., "content": ...}, ...]}`.

    OpenAI's fine-tuning, TRL and most other trainers read them.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        answer: A column whose text is the last message, the assistant's. None: the conversations have messages of the
            assistant already.
        keep: Columns that stand before the messages.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The file, the number of lines and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`; if an answer is null; and if a conversation has no answer of the assistant.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.table({"prompt": ["1+1=?"], "gold": ["2"]})
    >>> _ = export.messages_json(table, f"{folder.name}/out.jsonl", answer="gold")
    >>> print(Path(f"{folder.name}/out.jsonl").read_text(), end="")
    {"messages": [{"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": "2"}]}
    >>> folder.cleanup()

    """
    form_of_lines = partial(_Conversations, key="messages", fields=("role", "content"))
    source_of = partial(form_of_lines, roles=None, answer=answer, keep=keep, prompt=prompt, form=form)
    return write_lines(table, path, source_of, unknown=unknown)
