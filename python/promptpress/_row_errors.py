"""Render samples so that a bad one becomes null requests with an error, and all others stay as they are.

A batch is rendered as a whole first. If it fails, it is rendered slice by slice around the row that the core names; a
slice grows while nothing fails, so that few errors cost about one more pass. Every slice goes on from the position that
its first sample has, so that retrievers by position choose what they would have chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._core import Position, RenderError
from promptpress._tables import for_core

__all__ = ["Part", "RowErrors"]

_MOST_BYTES = 1 << 30
"""Slices are joined to arrays of so many bytes, far from where 32-bit offsets end."""

_ABOUT_ALL = frozenset(
    {"internal_error", "out_of_memory", "missing_column", "wrong_column_type", "unsupported_column_type"}
)
"""Codes of errors that are never a row's, whatever row they were met at."""


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
        configuration: The renderer's configuration.
        labels: The labels of ppl, None in gen mode.
        position: The position of the stream's next sample.
        span_detail: Which spans the core is asked for.

    """

    def __init__(
        self, configuration: Configuration, labels: list[Any] | None, position: Position, span_detail: bool | None
    ) -> None:
        self._span_detail = span_detail
        self._configuration = configuration
        self._labels = labels
        self._times = 1 if labels is None else len(labels)
        self._position = position

    def parts(self, table: pa.Table, first: int) -> list[Part]:
        """Render the next samples.

        Args:
            table: The samples.
            first: How many samples came before.

        Returns:
            Their requests, in order.

        Raises:
            RenderError: If something is wrong with the table, and not with a row.

        """
        position = self._position.copy()
        try:
            parts = self._rendered(table, first, position)
        except RenderError as error:
            if not table.num_rows:
                raise
            self._refuse_all(error, table)
            return list(self._joined(self._by_slices(table, first)))
        self._position = position
        return parts

    def _rendered(self, table: pa.Table, first: int, position: Position) -> list[Part]:
        """Render samples, of which the first has number `first` and the position given."""
        core_table, lower = for_core(table, first)
        parts = []
        for outcome in self._configuration.core.render(
            core_table, self._labels, position, False, lower, self._span_detail
        ):
            prompts = self._configuration.prompts(outcome, self._times)
            spans = None if self._span_detail is None else outcome.spans
            errors = pa.nulls(len(prompts), pa.string())
            parts.append(
                Part(
                    outcome.start, outcome.rows, outcome.labels, outcome.turns, outcome.samples, spans, prompts, errors
                )
            )
        return parts

    def _refuse_all(self, error: RenderError, table: pa.Table) -> None:
        """Raise an error that is the table's: of some codes, or one that the same table without rows has too."""
        if error.code in _ABOUT_ALL:
            raise error
        if error.row is None:
            try:
                self._rendered(table.slice(0, 0), 0, Position())
            except RenderError:
                raise error from None

    def _by_slices(self, table: pa.Table, first: int) -> Iterator[Part]:
        failed: dict[int, RenderError] = {}
        at, size = 0, table.num_rows
        while at < table.num_rows:
            if at in failed:
                yield self._failed(table.schema, first + at, failed.pop(at))
                self._configuration.core.skip(self._position, 1)
                at += 1
                continue
            size = min(size, table.num_rows - at)
            position = self._position.copy()
            try:
                parts = self._rendered(table.slice(at, size), first + at, position)
            except RenderError as error:
                self._refuse_all(error, table)
                if size == 1:
                    failed[at] = error
                    continue
                # The error's row is believed only if that row fails alone too.
                row = (error.row or 0) - first
                alone = self._error_of(table, first, at, row) if at <= row < at + size else None
                if alone is not None:
                    failed[row] = alone
                size = row - at if alone is not None and row > at else max(1, size // 2)
                continue
            yield from parts
            self._position = position
            at += size
            size *= 2

    def _error_of(self, table: pa.Table, first: int, at: int, row: int) -> RenderError | None:
        """Return the error of a row that is rendered alone; the position is that of row `at`."""
        position = self._position.copy()
        self._configuration.core.skip(position, row - at)
        try:
            self._rendered(table.slice(row, 1), first + row, position)
        except RenderError as error:
            return error
        return None

    def _failed(self, schema: pa.Schema, row: int, error: RenderError) -> Part:
        """Return the requests of a row that can't be rendered: one for each label, and one for a conversation."""
        core = self._configuration.core
        # Without batches: of some types pyarrow makes no empty array.
        core_schema = for_core(pa.Table.from_batches([], schema))[0].schema
        prompt_type = self._configuration.output_fields(core_schema)[-1].type
        spans_type = self._configuration.spans_type(core_schema, self._span_detail)
        return Part(
            row,
            1,
            None if self._labels is None else core.label_values(core_schema, self._labels),
            pa.nulls(1, pa.int64()) if core.has_turns else None,
            pa.array([row], pa.int64()) if core.has_turns else None,
            None if spans_type is None else pa.nulls(self._times, spans_type),
            pa.nulls(self._times, prompt_type),
            pa.repeat(pa.scalar(_text_of(error), pa.string()), self._times),
        )

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


def _text_of(error: RenderError) -> str:
    column = "" if error.column is None else f'column "{error.column}": '
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
