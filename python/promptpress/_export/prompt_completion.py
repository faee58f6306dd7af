"""Files of prompts and completions, as TRL takes them for supervised fine-tuning: `prompt_completion`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from promptpress._export.answers import (
    ASSISTANT,
    answer_messages,
    answer_texts,
    check_answer,
    lists_between,
    unanswered,
)
from promptpress._export.chat_messages import Form, Prompts
from promptpress._export.line_files import Path, RenderedStream, Written, write_lines
from promptpress._export.misspelt import Unknown
from promptpress._export.object_lines import ObjectLines
from promptpress.typing import StreamLike

__all__ = ["prompt_completion"]


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
        return ObjectLines(schema, _Completions(schema, answer, Prompts(schema, prompt, form)), keep)

    return write_lines(table, path, source_of, unknown=unknown)


class _Completions:
    """Makes prompts and completions of batches."""

    def __init__(self, schema: pa.Schema, answer: str | None, prompts: Prompts) -> None:
        if answer is not None:
            check_answer(schema, answer)
        self._answer = answer
        self._prompts = prompts

    def __call__(self, batch: pa.RecordBatch, first_row: int) -> Mapping[str, pa.Array]:
        column = batch.column(batch.schema.get_field_index(self._prompts.name))
        is_text = self._prompts.form == "text"
        prompts = self._prompts.for_training(column, first_row)
        if self._answer is not None:
            texts = answer_texts(batch, self._answer, first_row)
            return {"prompt": prompts, "completion": texts if is_text else answer_messages(texts)}
        if is_text and len(prompts):
            raise unanswered(first_row, self._prompts.name)
        return {"prompt": prompts, "completion": prompts} if is_text else self._split(prompts, first_row)

    def _split(self, messages: pa.Array, first_row: int) -> Mapping[str, pa.Array]:
        """Split each conversation before its last message."""
        offsets = messages.offsets.to_pylist()
        starts, ends = [start - offsets[0] for start in offsets[:-1]], [end - offsets[0] for end in offsets[1:]]
        lasts = [end - 1 for end in ends]
        roles = messages.flatten().field("role").to_pylist()
        for row, (start, last) in enumerate(zip(starts, lasts, strict=True)):
            if last <= start or roles[last] != ASSISTANT:
                raise unanswered(first_row + row, self._prompts.name)
        return {"prompt": lists_between(messages, starts, lasts), "completion": lists_between(messages, lasts, ends)}
