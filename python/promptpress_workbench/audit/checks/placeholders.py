"""Placeholders in values, and prompts that they change."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import ConfiguredBatch
from promptpress_workbench.audit.checks.check import ConfiguredCheck
from promptpress_workbench.audit.finding import Finding, Rows, concatenated, finding_of, without
from promptpress_workbench.audit.subject import ConfiguredSubject

_NAMES = (
    *("question", "answer", "input", "output", "context", "prompt", "text", "passage", "article", "document"),
    *("choices", "options", "target", "instruction", "query", "response", "reference", "title", "subject", "sentence"),
    *("premise", "hypothesis"),
)
"""Names that templates often have in braces, and LaTeX and mathematical sets seldom have."""

_LATEX = r"(\\[A-Za-z]{2,}\*?(\[[^\[\]]*\])?|[_^])(\{[^{}]*\})+"
"""A command with its argument, or an index: \\begin{document}, W_{output}. A single letter is an escaped line end."""


class Placeholders(ConfiguredCheck):
    """Values with a placeholder."""

    codes = ("placeholder_filled", "placeholder_in_value", "unfilled_value")
    reads_columns = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        names = subject.schema.names
        self._needles = [f"{{{name}}}" for name in names]
        others = [f"{{{name}}}" for name in _NAMES if name not in names]
        self._finder = _core.TextFinder([*self._needles, *others])
        self._filled, self._idle, self._unfilled = ({name: Rows() for name in names} for _ in range(3))
        self._by_examples = Rows()
        # If requests are rendered, most batches needn't be searched for values that are filled in.
        self.reads_requests = subject.is_harness
        self._single_pass = subject.single_pass if subject.core.by_position and subject.is_harness else None

    def add(self, batch: ConfiguredBatch) -> None:
        changed, columns = self._changed_rows(batch)
        rows_by_name: dict[str, pa.Array] = {}
        for name in batch.names:
            idle: list[pa.Array] = []
            filled: list[pa.Array] = []
            unfilled: list[pa.Array] = []
            for texts, matches in batch.matches(name, self._finder.find):
                is_column = pc.less(matches.column(1), len(self._needles))
                numbers = pc.unique(matches.column(0).filter(is_column))
                others = without(pc.unique(matches.column(0).filter(pc.invert(is_column))), numbers)
                others = self._without_latex(texts.array, others)
                rows = texts.rows(numbers)
                filled.append(rows.filter(pc.is_in(rows, value_set=changed)))
                idle.append(rows)
                unfilled.append(texts.rows(others))
            if filled:
                rows_by_name[name] = concatenated(filled)
            for out, arrays in ((self._idle, idle), (self._unfilled, unfilled)):
                if arrays:
                    out[name].add(batch.row_numbers(without(concatenated(arrays), changed)))
        if len(changed):
            self._add_changed(batch, changed, columns, rows_by_name)

    def _without_latex(self, texts: pa.Array, numbers: pa.Array) -> pa.Array:
        """Leave out the texts, given by number, that have names in braces only in LaTeX."""
        if not len(numbers):
            return numbers
        rest = pc.replace_substring_regex(texts.take(numbers).cast(pa.large_string()), _LATEX, " ")
        return numbers.take(pc.unique(self._finder.find(rest).column(0)))

    def _add_changed(
        self, batch: ConfiguredBatch, changed: pa.Array, columns: pa.Array | None, rows_by_name: dict[str, pa.Array]
    ) -> None:
        """Add changed prompts to the column of the sample with a placeholder; if there is none, to the examples."""
        remaining = changed
        candidates = rows_by_name
        if columns is not None:
            rows, names = changed.take(pc.list_parent_indices(columns)), columns.flatten()
            candidates = {name: rows.filter(pc.equal(names, name)) for name in pc.unique(names).to_pylist()}
        has_examples = self._subject.has_examples
        for name, candidate_rows in candidates.items():
            rows = candidate_rows
            if has_examples:  # without examples, a value without a placeholder completes one
                rows = rows.filter(pc.is_in(rows, value_set=rows_by_name.get(name, rows.slice(0, 0))))
            remaining = without(remaining, rows)
            location = self._location(batch, name, rows) if len(rows) and not self._filled[name] else ()
            self._filled[name].add(batch.row_numbers(rows), *location)
        if has_examples:
            self._by_examples.add(batch.row_numbers(remaining))

    def _location(self, batch: ConfiguredBatch, name: str, rows: pa.Array) -> tuple[int, int] | tuple[()]:
        """Return the bytes of the placeholder in the first of some rows, if its value has one."""
        if name not in batch.samples.schema.names or not batch.is_flat(name):
            return ()
        text = batch.column(name)[pc.min(rows).as_py()].as_py() or ""
        matches = [(index, needle) for needle in self._needles if (index := text.find(needle)) >= 0]
        if not matches:
            return ()
        index, needle = min(matches)
        start = len(text[:index].encode())
        return start, start + len(needle.encode())

    def _changed_rows(self, batch: ConfiguredBatch) -> tuple[pa.Array, pa.Array | None]:
        """Return the rows whose prompts depend on braces in values, and the columns of each if they are known."""
        if not batch.may_fill_values:
            return pa.array([], pa.int64()), None
        if self._single_pass is None:
            return batch.divergence
        # The examples depend on the position in the stream, so the batch is rendered there a second time.
        labels, core = self._subject.labels, self._single_pass.core
        parts = core.render(batch.core_table, labels, batch.position, False, batch.python_text)
        rows: list[pa.Array] = []
        for requests, part in zip(batch.requests, parts, strict=True):
            hashes = (
                _core.request_hashes(prompts, self._subject.is_json).cast(pa.binary())
                for prompts in (requests.messages, part.prompts)
            )
            different = pc.indices_nonzero(pc.not_equal(*hashes))
            rows.append(pc.unique(pc.subtract(requests.samples.take(different), batch.first)))
        return concatenated(rows), None

    def findings(self) -> Iterator[Finding]:
        for name, rows in self._filled.items():
            if rows:
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
