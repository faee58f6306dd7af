"""The prompts of a choice over the stored samples: of one row, of a window of rows, or of all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
from promptpress import Renderer
from promptpress.engine import RenderOptions
from promptpress.engine import core as _core
from promptpress.engine.core import RenderError, StreamState
from promptpress.engine.errors import of_row, render_error
from promptpress.engine.tables import PROMPT_COLUMN, for_core
from promptpress.engine.templates import TemplateRenderer

from promptpress_workbench.prompts.prompt_source import RequestBatch
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import RendererSource, TemplateSource
from promptpress_workbench.viewer.catalogue import Catalogue, Choice
from promptpress_workbench.viewer.sample_store import SampleStore

_BATCH = 65536
_FIRST = 1024
"""Rows whose examples are drawn for the first page, before those of all rows."""


class StoredRows:
    """The stored samples as the rows of a source of prompts; methods wait until the rows have been read."""

    def __init__(self, store: SampleStore) -> None:
        self.store = store
        self.schema: pa.Schema = store.schema

    @property
    def num_rows(self) -> int:
        """The number of rows; while it isn't known, the number of those that have been read."""
        return self.store.ready if self.store.num_rows is None else self.store.num_rows

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        self.store.wait(number + 1)
        if not 0 <= number < self.store.ready:
            message = f"there is no such row: rows count from 0, and there are {self.store.ready}"
            raise render_error("row_out_of_range", message, row=number)
        return self.store.rows(number, number + 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        for _, part in self.store.slices(_BATCH):
            table = part
            with suppress(pa.ArrowException):  # Arrow can't do it for all types
                table = part.combine_chunks()  # larger batches render faster
            yield from table.to_batches()

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column of all rows."""
        index, kind = self.schema.get_field_index(name), self.schema.field(name).type
        chunks = [chunk for _, part in self.store.slices(_BATCH) for chunk in part.column(index).chunks]
        return pa.chunked_array(chunks, kind)


def _values(table: pa.Table) -> dict[str, Any]:
    """Return the values of a table's one row."""
    return {name: column[0].as_py() for name, column in zip(table.column_names, table.columns, strict=True)}


class StoredPrompts(RendererSource):
    """The prompts of a renderer; a window of them is rendered without the rows before it."""

    def __init__(self, renderer: Renderer, rows: StoredRows) -> None:
        super().__init__(renderer, rows)
        self.renderer: Renderer = renderer
        self._store = rows.store
        self._first_draws: pa.Array | None = None
        self._all_draws: pa.Array | None = None
        self._drawing = threading.Lock()
        if self.engine.core.by_position:
            threading.Thread(target=self._draw_all, name="promptpress-draws", daemon=True).start()

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        """Yield the requests of the samples from `start` up to `stop`."""
        table = self._with_examples(self._store.rows(start, stop), start)
        if self.engine.fit is not None:
            yield from self._fitted_requests(self._row_engine, table.combine_chunks().to_batches(), start)
            return
        core_table, python_text = for_core(table)
        labels = self.labels
        try:
            yield from self._rendered(self._row_engine, core_table, labels, StreamState(), python_text, offset=start)
        except RenderError as error:
            raise of_row(error, start + (error.row or 0)) from None

    def columns(self, row: int) -> dict[str, Any]:
        """Return the columns of a sample."""
        return _values(self.rows.row(row))

    def _draws(self, stop: int) -> pa.Array:
        if stop > _FIRST or self._all_draws is not None:
            return self._draw_all()
        if self._first_draws is None or len(self._first_draws) < stop:
            self._first_draws = self.engine.retrieve(max(stop, min(_FIRST, self.num_samples)))
        return self._first_draws

    def _draw_all(self) -> pa.Array:
        """Draw the examples of all rows once: each draw continues from the one before, a million in half a second."""
        with self._drawing:
            if self._all_draws is None or len(self._all_draws) < self.num_samples:
                self._all_draws = self.engine.retrieve(self.num_samples)
            return self._all_draws


class StoredTemplate(TemplateSource):
    """The texts of a template; a window of them is rendered without the rows before it."""

    def __init__(self, renderer: TemplateRenderer[Any], rows: StoredRows) -> None:
        super().__init__(renderer, rows)
        self.renderer = renderer
        self._store = rows.store

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        """Yield the texts of the rows from `start` up to `stop`."""
        table = self._store.rows(start, stop)
        try:
            texts = self._engine.render(table, RenderOptions()).column(0)
        except RenderError as error:
            raise of_row(error, start + (error.row or 0)) from None
        for chunk in texts.chunks:
            yield RequestBatch(_core.repeated_rows(start, len(chunk), 1), chunk, numbering="own")
            start += len(chunk)

    def columns(self, row: int) -> dict[str, Any]:
        """Return the columns of a row."""
        return _values(self.rows.row(row))


class StoredRendered(RenderedSource):
    """The prompts of a rendered file."""

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        """Yield the requests of the samples from `start` up to `stop`."""
        for row in range(start, min(stop, self.num_samples)):
            numbers = self._requests_of(row)
            rows = [self.rows.row(number).to_batches()[0] for number in numbers]
            for number, batch in zip(numbers, rows, strict=True):
                yield self._batch(batch, number)

    def columns(self, row: int) -> dict[str, Any]:
        """Return the columns of a sample's first request, but for its prompt."""
        values = _values(self.rows.row(self._requests_of(row)[0]))
        return {name: value for name, value in values.items() if name != self.prompt_column}


Source = StoredPrompts | StoredTemplate | StoredRendered


AnyPrompts = Renderer | TemplateRenderer[Any] | None


class Sources:
    """The source of each choice, made once. Without a catalogue, the samples are rendered prompts."""

    def __init__(self, store: SampleStore, catalogue: Catalogue | None, prompt_column: str = PROMPT_COLUMN) -> None:
        self._rows = StoredRows(store)
        self._prompt_column = prompt_column
        self._catalogue = catalogue
        self.is_rendered = catalogue is None
        self._cached: dict[AnyPrompts, Source] = {}
        self._lock = threading.Lock()

    def of(self, choice: Choice) -> Source:
        """Return the prompts of a choice, with the errors of `Catalogue.renderer`."""
        renderer = None if self._catalogue is None else self._catalogue.renderer(choice)
        with self._lock:
            if renderer not in self._cached:
                self._cached[renderer] = self._source(renderer)
            return self._cached[renderer]

    def allowed(self, choice: Choice) -> list[str]:
        """Return the codes of the findings that the file of a choice allows."""
        return [] if self._catalogue is None else self._catalogue.allowed(choice)

    def _source(self, renderer: AnyPrompts) -> Source:
        if renderer is None:
            return StoredRendered(self._rows, self._prompt_column)
        if isinstance(renderer, Renderer):
            return StoredPrompts(renderer, self._rows)
        return StoredTemplate(renderer, self._rows)
