"""Answers in their own prompts: their text, with the piece that brings it in, and samples among their own examples.

Short answers (a letter, a number, yes) occur in every prompt by chance, so they count only if the answer's own
placeholder brings them in. Longer answers are searched for as whole words. An answer is there by design, for the model
to choose or to find, if most rows have it in the same column, if it is the whole value of a column, or if the answers
are a few names of classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import counted
from promptpress.engine.tables import bytes_of, is_text
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch, Texts, texts_within
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.findings import (
    MAX_FIRST_ROWS,
    Finding,
    Rows,
    concatenated,
    finding_of,
    sorted_unique,
    take_column,
    take_table,
)
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject
from promptpress_workbench.prompts.prompt_source import parent_rows

_MIN_CHARACTERS = 10
"""Shorter answers occur in prompts by chance."""

_WORDS = r"(^|[^\\\p{L}])\p{L}{3}"
"""Answers other than numbers and formulas: they contain a word that isn't a command of LaTeX."""

_MIN_SHARE_BY_DESIGN = 0.5
"""The share of the searched answers in one column from which on they are there by design."""

_MIN_ROWS_PER_CLASS = 5
"""The average number of rows with the same answer from which on answers are names of classes."""

_SEARCHED = ("answer_in_value", "answer_by_design", "answer_in_example")
"""The codes of answers whose text is searched for."""

_MAX_DISTINCT = 100_000
_MAX_MESSAGES = 1 << 24
"""A number above that of the messages of any request."""

_MESSAGES = {
    "own_example_row": "the sample is itself among its examples: the same row of the same table",
    "own_example_equal": "an example has the sample's values in {columns}",
    "own_example_alike": "an example has the sample's values in {columns}, but for case, spaces and punctuation",
}
_MAX_COMPARED = 1000
"""The number of samples that are compared to find out if they are the table of examples."""

_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,}(?![^\W_])")


class Answers(Check):
    """Answers in their own prompts."""

    codes = ("answer_in_prompt", *_SEARCHED)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        assert subject.output_column is not None
        self._name = subject.output_column
        self._direct = Rows()
        self._filled_by = ""
        self._counted = 0
        self._distinct: set[int] = set()
        columns = [name for name in subject.schema.names if name != self._name]
        self._within = {name: Rows() for name in columns}
        self._options = {name: Rows() for name in columns}
        self._in_template, self._in_examples = Rows(), Rows()
        self._example = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true if the model gives one answer, and the samples have it."""
        is_conversation = subject.has_turns or subject.family == "MultiTurnPromptTemplate"
        return subject.output_column is not None and subject.is_gen and not is_conversation

    def add(self, batch: Batch) -> None:
        wanted = self._subject.codes
        if "answer_in_prompt" in wanted and self._name in batch.content.columns:
            self._add_direct(batch)
        answers = None if wanted.isdisjoint(_SEARCHED) else _plain_texts(batch.column(self._name))
        if answers is None:
            return
        answers = _where(pc.greater_equal(pc.utf8_length(answers), _MIN_CHARACTERS), answers)
        if answers.null_count < len(answers):
            answers = _where(pc.match_substring_regex(answers, _WORDS), answers)
        count = len(answers) - answers.null_count
        if not count:
            return
        self._counted += count
        if len(self._distinct) < _MAX_DISTINCT:
            self._distinct.update(map(hash, pc.unique(answers.drop_null()).to_pylist()))
        rows = self._add_columns(batch, answers)
        if len(rows):
            every = _core.repeated_rows(0, len(answers), 1)
            answers = _where(pc.invert(pc.is_in(every, value_set=rows)), answers)
        if answers.null_count < len(answers):
            answers = self._add_template(batch, answers)
            if self._subject.has_examples and answers.null_count < len(answers):
                self._add_examples(batch, answers)

    def _add_direct(self, batch: Batch) -> None:
        """Add the rows whose request shows the answer's own column."""
        column = batch.column(self._name)
        texts = _plain_texts(column)
        # An empty answer isn't visible in a prompt.
        has_text = column.is_valid() if texts is None else pc.greater(pc.fill_null(pc.binary_length(texts), 0), 0)
        rows = batch.visible_rows(self._name, pc.indices_nonzero(has_text))
        if not len(rows):
            return
        location: tuple[int, ...] = ()
        if not self._direct:
            first = rows[0].as_py()
            self._filled_by = self._piece(batch, first)
            for span in batch.explained(batch.first + first):
                if span["column"] == self._name and span["source"].endswith("field") and span["example"] is None:
                    location = span["start"], span["end"]
                    break
        self._direct.add(batch.row_numbers(rows), *location)

    def _piece(self, batch: Batch, row: int) -> str:
        """Name the piece that brings in the answer of a row: the template, or a value with its placeholder."""
        if self._name in self._subject.template_columns or not self._subject.is_harness:
            return "the template"
        for name in batch.names:
            if name != self._name and f"{{{self._name}}}" in str(batch.column(name)[row].as_py()):
                return f"a value of column {name!r}"
        return "braces that meet in the prompt"

    def _add_columns(self, batch: Batch, answers: pa.Array) -> pa.Array:
        """Add the rows whose answer is in another column, and return their numbers in the batch."""
        rows: list[pa.Array] = []
        for name in batch.names:
            if name == self._name:
                continue
            wholes: list[pa.Array] = []
            parts: list[pa.Array] = []
            location: tuple[int, ...] = ()
            for texts in batch.texts(name):
                needles = texts.spread(answers)
                starts = _core.find_row_texts(texts.array, needles, True)
                numbers = batch.visible_texts(name, texts, pc.indices_nonzero(starts.is_valid()))
                if not len(numbers):
                    continue
                sizes = (pc.binary_length(array.take(numbers)) for array in (texts.array, needles))
                is_whole = pc.equal(*sizes)
                inside = numbers.filter(pc.invert(is_whole))
                if len(inside) and batch.is_flat(name):
                    first = inside[0].as_py()
                    start = starts[first].as_py()
                    location = (start, start + len(needles[first].as_py().encode()))
                wholes.append(texts.rows(numbers.filter(is_whole)))
                parts.append(texts.rows(inside))
            self._options[name].add(batch.row_numbers(concatenated(wholes)))
            self._within[name].add(batch.row_numbers(concatenated(parts)), *location)
            rows += [*wholes, *parts]
        return concatenated(rows)

    def _add_template(self, batch: Batch, answers: pa.Array) -> pa.Array:
        """Add the rows whose answer is in a literal of the template, and return the answers of the others."""
        rows: list[pa.Array] = []
        plans = batch.content.plans
        for number, literals in enumerate(batch.content.literals):
            needles = answers if plans is None else _where(pc.equal(plans, number), answers)
            candidates = [text for text in pc.unique(needles.drop_null()).to_pylist() if text in literals]
            column = pa.array(candidates, needles.type)
            starts = _core.find_row_texts(pa.array([literals] * len(candidates), needles.type), column, True)
            column = column.filter(starts.is_valid())
            if len(column):
                is_match = pc.is_in(needles, value_set=column)
                rows.append(pc.indices_nonzero(is_match).cast(pa.int64()))
                answers = _where(pc.invert(is_match), answers)
        self._in_template.add(batch.row_numbers(concatenated(rows)))
        return answers

    def _add_examples(self, batch: Batch, answers: pa.Array) -> None:
        """Add the rows whose answer is in one of their examples."""
        mask = batch.content.examples
        if mask is not None:
            answers = _where(mask, answers)
        rows: list[pa.Array] = []
        for part, requests in enumerate(batch.requests):
            for texts in requests.message_texts:
                samples = texts.spread(requests.samples)
                needles = answers.take(pc.subtract(samples, batch.first))
                starts = _core.find_row_texts(texts.array, needles, True)
                numbers = pc.indices_nonzero(starts.is_valid())
                if not len(numbers):
                    continue
                starts = starts.take(numbers)
                ends = pc.add(starts, pc.binary_length(needles.take(numbers)).cast(pa.int64()))
                matches, examples = _example_overlaps(batch.spans[part], texts, numbers, starts, ends)
                hits = sorted_unique(matches)
                if len(hits) and not self._in_examples and not rows:
                    span = examples[pc.index(matches, pc.min(matches)).as_py()].as_py()
                    column = "" if span["column"] is None else f", column {span['column']!r}"
                    row = samples[numbers[hits[0].as_py()].as_py()].as_py()
                    self._example = f"example {span['example']}{column}, of row {self._subject.row_number(row)}"
                rows.append(pc.subtract(samples.take(numbers.take(hits)), batch.first))
        self._in_examples.add(batch.row_numbers(concatenated(rows)))

    def findings(self) -> Iterator[Finding]:
        message = f"the answer, column {self._name!r}, is filled into the prompt by {self._filled_by}"
        yield finding_of("answer_in_prompt", message, self._direct)
        is_class = self._counted >= _MIN_ROWS_PER_CLASS * max(len(self._distinct), 1)
        is_class = is_class and self._counted > _MIN_ROWS_PER_CLASS**2
        many = _MIN_SHARE_BY_DESIGN * self._counted
        for name, rows in self._within.items():
            share = f"{rows.count:,} of {counted(self._counted, 'row')} whose answer is long enough to tell"
            message = f"the text of the answer stands in a value of column {name!r}, in {share}"
            if is_class or rows.count >= many:
                why = "answers are names of classes" if is_class else "it is to be found there"
                yield finding_of("answer_by_design", f"{message}; {why}", rows, name)
            else:
                yield finding_of("answer_in_value", message, rows, name)
        # If answers are options, most rows have their answer as one: a question that is its own answer is none.
        has_options = is_class or sum(rows.count for rows in self._options.values()) >= many
        for name, rows in self._options.items():
            message = f"the answer is a whole value of column {name!r}"
            code = "answer_by_design" if has_options else "answer_in_value"
            yield finding_of(code, f"{message}, one of the options" if has_options else message, rows, name)
        yield finding_of("answer_by_design", "the text of the answer stands in the template", self._in_template)
        code = "answer_by_design" if is_class else "answer_in_example"
        why = "; answers are names of classes" if is_class else ""
        message = f"the text of the answer stands in {self._example or 'an example'}{why}"
        yield finding_of(code, message, self._in_examples)


def _where(mask: pa.Array, texts: pa.Array) -> pa.Array:
    """Return texts with nulls where a mask isn't true."""
    return pc.if_else(mask, texts, pa.scalar(None, texts.type))


def _plain_texts(column: pa.Array) -> pa.Array | None:
    """Return the texts of a column of answers; None if its values aren't texts."""
    for texts in texts_within(column):
        if texts.parents is None and is_text(texts.array.type) and not pa.types.is_struct(column.type):
            return texts.array
    return None


def _example_overlaps(
    spans: pa.Array, texts: Texts, numbers: pa.Array, starts: pa.Array, ends: pa.Array
) -> tuple[pa.Array, pa.Array]:
    """Return the overlaps of matches (a text's number, bytes) with spans of examples: number and span of each."""
    numbers = numbers.cast(pa.int64())
    requests = texts.rows(numbers)
    messages = pc.multiply(numbers, 0)
    flat = spans.flatten()
    has_messages = flat.type.get_field_index("message") >= 0
    if texts.parents is not None and has_messages:
        # The texts of a request follow each other, and each one is a message.
        messages = pc.subtract(numbers, pc.index_in(requests, value_set=texts.parents).cast(pa.int64()))
    parents = pc.list_parent_indices(spans).cast(pa.int64())
    of_example = pc.indices_nonzero(pc.struct_field(flat, "example").is_valid())
    flat, parents = flat.take(of_example), parents.take(of_example)
    span_messages = pc.struct_field(flat, "message").cast(pa.int64()) if has_messages else pc.multiply(parents, 0)
    keys = pc.add(pc.multiply(requests, _MAX_MESSAGES), messages)
    matches = pc.index_in(pc.add(pc.multiply(parents, _MAX_MESSAGES), span_messages), value_set=keys)
    overlap = pc.and_(
        pc.less(pc.struct_field(flat, "start"), ends.take(matches)),
        pc.greater(pc.struct_field(flat, "end"), starts.take(matches)),
    )
    kept = pc.indices_nonzero(overlap)
    return matches.take(kept), flat.take(kept)


class OwnExamples(ConfiguredCheck):
    """Samples that are shown to the model as an example of themselves.

    Rows are compared by hashes of the columns that templates show and both tables have. The examples of each sample are
    those that the retriever chooses. If it chooses by the sample's position, the hashes are kept until all samples are
    read, which takes 32 bytes for each sample.
    """

    codes = tuple(_MESSAGES)
    reads_columns = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        examples = subject.examples
        assert examples is not None
        # The longest column comes first, because rows are skipped by its words.
        self._columns = sorted(_compared_columns(subject), key=lambda name: -bytes_of(examples[name]))
        if subject.output_column is not None and subject.output_column in examples.column_names:
            self._columns.append(subject.output_column)
        self._count = len(examples)
        self._examples = _hashes(examples.select(self._columns))
        self._kept: list[tuple[pa.Array, pa.Array]] = []
        self._fixed = self._fixed_choice()
        self._words = None if self._fixed is None else _word_finder(examples[self._columns[0]], self._fixed)
        self._by_code = {code: Rows() for code in _MESSAGES}
        self._first_example: dict[str, int] = {}
        """For each code, the row of the example that the first sample equals."""
        self._count_read = 0
        self._is_same_table = True

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        """Return true if requests show examples, which have columns of the samples."""
        return bool(subject.has_examples and subject.example_columns and _compared_columns(subject))

    def _fixed_choice(self) -> pa.Array | None:
        """Return the examples of every sample, if they are the same for all samples."""
        core = self._subject.core
        if core.by_position or core.index_column is not None:
            return None
        chosen = core.retrieve(1)
        return None if chosen is None else self._absolute(pc.unique(chosen.flatten().cast(pa.int64())))

    def _absolute(self, chosen: pa.Array) -> pa.Array:
        """Replace negative numbers of examples, which count from the end."""
        return pc.if_else(pc.less(chosen, 0), pc.add(chosen, self._count), chosen)

    def add(self, batch: ConfiguredBatch) -> None:
        samples = pa.Table.from_batches([batch.samples.select(self._columns)])
        gap = batch.first - self._count_read  # rows that can't be rendered, and were left out
        self._count_read = batch.first
        compared = samples.slice(0, max(0, _MAX_COMPARED - self._count_read))
        if self._is_same_table and len(compared):
            # Single rows may be equal by chance, but not all first rows.
            exact = _core.content_hashes(compared, False).cast(pa.binary())
            self._is_same_table = bool(exact.equals(self._examples[0].slice(self._count_read, len(compared))))
        self._count_read += len(samples)
        mask = batch.content.examples
        if self._fixed is not None:
            self._compare_fixed(batch.first, samples, self._fixed, mask)
            return
        hashes = _hashes(samples)
        if mask is not None:
            # A sample whose request shows no example equals none.
            nothing = pa.scalar(None, pa.binary())
            hashes = (pc.if_else(mask, hashes[0], nothing), pc.if_else(mask, hashes[1], nothing))
        if self._subject.core.by_position:
            self._kept += [(pa.nulls(gap, pa.binary()), pa.nulls(gap, pa.binary()))] if gap else []
            self._kept.append(hashes)
        elif self._subject.core.index_column is not None:
            self._compare(batch.first, hashes, batch.column(self._subject.core.index_column))

    def _compare_fixed(self, first: int, samples: pa.Table, chosen: pa.Array, mask: pa.Array | None) -> None:
        """Compare samples with the examples of all samples, of which few samples are similar to any."""
        rows = _core.repeated_rows(0, len(samples), 1)
        if self._words is not None:
            rows = pc.unique(self._words.find(samples[self._columns[0]].combine_chunks()).column(0))
        if mask is not None:
            rows = rows.filter(mask.take(rows))
        if not len(rows):
            return
        if len(rows) < len(samples):
            samples = take_table(samples, rows)
        normalised = _core.content_hashes(samples, True).cast(pa.binary())
        similar = pc.indices_nonzero(pc.is_in(normalised, value_set=self._examples[1].take(chosen)))
        if len(similar):
            lists = pa.array([chosen.to_pylist()] * len(similar), pa.list_(pa.int64()))
            exact = _core.content_hashes(take_table(samples, similar), False).cast(pa.binary())
            self._compare(first, (exact, normalised.take(similar)), lists, rows.take(similar))

    def _compare(
        self, first: int, hashes: tuple[pa.Array, pa.Array], chosen: pa.Array, rows: pa.Array | None = None
    ) -> None:
        """Compare samples with their lists of examples; `rows` has their numbers after `first` if some are left out."""
        parents = parent_rows(chosen)
        examples = self._absolute(chosen.flatten().cast(pa.int64()))
        numbers = pc.add(parents if rows is None else rows.take(parents), first)
        exact, similar = (
            pc.equal(of_samples.take(parents), of_examples.take(examples))
            for of_samples, of_examples in zip(hashes, self._examples, strict=True)
        )
        same = pc.and_(exact, pc.equal(numbers, examples))
        done = pa.array([], pa.int64())
        for code, mask in zip(_MESSAGES, (same, exact, similar), strict=True):
            matches = pc.indices_nonzero(mask)
            samples = numbers.take(matches)
            is_new = pc.invert(pc.is_in(samples, value_set=done))
            samples = samples.filter(is_new)
            if len(samples):
                self._first_example.setdefault(code, examples[matches.filter(is_new)[0].as_py()].as_py())
                self._by_code[code].add(pc.unique(samples))
                done = pa.concat_arrays([done, samples])

    def _compare_kept(self) -> None:
        chosen = self._subject.core.retrieve(self._count_read)
        first = 0
        for hashes in self._kept:
            assert chosen is not None
            self._compare(first, hashes, chosen.slice(first, len(hashes[0])))
            first += len(hashes[0])
        self._kept = []

    def _merge_same_rows(self) -> None:
        """Count rows with the same number as merely equal, because the tables differ."""
        merged = {code: self._by_code.pop(code) for code in ("own_example_row", "own_example_equal")}
        first_examples = {rows.first[0]: self._first_example[code] for code, rows in merged.items() if rows}
        first = sorted(number for rows in merged.values() for number in rows.first)[:MAX_FIRST_ROWS]
        rows = Rows(sum(rows.count for rows in merged.values()), first)
        self._by_code = {"own_example_equal": rows, **self._by_code}
        self._first_example["own_example_equal"] = first_examples[first[0]]

    def findings(self) -> Iterator[Finding]:
        if self._kept:
            self._compare_kept()
        columns = ", ".join(map(repr, self._columns))
        if not self._is_same_table and self._by_code["own_example_row"]:
            self._merge_same_rows()
        for code, rows in self._by_code.items():
            if rows:
                row = self._subject.row_number(rows.first[0])
                example = f"; of row {row} it is row {self._first_example[code]} of the examples"
                yield finding_of(code, _MESSAGES[code].format(columns=columns) + example, rows)


def _compared_columns(subject: ConfiguredSubject) -> list[str]:
    """Return the columns that templates show and both tables have, without the answer."""
    examples = subject.examples
    names = [] if examples is None else examples.column_names
    return [name for name in subject.template_columns if name in names and name != subject.output_column]


def _hashes(rows: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return a hash of each row, and one that ignores case, spaces and punctuation."""
    exact, normalised = (_core.content_hashes(rows, flag).cast(pa.binary()) for flag in (False, True))
    return exact, normalised


def _word_finder(column: pa.ChunkedArray, chosen: pa.Array) -> _core.TextFinder | None:
    """Return a finder of the longest word of each example, in the cases that words have; None if one has no word.

    A sample without any of these words is similar to no example. Looking for words is ten times as fast as comparing
    texts without case, spaces and punctuation.
    """
    longest = set()
    for text in take_column(column, chosen.take(pc.sort_indices(chosen))).to_pylist():
        words = _WORD.findall(text) if isinstance(text, str) else []
        if not words:
            return None
        longest.add(max(words, key=len))
    cases = {case for word in longest for case in (word, word.lower(), word.upper(), word.capitalize())}
    return _core.TextFinder(sorted(cases))
