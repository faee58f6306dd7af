"""Placeholders in values, and whether they change the prompt."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["Placeholders"]

_NAMES = (
    *("question", "answer", "input", "output", "context", "prompt", "text", "passage", "article", "document"),
    *("choices", "options", "target", "instruction", "query", "response", "reference", "title", "subject", "sentence"),
    *("premise", "hypothesis"),
)
"""Names that templates have in braces, and LaTeX and sets of mathematics mostly haven't."""

_LATEX = r"(\\[A-Za-z]{2,}\*?(\[[^\[\]]*\])?|[_^])(\{[^{}]*\})+"
"""A command with what it is of, or an index: \\begin{document}, W_{output}. A single letter is an escaped line end."""


class Placeholders:
    """Values that have a placeholder in them."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._needles = [f"{{{name}}}" for name in subject.schema.names]
        others = [f"{{{name}}}" for name in _NAMES if name not in subject.schema.names]
        self._finder = _core.TextFinder([*self._needles, *others])
        self._filled = {name: Rows() for name in subject.schema.names}
        self._by_examples = Rows()
        self._idle = {name: Rows() for name in subject.schema.names}
        self._unfilled = {name: Rows() for name in subject.schema.names}
        self._other = subject.single_pass if subject.core.by_position and subject.is_harness else None
        self._position = _core.Position()

    @classmethod
    def of(cls, subject: Subject) -> Placeholders:
        """Any column may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look for placeholders, and for prompts that they change."""
        changed, columns = self._changed(batch)
        named: dict[str, pa.Array] = {}
        for name in batch.names:
            idle, unfilled = [pa.array([], pa.int64())], [pa.array([], pa.int64())]
            for texts in batch.texts(name):
                hits = self._finder.find(texts.array)
                if not len(hits):
                    continue
                places = pc.unique(hits.column(0))
                said = batch.said(name, texts, places)
                if len(said) < len(places):
                    hits = hits.filter(pc.is_in(hits.column(0), value_set=said))
                is_column = pc.less(hits.column(1), len(self._needles))
                own = pc.unique(hits.column(0).filter(is_column))
                others = pc.unique(hits.column(0).filter(pc.invert(is_column)))
                others = others.filter(pc.invert(pc.is_in(others, value_set=own)))
                others = self._without_latex(texts.array, others)
                rows = texts.rows(own)
                here = rows.filter(pc.is_in(rows, value_set=changed))
                named[name] = pa.concat_arrays([named[name], here]) if name in named else here
                idle.append(rows.cast(pa.int64()))
                unfilled.append(texts.rows(others).cast(pa.int64()))
            self._add(self._idle[name], batch, pa.concat_arrays(idle), changed)
            self._add(self._unfilled[name], batch, pa.concat_arrays(unfilled), changed)
        if len(changed):
            self._add_changed(batch, changed, columns, named)

    def _without_latex(self, texts: pa.Array, places: pa.Array) -> pa.Array:
        """Leave out the texts that have such names in LaTeX alone."""
        if not len(places):
            return places
        rest = pc.replace_substring_regex(texts.take(places).cast(pa.large_string()), _LATEX, " ")
        return places.take(pc.unique(self._finder.find(rest).column(0)))

    def _add_changed(
        self, batch: Batch, changed: pa.Array, columns: pa.Array | None, named: dict[str, pa.Array]
    ) -> None:
        """Say which column's value changes a prompt: of the sample, if one has a placeholder, else of an example."""
        left = changed
        of_columns = named
        if columns is not None:
            rows, names = changed.take(pc.list_parent_indices(columns)), columns.flatten()
            of_columns = {name: rows.filter(pc.equal(names, name)) for name in pc.unique(names).to_pylist()}
        for name, rows in of_columns.items():
            own = rows.filter(pc.is_in(rows, value_set=named[name])) if name in named else rows.slice(0, 0)
            if not self._subject.has_examples:
                own = rows  # what has no placeholder completes one
            left = left.filter(pc.invert(pc.is_in(left, value_set=own)))
            numbers = batch.numbers(own)
            filled = self._filled[name]
            filled.add(numbers, *(self._place(batch, name, own) if len(own) and not filled else ()))
        if self._subject.has_examples:
            self._by_examples.add(batch.numbers(left))

    @staticmethod
    def _add(rows: Rows, batch: Batch, own: pa.Array, done: pa.Array) -> None:
        rows.add(batch.numbers(own.filter(pc.invert(pc.is_in(own, value_set=done)))))

    def _place(self, batch: Batch, name: str, rows: pa.Array) -> tuple[int, int] | tuple[()]:
        """Say where the first of some values has a placeholder; nowhere, where it completes one."""
        if name not in batch.samples.schema.names or not batch.is_flat(name):
            return ()
        text = batch.column(name)[pc.min(rows).as_py()].as_py() or ""
        places = [(at, needle) for needle in self._needles if (at := text.find(needle)) >= 0]
        if not places:
            return ()
        at, needle = min(places)
        start = len(text[:at].encode())
        return start, start + len(needle.encode())

    def _changed(self, batch: Batch) -> tuple[pa.Array, pa.Array | None]:
        """Give the rows whose prompts depend on braces in values, and the columns of each, where they are known."""
        if not self._subject.is_harness:
            return pa.array([], pa.int64()), None
        if self._other is None:
            return batch.divergence
        # A batch alone doesn't know which examples its samples have: it is rendered the other way, in its place.
        parts = self._other.core.render(batch.core_table, self._subject.labels, self._position, False, batch.lower)
        found = [pa.array([], pa.int64())]
        for requests, part in zip(batch.requests, parts, strict=True):
            own, other = (_core.request_hashes(one, self._subject.is_json) for one in (requests.messages, part.prompts))
            differ = pc.indices_nonzero(pc.not_equal(own.cast(pa.binary()), other.cast(pa.binary())))
            found.append(pc.unique(pc.subtract(requests.samples.take(differ), batch.first)))
        return pa.concat_arrays(found), None

    def findings(self) -> Iterator[Finding]:
        """Name the columns."""
        for name, rows in self._filled.items():
            if not rows:
                continue
            message = f"braces in a value of column {name!r} are taken for a placeholder, and change the prompt"
            yield finding_of("placeholder_filled", message, rows, name)
        if self._by_examples:
            message = "braces in an example's value are taken for a placeholder of the sample, and change the prompt"
            yield finding_of("placeholder_filled", message, self._by_examples)
        for name, rows in self._idle.items():
            if rows:
                message = f"a value of column {name!r} has a column's placeholder in it, which changes no prompt"
                yield finding_of("placeholder_in_value", message, rows, name)
        for name, rows in self._unfilled.items():
            if rows:
                message = f"a value of column {name!r} has a name in braces that is no column's"
                yield finding_of("unfilled_value", message, rows, name)
