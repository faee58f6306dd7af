"""The answer's text in its own prompt, and by which piece it got there.

Short answers (a letter, a number, yes) stand in every prompt, and say nothing: they count where the answer's own
placeholder brings them in. Of longer ones whole words are looked for. Where most rows have the answer in one column, or
it is one of the column's values as a whole, it is there for the model to choose or find; so it is where the answers are
few names of classes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.example_spans import ExampleSpans
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject
from promptpress._audit.texts import is_text, texts_within

__all__ = ["Answers"]

_MIN_CHARACTERS = 10
"""Shorter answers stand in prompts by chance."""

_WORDS = r"(^|[^\\\p{L}])\p{L}{3}"
"""What is no number and no formula: it has a word, which isn't a command of LaTeX."""

_MOST = 0.5
"""Of the rows with such an answer: from here on the column is where it is to be found."""

_FEW_CLASSES = 5
"""Rows an answer, on the average, from which on answers are names of classes."""

_MAX_DISTINCT = 100_000


class Answers:
    """Answers in their own prompts."""

    def __init__(self, subject: Subject, answers: str) -> None:
        self._subject = subject
        self._name = answers
        self._direct = Rows()
        self._by = ""
        self._counted = 0
        self._distinct: set[int] = set()
        columns = [name for name in subject.schema.names if name != answers]
        self._within = {name: Rows() for name in columns}
        self._options = {name: Rows() for name in columns}
        self._in_template, self._in_examples = Rows(), Rows()
        self._example = ""

    @classmethod
    def of(cls, subject: Subject) -> Answers | None:
        """Where a model is to give one answer, and the samples have it."""
        name = subject.output_column
        if name is None or not subject.is_gen or subject.core.has_turns or subject.family == "MultiTurnPromptTemplate":
            return None
        return cls(subject, name)

    def add(self, batch: Batch) -> None:
        """Look for the answers of more samples."""
        if self._name in batch.shown.columns:
            self._add_direct(batch)
        answers = _plain(batch.column(self._name))
        if answers is None:
            return
        long = pc.greater_equal(pc.utf8_length(answers), _MIN_CHARACTERS)
        long = pc.and_(long, pc.match_substring_regex(answers, _WORDS))
        answers = pc.if_else(pc.fill_null(long, False), answers, pa.scalar(None, answers.type))
        count = len(answers) - answers.null_count
        if not count:
            return
        self._counted += count
        if len(self._distinct) < _MAX_DISTINCT:
            self._distinct.update(map(hash, pc.unique(answers.drop_null()).to_pylist()))
        self._add_text(batch, answers)

    def _add_direct(self, batch: Batch) -> None:
        """Find the rows whose request shows the answer's own column."""
        column = batch.column(self._name)
        texts = _plain(column)
        # Of an empty answer nothing is seen in a prompt.
        says = column.is_valid() if texts is None else pc.greater(pc.fill_null(pc.binary_length(texts), 0), 0)
        rows = batch.visible(self._name, pc.indices_nonzero(says))
        if not len(rows):
            return
        if not self._direct:
            first = batch.first + rows[0].as_py()
            self._by = self._way(batch, first)
            self._direct.add(batch.numbers(rows), *self._place(batch, first))
        else:
            self._direct.add(batch.numbers(rows))

    def _way(self, batch: Batch, row: int) -> str:
        """Say by which piece the answer of a row is filled in: by the template, or by a value that asks for it."""
        if self._name in self._subject.template_columns or not self._subject.is_harness:
            return "the template"
        for name in batch.names:
            value = batch.column(name)[row - batch.first].as_py()
            if name != self._name and f"{{{self._name}}}" in str(value):
                return f"a value of column {name!r}"
        return "braces that meet in the prompt"

    def _place(self, batch: Batch, row: int) -> tuple[int, int] | tuple[()]:
        """Say where the answer is filled into a sample's own part of its request."""
        for span in batch.explained(row):
            if span["column"] == self._name and span["source"] == "field" and span["example"] is None:
                return span["start"], span["end"]
        return ()

    def _add_text(self, batch: Batch, answers: pa.Array) -> None:
        found: list[pa.Array] = []
        for name in batch.names:
            if name == self._name:
                continue
            within = self._within[name]
            wholes, parts = [pa.array([], pa.int64())], [pa.array([], pa.int64())]
            place: tuple[int, int] | tuple[()] = ()
            for texts in batch.texts(name):
                own = answers if texts.parents is None else answers.take(texts.parents)
                starts = _core.find_own(texts.array, own, True)
                places = pc.indices_nonzero(starts.is_valid())
                places = batch.said(name, texts, places) if len(places) else places
                if not len(places):
                    continue
                whole = pc.equal(pc.binary_length(texts.array.take(places)), pc.binary_length(own.take(places)))
                options = texts.rows(places.filter(whole))
                inside = places.filter(pc.invert(whole))
                rows = texts.rows(inside)
                if len(rows) and batch.is_flat(name):
                    start = starts[inside[0].as_py()].as_py()
                    place = (start, start + len(own[inside[0].as_py()].as_py().encode()))
                wholes.append(options.cast(pa.int64()))
                parts.append(rows.cast(pa.int64()))
            self._options[name].add(batch.numbers(pa.concat_arrays(wholes)))
            within.add(batch.numbers(pa.concat_arrays(parts)), *place)
            found += [*wholes[1:], *parts[1:]]
        left = answers
        if found:
            hit = pc.is_in(_core.repeated_rows(0, len(answers), 1), value_set=pa.concat_arrays(found))
            left = pc.if_else(hit, pa.scalar(None, answers.type), answers)
        if left.null_count < len(left):
            self._add_rest(batch, left)

    def _add_rest(self, batch: Batch, answers: pa.Array) -> None:
        """Look for answers that no column has: in the template, and in examples."""
        in_template = [pa.array([], pa.int64())]
        for number, literals in enumerate(batch.shown.literals):
            own = answers
            if batch.shown.plans is not None:
                own = pc.if_else(pc.equal(batch.shown.plans, number), own, pa.scalar(None, own.type))
            known = [text for text in pc.unique(own.drop_null()).to_pylist() if text in literals]
            starts = _core.find_own(pa.array([literals] * len(known), own.type), pa.array(known, own.type), True)
            known = pa.array(known, own.type).filter(starts.is_valid())
            if len(known):
                here = pc.is_in(own, value_set=known)
                in_template.append(pc.indices_nonzero(here).cast(pa.int64()))
                answers = pc.if_else(here, pa.scalar(None, answers.type), answers)
        self._in_template.add(batch.numbers(pa.concat_arrays(in_template)))
        if not self._subject.has_examples or answers.null_count == len(answers):
            return
        mask = batch.shown.examples
        if mask is not None:
            answers = pc.if_else(mask, answers, pa.scalar(None, answers.type))
        found = [pa.array([], pa.int64())]
        for number, requests in enumerate(batch.requests):
            for texts in requests.message_texts:
                rows = requests.samples if texts.parents is None else requests.samples.take(texts.parents)
                own = answers.take(pc.subtract(rows, batch.first))
                starts = _core.find_own(texts.array, own, True)
                places = pc.indices_nonzero(starts.is_valid())
                if not len(places):
                    continue
                starts = starts.take(places)
                ends = pc.add(starts, pc.binary_length(own.take(places)).cast(pa.int64()))
                spans = ExampleSpans(batch.spans[number], texts, places, starts, ends)
                hits = spans.hits()
                if len(hits) and not self._in_examples and len(found) == 1:
                    row = rows[places[hits[0].as_py()].as_py()].as_py()
                    self._example = f"{spans.first()}, of row {row}"
                found.append(pc.subtract(rows.take(places.take(hits)), batch.first))
        self._in_examples.add(batch.numbers(pa.concat_arrays(found)))

    def findings(self) -> Iterator[Finding]:
        """Say which piece brings the answer in, and whether that is by design."""
        if self._direct:
            message = f"the answer, column {self._name!r}, is filled into the prompt by {self._by}"
            yield finding_of("answer_in_prompt", message, self._direct)
        classes = self._counted >= _FEW_CLASSES * max(len(self._distinct), 1) and self._counted > _FEW_CLASSES**2
        for name, rows in self._within.items():
            if rows:
                share = f"{rows.count:,} of {self._counted:,} rows whose answer is long enough to tell"
                message = f"the text of the answer stands in a value of column {name!r}, in {share}"
                why = "answers are names of classes" if classes else ""
                why = why or ("it is to be found there" if rows.count >= _MOST * self._counted else "")
                code = "answer_by_design" if why else "answer_in_value"
                yield finding_of(code, f"{message}; {why}" if why else message, rows, name)
        # A question that is its own answer is no option: of options most rows have the answer as one.
        has_options = classes or sum(rows.count for rows in self._options.values()) >= _MOST * self._counted
        for name, rows in self._options.items():
            if rows:
                message = f"the answer is a whole value of column {name!r}"
                code = "answer_by_design" if has_options else "answer_in_value"
                yield finding_of(code, f"{message}, one of the options" if has_options else message, rows, name)
        if self._in_template:
            yield finding_of("answer_by_design", "the text of the answer stands in the template", self._in_template)
        if self._in_examples:
            code = "answer_by_design" if classes else "answer_in_example"
            why = "; answers are names of classes" if classes else ""
            message = f"the text of the answer stands in {self._example or 'an example'}{why}"
            yield finding_of(code, message, self._in_examples)


def _plain(column: pa.Array) -> pa.Array | None:
    """The texts of a column of answers; None where they are no texts."""
    for texts in texts_within(column):
        if texts.parents is None and is_text(texts.array.type) and not pa.types.is_struct(column.type):
            return texts.array
    return None
