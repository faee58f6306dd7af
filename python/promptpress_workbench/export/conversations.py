"""Files of conversations for training and other tools: `sharegpt`, `messages_json` and `alpaca`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine.errors import counted, render_error, template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import named_json_field
from promptpress.engine.tokens import numbered_turns
from promptpress.typing import StreamLike, Turns, Unknown
from pyarrow import types

from promptpress_workbench.export.chat_messages import (
    ASSISTANT,
    Form,
    Prompts,
    answer_texts,
    check_answer,
    column_texts,
    lists_of,
    refuse_no_answers,
    refuse_unanswered,
    unanswered,
)
from promptpress_workbench.export.custom_ids import SAMPLE
from promptpress_workbench.export.streams import (
    Convert,
    ObjectLines,
    Path,
    RenderedStream,
    Written,
    kept_members,
    write_lines,
)
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

    def lines(self, batch: pa.RecordBatch, first_row: int) -> list[pa.LargeBinaryArray]:
        column = batch.column(self._prompt_index)
        if self._is_json:
            prompts = self._prompts.converted(column, first_row)
        else:
            messages = self._prompts.as_messages(column, first_row)
            prompts = self._converted(messages)
        if self._answer is None and self._is_json:
            for row, text in enumerate(prompts.to_pylist(), first_row):
                if not any(message["role"] == ASSISTANT for message in json.loads(text)):
                    raise unanswered(row, self._prompts.name)
        elif self._answer is None:
            refuse_unanswered(messages, first_row, self._prompts.name)
        else:
            answers = batch.column(batch.schema.get_field_index(self._answer))
            refuse_no_answers(answers, first_row, self._answer)
        return self._writer.lines(batch.set_column(self._prompt_index, self._prompt_field, prompts), first_row)

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
    names = {**_SHAREGPT_ROLES, **(roles or {})}
    lines_of = partial(_Conversations, key="conversations", fields=("from", "value"), roles=names)
    source_of = partial(lines_of, answer=answer, keep=keep, prompt=prompt, form=form)
    return write_lines(table, path, source_of, unknown=unknown)


class _TurnLines:
    """Makes a line for each turn of an assistant: kept columns, the sample, the turn, and the messages up to it."""

    frame = None

    def __init__(
        self, schema: pa.Schema, silent: list[int], *, answer: str | None, keep: Sequence[str], prompt: str, form: Any
    ) -> None:
        self._prompts, self._answer = Prompts(schema, prompt, form), answer
        self._silent = silent
        """The numbers of the samples without a turn."""
        self._keep = [name for name in keep if name != SAMPLE]
        kept = [schema.field(name) for name in self._keep]
        numbers = [pa.field(name, pa.int64()) for name in (SAMPLE, "turn")]
        self._schema = pa.schema([*numbers, *kept, pa.field(prompt, pa.large_string())])
        of_lines: dict[str, Any] = {"keep": [SAMPLE, "turn", *self._keep], "prompt": prompt, "form": "messages_json"}
        fields = ("role", "content")
        self._lines = _Conversations(self._schema, key="messages", fields=fields, roles=None, answer=None, **of_lines)

    def lines(self, batch: pa.RecordBatch, first_row: int) -> list[pa.LargeBinaryArray]:
        prompts = self._prompts.converted(batch.column(batch.schema.get_field_index(self._prompts.name)), first_row)
        answers: list[str | None] = [None] * len(prompts)
        if self._answer is not None:
            answers = answer_texts(batch, self._answer, first_row).to_pylist()
        rows: list[tuple[int, int, str]] = []
        numbers = batch.column(SAMPLE).to_pylist() if SAMPLE in batch.schema.names else None
        for row, (request, answer) in enumerate(zip(prompts.to_pylist(), answers, strict=True)):
            messages = _messages(request, is_text=self._prompts.form == "text")
            messages += [] if answer is None else [{"role": ASSISTANT, "content": answer}]
            turns = numbered_turns(messages)
            if not turns:
                self._silent.append(first_row + row if numbers is None else numbers[row])
            rows += [(row, turn, json.dumps(messages[: end + 1], ensure_ascii=False)) for end, turn in turns.items()]
        of_rows, turns_of_rows, texts = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
        repeated = batch.take(pa.array(of_rows, pa.int64()))
        samples = [first_row + row for row in of_rows] if numbers is None else [numbers[row] for row in of_rows]
        kept = [repeated.column(name) for name in self._keep]
        columns = [samples, pa.array(turns_of_rows, pa.int64()), *kept, pa.array(texts, pa.large_string())]
        return self._lines.lines(pa.RecordBatch.from_arrays(columns, schema=self._schema), first_row)


def _messages(request: Any, *, is_text: bool) -> list[dict[str, Any]]:
    """Return the messages of a request, without keys that are null."""
    if is_text:
        return [{"role": "user", "content": request}]
    given = json.loads(request) if isinstance(request, str) else request
    return [{key: value for key, value in message.items() if value is not None} for message in given]


def messages_json(
    table: StreamLike,
    path: Path,
    *,
    answer: str | None = None,
    turns: Turns = "all",
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
        turns: `"each"` writes a line for each turn of an assistant, with the number of its row as `sample`, that of the
            turn as `turn`, and the messages up to it; a warning counts conversations without a turn. `"all"`
            writes a line for each conversation.
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
    if turns not in get_args(Turns):
        message = f"{turns!r} is not one of {', '.join(map(repr, get_args(Turns)))}"
        raise template_error("unknown_name", "turns", message)
    lines_of: Any = partial(_Conversations, key="messages", fields=("role", "content"), roles=None)
    silent: list[int] = []
    lines_of = partial(_TurnLines, silent=silent) if turns == "each" else lines_of
    source_of = partial(lines_of, answer=answer, keep=keep, prompt=prompt, form=form)
    written = write_lines(table, path, source_of, unknown=unknown)
    if silent:
        text = f"{counted(len(silent), 'conversation')} without a turn of an assistant, and without a line; first row "
        warnings.warn(text + ", ".join(map(str, silent[:3])), PromptWarning, stacklevel=2)
    return written


_HISTORY = pa.list_(pa.list_(pa.string()))


def alpaca(
    table: StreamLike | RenderedStream,
    path: Path,
    *,
    answer: str | None = None,
    input_column: str | None = None,
    keep: Sequence[str] = (),
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as lines of `instruction`, `input` and `output`, as LLaMA-Factory and Axolotl read them.

    A text is the instruction. Messages are as LLaMA-Factory has them: the last message of the user is the
    `instruction`, a system message is `system`, and what both turns before is `history`, a list of pairs. All lines
    have these two keys then, because readers take the keys of a file from its first lines.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        answer: The column whose text is the `output`. None: the last message, which has to be the assistant's.
        input_column: The column whose text is the `input`, which readers put after the instruction. None: it is empty,
            as for rows in which the column is null.
        keep: Columns that stand before the instruction.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The file, the number of lines and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`; if an answer is null, or a row has none; or if messages aren't in turn the
            user's and the assistant's, or have more than a role and a text.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.table({"prompt": ["1+1=?"], "gold": ["2"]})
    >>> _ = export.alpaca(table, f"{folder.name}/train.jsonl", answer="gold")
    >>> print(Path(f"{folder.name}/train.jsonl").read_text(), end="")
    {"instruction": "1+1=?", "input": "", "output": "2"}
    >>> folder.cleanup()
    """

    def source_of(schema: pa.Schema) -> ObjectLines:
        return ObjectLines(schema, _instructions(schema, answer, input_column, Prompts(schema, prompt, form)), keep)

    return write_lines(table, path, source_of, unknown=unknown)


class _Turns(NamedTuple):
    """A conversation in Alpaca's parts."""

    system: str
    history: list[tuple[str, str]]
    instruction: str
    output: str | None


def _instructions(schema: pa.Schema, answer: str | None, input_column: str | None, prompts: Prompts) -> Convert:
    for name in (answer, input_column):
        if name is not None:
            check_answer(schema, name)

    def inputs(batch: pa.RecordBatch, first_row: int) -> pa.Array:
        if input_column is None:
            return pa.repeat(pa.scalar("", pa.large_string()), batch.num_rows)
        column = batch.column(batch.schema.get_field_index(input_column))
        return pc.if_else(column.is_null(), "", column_texts(batch, input_column, first_row))

    def convert(batch: pa.RecordBatch, first_row: int) -> Mapping[str, pa.Array]:
        column = batch.column(batch.schema.get_field_index(prompts.name))
        answers = None if answer is None else answer_texts(batch, answer, first_row)
        if prompts.form == "text":
            if answers is None and len(column):
                raise unanswered(first_row, prompts.name)
            texts = prompts.converted(column, first_row)
            outputs = texts if answers is None else answers
            return {"instruction": texts, "input": inputs(batch, first_row), "output": outputs}
        messages = enumerate(prompts.as_messages(column, first_row).to_pylist(), first_row)
        turns = [_turns(chat, row, prompts.name, has_output=answer is None) for row, chat in messages]
        return {
            "instruction": pa.array([turn.instruction for turn in turns], pa.large_string()),
            "input": inputs(batch, first_row),
            "output": pa.array([turn.output for turn in turns], pa.large_string()) if answers is None else answers,
            "system": pa.array([turn.system for turn in turns], pa.large_string()),
            "history": pa.array([turn.history for turn in turns], _HISTORY),
        }

    return convert


def _turns(messages: list[dict[str, Any]], row: int, name: str, *, has_output: bool) -> _Turns:
    """Cut a conversation into its parts; `has_output` says that its last message is the output."""
    turns = [(message["role"], _text(message, row, name)) for message in messages]
    output = None
    if has_output:
        if turns[-1][0] != ASSISTANT:
            raise unanswered(row, name)
        output = turns.pop()[1]
    system = turns.pop(0)[1] if turns and turns[0][0] in ("system", "developer") else ""
    users, assistants = turns[::2], turns[1::2]
    roles = {role for role, _ in users}, {role for role, _ in assistants}
    if len(users) != len(assistants) + 1 or roles[0] != {"user"} or not roles[1] <= {ASSISTANT}:
        listed = ", ".join(message["role"] for message in messages)
        message = (
            "its messages are not in turn the user's and the assistant's, with the user's last before the answer"
            f" (they are of: {listed}); messages-json and sharegpt take any conversation"
        )
        raise render_error("invalid_role", message, row, name)
    history = [(user, reply) for (_, user), (_, reply) in zip(users[:-1], assistants, strict=True)]
    return _Turns(system, history, users[-1][1], output)


def _text(message: dict[str, Any], row: int, name: str) -> str:
    others = [key for key, value in message.items() if key not in ("role", "content") and value is not None]
    content = message["content"]
    if others or not isinstance(content, str):
        what = f"has {others[0]!r}" if others else "is no text"
        text = f"a message of {message['role']!r} {what}, for which this form has no place; export messages_json"
        raise render_error("wrong_column_type", text, row, name)
    return content
