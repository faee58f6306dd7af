"""Files of instructions, as LLaMA-Factory and Axolotl read them under the name Alpaca: `alpaca`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress.engine.errors import render_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.typing import StreamLike

from promptpress_workbench.export.answers import ASSISTANT, answer_texts, check_answer, column_texts, unanswered
from promptpress_workbench.export.chat_messages import Form, Prompts
from promptpress_workbench.export.line_files import Path, RenderedStream, Written, write_lines
from promptpress_workbench.export.misspelt import Unknown
from promptpress_workbench.export.object_lines import Convert, ObjectLines

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
    """Return the function that makes instructions, inputs and outputs of batches."""
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
