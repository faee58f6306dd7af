"""Files as TRL takes them: prompts and completions for supervised fine-tuning, and preferences for DPO and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from promptpress.engine import as_reader
from promptpress.engine.errors import template_error
from promptpress.typing import StreamLike

from promptpress_workbench.export.answers import (
    ASSISTANT,
    answer_messages,
    answer_texts,
    check_answer,
    lists_between,
    unanswered,
)
from promptpress_workbench.export.chat_messages import Form, Prompts
from promptpress_workbench.export.label_pairs import LabelPairs
from promptpress_workbench.export.line_files import Path, RenderedStream, Written, write_lines
from promptpress_workbench.export.misspelt import Unknown
from promptpress_workbench.export.object_lines import Convert, ObjectLines, kept_members

_KEYS = ("prompt", "chosen", "rejected")


def prompt_completion(
    table: StreamLike | RenderedStream,
    path: Path,
    *,
    answer: str | None = None,
    keep: Sequence[str] = (),
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as lines of a prompt and its completion, as TRL takes them: only the latter is trained.

    Both are texts if the prompts are texts: `{"prompt": "1+1=", "completion": "2"}`, where nothing is put between the
    two. Both are lists of messages if the prompts are messages.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        answer: The column whose text is the completion. None: the last message, which has to be the assistant's.
        keep: Columns that stand before the prompt.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The file, the number of lines and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`; and if an answer is null, or a row has none.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.table({"prompt": ["1+1="], "gold": ["2"]})
    >>> _ = export.prompt_completion(table, f"{folder.name}/train.jsonl", answer="gold")
    >>> print(Path(f"{folder.name}/train.jsonl").read_text(), end="")
    {"prompt": "1+1=", "completion": "2"}
    >>> folder.cleanup()

    """

    def source_of(schema: pa.Schema) -> ObjectLines:
        return ObjectLines(schema, _completions(schema, answer, Prompts(schema, prompt, form)), keep)

    return write_lines(table, path, source_of, unknown=unknown)


def _completions(schema: pa.Schema, answer: str | None, prompts: Prompts) -> Convert:
    """Return the function that makes prompts and completions of batches."""
    is_text = prompts.form == "text"
    if answer is not None:
        check_answer(schema, answer)

    def convert(batch: pa.RecordBatch, first_row: int) -> Mapping[str, pa.Array]:
        column = prompts.for_training(batch.column(batch.schema.get_field_index(prompts.name)), first_row)
        if answer is not None:
            texts = answer_texts(batch, answer, first_row)
            return {"prompt": column, "completion": texts if is_text else answer_messages(texts)}
        if is_text and len(column):
            raise unanswered(first_row, prompts.name)
        return {"prompt": column, "completion": column} if is_text else _split(column, first_row, prompts.name)

    return convert


def _split(messages: pa.Array, first_row: int, name: str) -> Mapping[str, pa.Array]:
    """Split each conversation before its last message."""
    offsets = messages.offsets.to_pylist()
    starts, ends = [start - offsets[0] for start in offsets[:-1]], [end - offsets[0] for end in offsets[1:]]
    lasts = [end - 1 for end in ends]
    roles = messages.flatten().field("role").to_pylist()
    for row, (start, last) in enumerate(zip(starts, lasts, strict=True)):
        if last <= start or roles[last] != ASSISTANT:
            raise unanswered(first_row + row, name)
    return {"prompt": lists_between(messages, starts, lasts), "completion": lists_between(messages, lasts, ends)}


def preference(
    table: StreamLike | RenderedStream,
    path: Path,
    *,
    chosen: str | None = None,
    rejected: str | None = None,
    chosen_label: str | None = None,
    label: str = "label",
    keep: Sequence[str] = (),
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as lines of `prompt`, `chosen` and `rejected`, as TRL takes them for DPO and the like.

    All three are texts if the prompts are texts, or else lists of messages. The two answers come from two columns, or
    from the rows of a sample's labels (`mode="ppl"`): the row whose label a column names is chosen, and each other one
    is rejected in a line of its own. What both rows begin with is the prompt then: the messages that are equal, or the
    words, without the space after them.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        chosen: The column of the better answers.
        rejected: The column of the worse answers.
        chosen_label: In place of both: the column with the label that is right, which the table has kept.
        label: The column of the rows' labels.
        keep: Columns that stand before the prompt.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The file, the number of lines and of bytes.

    Raises:
        TemplateError: As for `openai_batch`; and if it isn't said where both answers come from.
        RenderError: As for `openai_batch`; if an answer is null; or if a sample has no row of the right label, no other
            one, or rows that differ before the assistant's answer.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.table({"prompt": ["1+1="], "gold": ["2"], "wrong": ["3"]})
    >>> _ = export.preference(table, f"{folder.name}/train.jsonl", chosen="gold", rejected="wrong")
    >>> print(Path(f"{folder.name}/train.jsonl").read_text(), end="")
    {"prompt": "1+1=", "chosen": "2", "rejected": "3"}
    >>> folder.cleanup()

    """
    if chosen_label is None:
        if chosen is None or rejected is None:
            message = "name the columns of both answers, the chosen and the rejected ones, or that of the right label"
            raise template_error("missing_key", "chosen" if chosen is None else "rejected", message)
        columns = chosen, rejected

        def source_of(schema: pa.Schema) -> ObjectLines:
            return ObjectLines(schema, _answers(schema, columns, Prompts(schema, prompt, form)), keep)

        return write_lines(table, path, source_of, unknown=unknown)
    if chosen is not None or rejected is not None:
        message = "it takes the place of the columns of chosen and rejected answers; leave those out"
        raise template_error("unknown_key", "chosen_label", message)

    def pairs_of(schema: pa.Schema) -> LabelPairs:
        kept_members(schema, keep, dict.fromkeys(_KEYS))
        return LabelPairs(schema, Prompts(schema, prompt, form), label, chosen_label, keep)

    def of_pairs(schema: pa.Schema) -> ObjectLines:
        return ObjectLines(schema, _as_they_are, keep)

    if isinstance(table, RenderedStream):
        stream, pairs = table, pairs_of(table.schema)
        paired = RenderedStream(pairs.schema, lambda _: pairs.of(stream.batches(None)))
        return write_lines(paired, path, of_pairs, unknown=unknown)
    reader = as_reader(table)
    pairs = pairs_of(reader.schema)
    batches = pa.RecordBatchReader.from_batches(pairs.schema, pairs.of(reader))
    return write_lines(batches, path, of_pairs, unknown=unknown)


def _as_they_are(batch: pa.RecordBatch, _: int) -> Mapping[str, pa.Array]:
    return {key: batch.column(batch.schema.get_field_index(key)) for key in _KEYS}


def _answers(schema: pa.Schema, columns: tuple[str, str], prompts: Prompts) -> Convert:
    """Return the function that makes prompts of batches, with the answers of two columns."""
    chosen, rejected = columns
    for name in columns:
        check_answer(schema, name)

    def convert(batch: pa.RecordBatch, first_row: int) -> Mapping[str, pa.Array]:
        column = prompts.for_training(batch.column(batch.schema.get_field_index(prompts.name)), first_row)
        # A model may have answered nothing.
        texts = [answer_texts(batch, chosen, first_row), answer_texts(batch, rejected, first_row, may_be_empty=True)]
        answers = texts if prompts.form == "text" else list(map(answer_messages, texts))
        return dict(zip(_KEYS, (column, *answers), strict=True))

    return convert
