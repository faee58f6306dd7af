"""Rows that can't be rendered as nulls with an error beside them, and all others as if those weren't there.

Rendering goes on as usual until a batch fails. Then the rows around the one that the core names are rendered slice by
slice; a slice grows while nothing fails, so that few errors cost about one more pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._configuration import Configuration
from promptpress._core import Position, RenderError
from promptpress._ipc_bytes import bytes_table, table_bytes
from promptpress._tables import for_core

__all__ = ["Part", "RowErrors"]

_CHOICE = "promptpress.choice"
"""The column that says which examples a sample has, once the retriever's own draws can't go on."""

_MOST_BYTES = 1 << 30
"""Slices are joined to arrays of so many bytes, far from where 32-bit offsets end."""

_TEXTS = (pa.string(), pa.large_string(), pa.string_view())

_ABOUT_ALL = frozenset({"internal_error", "missing_column", "wrong_column_type", "unsupported_column_type"})
"""Codes of errors that are no row's own, whatever row they were met at."""


@dataclass(frozen=True)
class Part:
    """Some samples' requests, as an outcome of the core has them, with an error a request.

    Args:
        start: The number of the first sample.
        rows: How many samples there are.
        labels: The labels, in ppl.
        turns: The turns, of conversations.
        samples: The sample of each request, where not all have as many.
        spans: Where its bytes come from, where that is asked for.
        prompts: The requests; null where there is an error.
        errors: What is wrong; null where nothing is.

    """

    start: int
    rows: int
    labels: Any
    turns: Any
    samples: Any
    spans: Any
    prompts: Any
    errors: Any


class RowErrors:
    """Renders the samples of a table or stream, batch after batch.

    Args:
        configuration: What says how.
        labels: The labels of ppl, None in gen mode.
        position: How far the stream has come already; None where the retriever's own draws can't go on.
        span_detail: Which spans the core is asked for.

    """

    def __init__(
        self,
        configuration: Configuration,
        labels: list[Any] | None,
        position: Position | None,
        span_detail: bool | None,
    ) -> None:
        self._span_detail = span_detail
        self._configuration = configuration
        self._labels = labels
        self._times = 1 if labels is None else len(labels)
        self._position = position or Position()
        self._draws_are_gone = position is None
        self._chosen: Configuration | None = None
        self._choices: Any = None
        self._column = _CHOICE
        self._apart = False
        self._label_column: Any = None

    def parts(self, table: pa.Table, first: int) -> list[Part]:
        """Render the next samples.

        Args:
            table: The samples.
            first: How many there were before.

        Returns:
            Their requests, in order.

        Raises:
            RenderError: If something is wrong with all of them.

        """
        if self._chosen is None and self._draws_are_gone:
            self._chosen = self._with_choices(table.column_names)
        if self._chosen is None:
            by_position = self._configuration.core.by_position
            position, before = (self._position, 0) if by_position else (Position(), first)
            try:
                return self._rendered(self._configuration, table, position, first, before)
            except RenderError as error:
                self._refuse_all(error)
            if by_position:
                # The draws of these samples have been made, and can't be made again.
                self._chosen = self._with_choices(table.column_names)
        return list(self._joined(self._by_slices(table, first)))

    def _rendered(
        self, configuration: Configuration, table: pa.Table, position: Position, first: int, before: int
    ) -> list[Part]:
        """Render samples; `before` of the `first` that came before them are unknown to the position."""
        core_table, lower = for_core(table, first - before)
        parts = []
        for outcome in configuration.core.render(core_table, self._labels, position, False, lower, self._span_detail):
            prompts = configuration.prompts(outcome, self._times)
            samples = outcome.samples if not before or outcome.samples is None else pc.add(outcome.samples, before)
            parts.append(
                Part(
                    outcome.start + before,
                    outcome.rows,
                    outcome.labels,
                    outcome.turns,
                    samples,
                    None if self._span_detail is None else outcome.spans,
                    prompts,
                    pa.nulls(len(prompts), pa.string()),
                )
            )
        return parts

    def _refuse_all(self, error: RenderError) -> None:
        """Raise what is wrong with more than a row."""
        if _is_bad_text(error):
            self._apart = True
        elif error.row is None or error.code in _ABOUT_ALL:
            raise error

    def _by_slices(self, table: pa.Table, first: int) -> Iterator[Part]:
        known: dict[int, RenderError] = {}
        at, size = 0, table.num_rows
        while at < table.num_rows:
            if at in known:
                yield self._failed(table.schema, first + at, known.pop(at))
                at += 1
                continue
            size = min(size, table.num_rows - at)
            try:
                yield from self._slice(table, first, at, size)
            except RenderError as error:
                self._refuse_all(error)
                if size == 1:
                    known[at] = error
                    continue
                # Which row it is, is believed when that row fails by itself.
                row = at + (error.row or 0)
                found = self._error_of(table, first, row) if row < at + size else None
                if found is not None:
                    known[row] = found
                size = row - at if found is not None and row > at else max(1, size // 2)
                continue
            at += size
            size *= 2

    def _slice(self, table: pa.Table, first: int, at: int, size: int) -> list[Part]:
        part = table.slice(at, size)
        if self._apart:
            # A slice of lists has the items of all rows, and those of other rows are looked at, too.
            part = bytes_table(table_bytes(part))
        if self._chosen is None:
            return self._rendered(self._configuration, part, Position(), first + at, first + at)
        part = part.append_column(self._column, self._choice(first + at, size))
        return self._rendered(self._chosen, part, Position(), first + at, first + at)

    def _error_of(self, table: pa.Table, first: int, row: int) -> RenderError | None:
        try:
            self._slice(table, first, row, 1)
        except RenderError as error:
            return error
        return None

    def _with_choices(self, taken: list[str]) -> Configuration:
        """The same configuration, but for examples that are said by a column, of a name that isn't taken."""
        while self._column in taken:
            self._column += "'"
        own = self._configuration
        given = own.settings["retriever"]
        kept = {key: given[key] for key in ("ice_separator", "ice_eos_token", "prompt_eos_token") if key in given}
        settings = {**own.settings, "retriever": {"type": "IndexColumn", "column": self._column, **kept}}
        return Configuration(settings, own.examples, own.tokens, own.chat)

    def _choice(self, first: int, rows: int) -> pa.Array:
        """What the retriever chooses for some samples; draws begin with the first one, so more are made than asked."""
        if self._choices is None or len(self._choices) < first + rows:
            self._choices = self._configuration.core.retrieve(2 * (first + rows))
        return self._choices.slice(first, rows)

    def _failed(self, schema: pa.Schema, row: int, error: RenderError) -> Part:
        """The requests of a row that can't be rendered: of each label one, of a conversation's turns none."""
        core = self._configuration.core
        # Without batches: of some types pyarrow makes no empty array.
        core_schema = for_core(pa.Table.from_batches([], schema))[0].schema
        fields = self._configuration.output_fields(core_schema)
        prompts = fields[-1]
        spans = self._configuration.spans_type(core_schema, self._span_detail)
        spans = None if spans is None else pa.nulls(self._times, spans)
        turns = pa.nulls(1, pa.int64()) if core.has_turns else None
        samples = pa.array([row], pa.int64()) if core.has_turns else None
        errors = pa.repeat(pa.scalar(_told(error, self._column), pa.string()), self._times)
        labels = None if self._labels is None else self._label_array(fields[0].type)
        return Part(row, 1, labels, turns, samples, spans, pa.nulls(self._times, prompts.type), errors)

    def _label_array(self, kind: pa.DataType) -> Any:
        """One row's labels, as the core writes them; how their texts look a renderer of nothing else says."""
        if self._label_column is not None:
            return self._label_column
        if kind not in _TEXTS:
            self._label_column = pa.array(self._labels, kind)
        else:
            own = self._configuration.settings
            settings = {**dict.fromkeys(own), "prompt_template": " ", "mode": "ppl"}
            settings["labels"] = [str(n) for n in range(self._times)]
            settings["limits"] = {"labels": self._times}
            settings |= {"dialect": "opencompass", "substitution": "harness", "strings": own["strings"]}
            core = Configuration(settings, None, None).core
            table, lower = for_core(pa.table({"": pa.nulls(1)}))
            self._label_column = core.render(table, self._labels, Position(), False, lower)[0].labels
        return self._label_column

    def _joined(self, parts: Iterator[Part]) -> Iterator[Part]:
        """Join the parts again, which may be a row each."""
        waiting: list[Part] = []
        size = 0
        for part in parts:
            own = part.prompts.nbytes
            if waiting and size + own > _MOST_BYTES:
                yield _one_part(waiting)
                waiting, size = [], 0
            waiting.append(part)
            size += own
        if waiting:
            yield _one_part(waiting)


def _is_bad_text(error: RenderError) -> bool:
    """Whether values aren't UTF-8, of columns that the core checks as a whole: those of chats. No row is named then."""
    return error.row is None and error.code == "invalid_utf8"


def _told(error: RenderError, choice: str) -> str:
    column = f'column "{error.column}": ' if error.column not in (None, choice) else ""
    if _is_bad_text(error):
        return f"{error.code}: {column}a text isn't UTF-8"
    return f"{error.code}: {column}{error.message}"


def _one_part(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]

    def joined(arrays: list[Any]) -> Any:
        return None if arrays[0] is None else pa.concat_arrays(arrays)

    return Part(
        parts[0].start,
        parts[-1].start + parts[-1].rows - parts[0].start,
        joined([part.labels for part in parts]),
        joined([part.turns for part in parts]),
        joined([part.samples for part in parts]),
        joined([part.spans for part in parts]),
        joined([part.prompts for part in parts]),
        joined([part.errors for part in parts]),
    )
