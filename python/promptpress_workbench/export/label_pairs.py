"""Pairs of a better and a worse answer, made of the rows that a sample has for its labels; `trl_files` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
from promptpress.engine.errors import render_error
from promptpress.engine.tables import take_rows

from promptpress_workbench.export.answers import ASSISTANT, lists_between
from promptpress_workbench.export.chat_messages import Prompts, column_field
from promptpress_workbench.export.custom_ids import SAMPLE
from promptpress_workbench.export.object_lines import no_rows


class LabelPairs:
    """Makes pairs of the rows of batches of one schema.

    Rows of one sample stand together. The next sample begins where a label comes again, or where the column `sample`
    has another number.
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
        """Return the first row of each sample."""
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
        """Make the pairs of the samples between the bounds."""
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
