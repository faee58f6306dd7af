"""Files as TRL takes them: prompts and completions for supervised fine-tuning, and preferences for DPO and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
from promptpress.engine import as_reader
from promptpress.engine.errors import render_error, template_error
from promptpress.engine.tables import take_rows
from promptpress.typing import StreamLike, Unknown

from promptpress_workbench.export.chat_messages import (
    ASSISTANT,
    Form,
    Prompts,
    answer_messages,
    answer_texts,
    check_answer,
    column_field,
    lists_between,
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
    no_rows,
    write_lines,
)

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


class LabelPairs:
    """Makes pairs of the rows of batches of one schema; `chosen_label` is the column of a sample's right label.

    Rows of one sample stand together. The next sample begins where a label comes again, or where the column `sample`
    has another number. The columns of `keep` are those of the chosen row.
    """

    def __init__(self, schema: pa.Schema, prompts: Prompts, label: str, chosen_label: str, keep: Sequence[str]) -> None:
        column_field(schema, label, '; mode="ppl" renders a row for each label')
        column_field(schema, chosen_label)
        samples = [SAMPLE] if SAMPLE in schema.names else []
        self._prompts = prompts
        self._chosen_label = chosen_label
        self._given = schema
        self._columns = [*keep, label, chosen_label, *samples]
        self._kept = len(keep)
        fields = [schema.field(name) for name in keep]
        empty = self._converted(no_rows(schema), 0)
        parts = self._split(empty.column(empty.num_columns - 1), [], 0)
        fields += [
            pa.field(name, part.type) for name, part in zip(("prompt", "chosen", "rejected"), parts, strict=True)
        ]
        self.schema = pa.schema(fields, schema.metadata)
        """The schema of the pairs: kept columns, `prompt`, `chosen` and `rejected`."""

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the pairs of batches, in which samples may go on; refuse samples that have no pair."""
        waiting, first = self._converted(no_rows(self._given), 0), 0
        for batch in batches:
            waiting = pa.concat_tables([waiting, self._converted(batch, first + waiting.num_rows)])
            starts = self._starts(waiting)
            if len(starts) > 1:
                # Rows of the last sample may be still to come.
                yield self._pairs(waiting, starts, first)
                waiting, first = waiting.slice(starts[-1]), first + starts[-1]
        if waiting.num_rows:
            yield self._pairs(waiting, [0, waiting.num_rows], first)

    def _converted(self, batch: pa.RecordBatch, first_row: int) -> pa.Table:
        """Return the columns that pairs are made of: those that are kept, labels, samples, and converted prompts."""
        schema = batch.schema
        prompts = self._prompts.for_training(batch.column(schema.get_field_index(self._prompts.name)), first_row)
        columns = [batch.column(schema.get_field_index(name)) for name in self._columns]
        return pa.Table.from_arrays([*columns, prompts], [*self._columns, self._prompts.name])

    def _starts(self, rows: pa.Table) -> list[int]:
        labels = rows.column(self._kept).to_pylist()
        has_samples = len(self._columns) > self._kept + 2
        samples = rows.column(self._kept + 2).to_pylist() if has_samples else [0] * len(labels)
        starts: list[int] = []
        seen: set[object] = set()
        for row, (label, sample) in enumerate(zip(labels, samples, strict=True)):
            if not starts or label in seen or sample != samples[row - 1]:
                starts.append(row)
                seen.clear()
            seen.add(label)
        return starts

    def _pairs(self, rows: pa.Table, bounds: list[int], first_row: int) -> pa.RecordBatch:
        labels, right = (list(map(str, rows.column(self._kept + n).to_pylist())) for n in (0, 1))
        pairs: list[tuple[int, int]] = []
        for start, end in pairwise(bounds):
            chosen = [row for row in range(start, end) if labels[row] == right[start]]
            rejected = [row for row in range(start, end) if labels[row] != right[start]]
            if not chosen or not rejected:
                listed = ", ".join(map(repr, labels[start:end]))
                what = (
                    f"no row with its right label {right[start]!r}" if not chosen else "no row that could be rejected"
                )
                message = f"its sample has {what}; its labels are {listed}"
                raise render_error("unknown_label", message, first_row + start, self._chosen_label)
            pairs += [(chosen[0], row) for row in rejected]
        indices = pa.array([row for row, _ in pairs], pa.int64())
        kept = [pa.concat_arrays(take_rows(rows.column(number), indices)) for number in range(self._kept)]
        prompts = rows.column(rows.num_columns - 1)
        return pa.RecordBatch.from_arrays([*kept, *self._split(prompts, pairs, first_row)], schema=self.schema)

    def _split(self, prompts: pa.ChunkedArray, pairs: list[tuple[int, int]], first_row: int) -> list[pa.Array]:
        """Return what two prompts begin with, and the rest of each."""
        values = prompts.to_pylist()
        both = [(values[chosen], values[rejected]) for chosen, rejected in pairs]
        is_text = self._prompts.form == "text"
        sizes = [(_common_words if is_text else _common)(*texts) for texts in both]
        for pair, texts, size in zip(pairs, both, sizes, strict=True):
            for row, text in zip(pair, texts, strict=True):
                if not text[size:] or not (is_text or (size and text[size]["role"] == ASSISTANT)):
                    raise self._unpaired(first_row + row, first_row + pair[row == pair[0]])
        if is_text:
            parts = [
                (chosen[:size], chosen[size:], rejected[size:])
                for (chosen, rejected), size in zip(both, sizes, strict=True)
            ]
            return [pa.array(part, pa.large_string()) for part in (zip(*parts, strict=True) if parts else [[], [], []])]
        array = prompts.combine_chunks()
        offsets = array.offsets.to_pylist()
        starts = [[offsets[row] - offsets[0] for row in column] for column in zip(*pairs, strict=True)] or [[], []]
        ends = [[offsets[row + 1] - offsets[0] for row in column] for column in zip(*pairs, strict=True)] or [[], []]
        splits = [[start + size for start, size in zip(column, sizes, strict=True)] for column in starts]
        return [
            lists_between(array, starts[0], splits[0]),
            lists_between(array, splits[0], ends[0]),
            lists_between(array, splits[1], ends[1]),
        ]

    def _unpaired(self, row: int, other: int) -> Exception:
        message = (
            f"it can't be paired with row {other}: the two have to begin with one prompt, and then each has an answer"
            " of the assistant"
        )
        return render_error("no_assistant_message", message, row, self._prompts.name)


def _common(chosen: Sequence[object], rejected: Sequence[object]) -> int:
    """Return how many messages or characters two prompts begin with together."""
    both = zip(chosen, rejected, strict=False)
    return next((index for index, (left, right) in enumerate(both) if left != right), min(len(chosen), len(rejected)))


def _common_words(chosen: str, rejected: str) -> int:
    """Return how many characters two texts begin with together, without parts of a word and a space at their end."""
    size = _common(chosen, rejected)
    if any(_is_of_word(text[size : size + 1]) for text in (chosen, rejected)):
        while size and _is_of_word(chosen[size - 1]):
            size -= 1
    return size - 1 if chosen[size - 1 : size] == " " else size


def _is_of_word(character: str) -> bool:
    """Return true for the end of a text, and for a letter or digit of ASCII: other scripts may not divide words."""
    return not character or (character.isascii() and character.isalnum())
