"""Prompts of a choice, over the samples that are mapped: one, a window of them, or all."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._core import Position
from promptpress._errors import render_error
from promptpress._renderer import Renderer
from promptpress._tables import for_core
from promptpress._view.prompt_source import RequestBatch
from promptpress._view.rendered_source import RenderedSource
from promptpress._view.renderer_source import RendererSource
from promptpress._view.renderer_source import _outcomes as outcomes
from promptpress._viewer.catalogue import Catalogue, Choice
from promptpress._viewer.sample_store import SampleStore

_BATCH = 65536
_FIRST = 1024  # rows whose examples are drawn at once, for the first page


class StoredRows:
    """The mapped samples as the rows that a source of prompts asks for.

    Args:
        store: the samples.

    """

    def __init__(self, store: SampleStore) -> None:
        self.store = store
        self.schema: pa.Schema = store.schema

    @property
    def num_rows(self) -> int:
        """How many rows there are; those that are there so far, while nothing tells."""
        return self.store.ready if self.store.num_rows is None else self.store.num_rows

    def row(self, number: int) -> pa.Table:
        """Give one row, as soon as it is there."""
        self.store.wait(number + 1)
        if not 0 <= number < self.store.ready:
            message = f"there is no such row: rows count from 0, and there are {self.store.ready}"
            raise render_error("row_out_of_range", message, row=number)
        return self.store.rows(number, number + 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through all rows, as they come."""
        for _, part in self.store.slices(_BATCH):
            yield from _whole(part).to_batches()


def _whole(table: pa.Table) -> pa.Table:
    """Put small batches together, which is faster to render, where Arrow can do it for the types."""
    try:
        return table.combine_chunks()
    except pa.ArrowException:
        return table


class StoredPrompts(RendererSource):
    """The prompts of a renderer; a window of them without what stands before it.

    Args:
        renderer: what renders.
        rows: the samples.

    """

    def __init__(self, renderer: Renderer, rows: StoredRows) -> None:
        super().__init__(renderer, rows)
        self._stored = rows
        self._first_draws: pa.Array | None = None
        self._all_draws: pa.Array | None = None
        self._drawing = threading.Lock()
        if renderer._core.by_position:
            threading.Thread(target=self._draw, name="promptpress-draws", daemon=True).start()

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        """Go through the requests of some samples.

        Args:
            start: the first sample.
            stop: the sample after the last.

        Yields:
            The requests, as `requests` does.

        Raises:
            RenderError: if one can't be rendered.

        """
        table = self._chosen_for(self._stored.store.rows(start, stop), start)
        core_table, lower = for_core(table)
        labels = self.labels
        times = 1 if labels is None else len(labels)
        for part in outcomes(self._one._core, core_table, labels, Position(), lower):
            samples = part.samples
            if samples is None:
                samples = _core.repeated_rows(part.start, part.rows, times)
            yield RequestBatch(pc.add(samples, start), part.prompts, part.labels, part.turns)

    def _row(self, row: int) -> pa.Table:
        return self._chosen_for(self.rows.row(row), row)

    def _chosen_for(self, table: pa.Table, start: int) -> pa.Table:
        """Append which examples a retriever that goes by position chooses for these rows."""
        if not self.renderer._core.by_position:
            return table
        stop = start + table.num_rows
        if stop <= _FIRST and self._all_draws is None:
            if self._first_draws is None or len(self._first_draws) < stop:
                self._first_draws = self.renderer.retrieve(max(stop, min(_FIRST, self.num_samples)))
            draws = self._first_draws
        else:
            draws = self._draw()
        return table.append_column(self._shots, draws.slice(start, table.num_rows))

    def _draw(self) -> pa.Array:
        """Draw for all rows, for each draw goes on from the one before: half a second for a million, so only once."""
        with self._drawing:
            if self._all_draws is None or len(self._all_draws) < self.num_samples:
                self._all_draws = self.renderer.retrieve(self.num_samples)
            return self._all_draws


class StoredRendered(RenderedSource):
    """The prompts of a rendered file; a window of them."""

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        """Go through the requests of some samples, as `StoredPrompts.window`."""
        for row in range(start, min(stop, self.num_samples)):
            numbers = self._requests_of(row)
            rows = [self.rows.row(number).to_batches()[0] for number in numbers]
            for number, batch in zip(numbers, rows, strict=True):
                yield self._batch(batch, number)


Source = StoredPrompts | StoredRendered


class Sources:
    """The source of each choice, made once.

    Args:
        store: the samples.
        catalogue: what can be chosen; None: the samples are rendered prompts.

    """

    def __init__(self, store: SampleStore, catalogue: Catalogue | None) -> None:
        self._rows = StoredRows(store)
        self._catalogue = catalogue
        self.is_rendered = catalogue is None
        self._made: dict[Renderer | None, Source] = {}
        self._lock = threading.Lock()

    def of(self, choice: Choice) -> Source:
        """Give the prompts of a choice.

        Args:
            choice: what is chosen.

        Returns:
            Its source.

        Raises:
            FileError: when a file can't be read any more.
            promptpress.TemplateError: when the parts of the choice don't go together.

        """
        renderer = None if self._catalogue is None else self._catalogue.renderer(choice)
        with self._lock:
            if renderer not in self._made:
                new = StoredRendered(self._rows) if renderer is None else StoredPrompts(renderer, self._rows)
                self._made[renderer] = new
            return self._made[renderer]
