"""Values with nulls, with placeholders, and with characters that are invisible or change how others are displayed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import is_text, spread_over_runs
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import Batch, Columns, ConfiguredBatch
from promptpress_workbench.audit.check import Check, ConfiguredCheck, example_columns, findings_of_examples
from promptpress_workbench.audit.findings import Finding, Rows, concatenated, finding_of, take_table, without
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject, TemplateSubject

KINDS = (
    ("control_character", "a control character"),
    ("bidi_character", "a character that changes the direction of text"),
    ("mixed_line_ends", "line ends of more than one kind"),
    ("invisible_character", "an invisible character"),
    ("replacement_character", "U+FFFD, the sign of a wrong decoding,"),
    ("byte_order_mark", "a byte order mark"),
)
"""The kinds of the core's `odd_characters`, by their numbers."""

_NAMES = (
    *("question", "answer", "input", "output", "context", "prompt", "text", "passage", "article", "document"),
    *("choices", "options", "target", "instruction", "query", "response", "reference", "title", "subject", "sentence"),
    *("premise", "hypothesis"),
)
"""Names that templates often have in braces, and LaTeX and mathematical sets seldom have."""

_LATEX = r"(\\[A-Za-z]{2,}\*?(\[[^\[\]]*\])?|[_^])(\{[^{}]*\})+"
"""A command with its argument, or an index: \\begin{document}, W_{output}. A single letter is an escaped line end."""


class Nulls(Check):
    """Null values that prompts show as a word."""

    codes = ("null_value",)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._by_column = {name: Rows() for name in subject.schema.names}

    def add(self, batch: Batch) -> None:
        for name in batch.names:
            _search_nulls(batch, name, self._by_column[name])

    def findings(self) -> Iterator[Finding]:
        for name, rows in self._by_column.items():
            yield finding_of("null_value", f"column {name!r} is null, and the prompt shows it as None", rows, name)
        for examples, name in example_columns(self._subject):
            rows = Rows()
            _search_nulls(examples, name, rows)
            yield from findings_of_examples("null_value", "it is null, and examples show it as None", rows, name)


def _search_nulls(columns: Columns, name: str, rows: Rows) -> None:
    nulls = pc.indices_nonzero(_nulls(columns.column(name)))
    if len(nulls):
        rows.add(columns.row_numbers(columns.visible_rows(name, nulls)))


def _nulls(column: pa.Array) -> pa.Array:
    """Return a mask of the nulls of a column, including null values of a dictionary and null runs."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _nulls(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return spread_over_runs(column, _nulls(column.values))
    mask = column.is_null()
    if pa.types.is_dictionary(kind) and column.dictionary.null_count:
        return pc.or_(mask, pc.fill_null(column.dictionary.is_null().take(column.indices), True))
    return mask


class EncodedArguments(Check):
    """Arguments of tool calls that are JSON texts, and that a chat template writes as JSON strings."""

    codes = ("arguments_encoded_twice",)
    reads_requests = True

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true for a chat template that reads arguments of calls."""
        settings = subject.chat_settings
        if settings is None or not isinstance(subject, TemplateSubject):
            return False
        return any(name in settings.source for name in _OF_CALLS)

    def add(self, batch: Batch) -> None:
        assert isinstance(self._subject, TemplateSubject)
        rows = _rows_with_arguments(batch.samples, self._subject.engine.required_columns[0])
        if not len(rows):
            return
        conversations = self._subject.engine.conversations(take_table(pa.Table.from_batches([batch.samples]), rows))
        prompts = batch.requests[0].prompts
        twice = [
            row
            for row, messages in zip(rows.to_pylist(), conversations or (), strict=True)
            if any(_is_encoded(text, prompts[row].as_py()) for text in _arguments(messages or ()))
        ]
        self._rows.add([batch.first + row for row in twice])

    def findings(self) -> Iterator[Finding]:
        message = "the arguments of a tool call are a JSON text, and the prompt has it in quotes and escaped"
        yield finding_of("arguments_encoded_twice", message, self._rows)


_OF_CALLS = ("tool_calls", "function_call")


def _rows_with_arguments(samples: pa.RecordBatch, name: str) -> pa.Array:
    """Return the rows of a column of conversations that may have tool calls."""
    index = samples.schema.get_field_index(name)
    if index < 0:  # prompts and completions
        return pa.array(range(samples.num_rows), pa.int64())
    column = samples.column(index)
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    if is_text(column.type):
        return pc.indices_nonzero(pc.fill_null(pc.match_substring(column, "arguments"), False)).cast(pa.int64())
    may_have = any(name in str(column.type) for name in ("arguments", "value", "extension"))
    return pa.array(range(len(column) if may_have else 0), pa.int64())


def _arguments(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the arguments of tool calls that are JSON texts of objects, or JSON texts of such texts."""
    for message in messages:
        calls = message.get("tool_calls")
        for call in [*(calls if isinstance(calls, list) else ()), message.get("function_call")]:
            function = call.get("function", call) if isinstance(call, Mapping) else None
            text = function.get("arguments") if isinstance(function, Mapping) else None
            value = text
            while isinstance(value, str):
                try:
                    value = json.loads(value)
                except (ValueError, RecursionError):
                    break
            if isinstance(text, str) and isinstance(value, dict):
                yield text


def _is_encoded(text: str, prompt: str) -> bool:
    """Return true if a prompt has a text as the inside of a JSON string, and not as it is."""
    forms = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)}
    return text not in prompt and any(form in prompt for form in forms)


class OddCharacters(Check):
    """Values with one of `KINDS`."""

    codes = tuple(code for code, _ in KINDS)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._by_column = {name: [Rows() for _ in KINDS] for name in subject.schema.names}

    def add(self, batch: Batch) -> None:
        for name in batch.names:
            _search_characters(batch, name, self._by_column[name])

    def findings(self) -> Iterator[Finding]:
        for name, by_kind in self._by_column.items():
            for (code, kind), rows in zip(KINDS, by_kind, strict=True):
                yield finding_of(code, f"a value of column {name!r} has {kind} in it", rows, name)
        for examples, name in example_columns(self._subject):
            by_kind = [Rows() for _ in KINDS]
            _search_characters(examples, name, by_kind)
            for (code, kind), rows in zip(KINDS, by_kind, strict=True):
                yield from findings_of_examples(code, f"the value has {kind} in it", rows, name)


def _search_characters(columns: Columns, name: str, by_kind: list[Rows]) -> None:
    rows: dict[int, list[pa.Array]] = {}
    locations: dict[int, tuple[int, int]] = {}
    for texts, matches in columns.matches(name, _core.odd_characters):
        for kind in pc.unique(matches.column(1)).to_pylist():
            of_kind = matches.filter(pc.equal(matches.column(1), kind))
            if columns.is_flat(name):
                locations[kind] = (of_kind.column(2)[0].as_py(), of_kind.column(3)[0].as_py())
            rows.setdefault(kind, []).append(texts.rows(of_kind.column(0)))
    # A struct has several texts in each row, and they are one value.
    for kind, arrays in rows.items():
        by_kind[kind].add(columns.row_numbers(concatenated(arrays)), *locations.get(kind, ()))


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
        labels, core = self._subject.labels, self._single_pass
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
            message = f"braces in a value of column {name!r} are taken for a placeholder, and change the prompt"
            yield finding_of("placeholder_filled", message, rows, name)
        message = "braces in an example's value are taken for a placeholder of the sample, and change the prompt"
        yield finding_of("placeholder_filled", message, self._by_examples)
        for name, rows in self._idle.items():
            message = f"a value of column {name!r} has a column's placeholder in it, which changes no prompt"
            yield finding_of("placeholder_in_value", message, rows, name)
        for name, rows in self._unfilled.items():
            message = f"a value of column {name!r} has a name in braces that is no column's"
            yield finding_of("unfilled_value", message, rows, name)
