"""The prompts of chosen rows, which keep their numbers of the whole data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import render_error

from promptpress_workbench.files.read.samples import ChosenRows
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.sample_rows import SampleRows, check_row
from promptpress_workbench.prompts.template_source import TemplateSource


class ChosenSampleRows:
    """The chosen rows of a table, numbered from 0, as `SampleRows`."""

    def __init__(self, rows: SampleRows, chosen: ChosenRows) -> None:
        self.rows = rows
        self.chosen = chosen
        self.schema: pa.Schema = rows.schema

    @property
    def num_rows(self) -> int:
        """The number of chosen rows."""
        return self.chosen.count()

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        check_row(number, self.num_rows)
        return self.rows.row(self.chosen.number(number))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        return self.chosen.batches()

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column."""
        index = self.schema.get_field_index(name)
        return pa.chunked_array([batch.column(index) for batch in self.batches()], self.schema.field(index).type)


class ChosenSource:
    """The prompts of a source of chosen rows, with the rows' numbers of the whole table.

    What goes by a sample's position, such as a retriever's draw of examples, counts the chosen rows.

    Args:
        source: The prompts of `ChosenSampleRows`.
        chosen: The chosen rows.

    """

    def __init__(self, source: RendererSource | TemplateSource, chosen: ChosenRows) -> None:
        self.source = source
        self._chosen = chosen

    @property
    def has_origins(self) -> bool:
        """True if the pieces of prompts have origins."""
        return self.source.has_origins

    @property
    def labels(self) -> list[Any] | None:
        """The labels of each sample."""
        return self.source.labels

    @property
    def num_samples(self) -> int:
        """The number of samples."""
        return self.source.num_samples

    def row_number(self, position: int) -> int:
        """Return the number in the whole table of one of the chosen rows."""
        check_row(position, self._chosen.count())
        return self._chosen.number(position)

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of a sample, as `PromptSource.prompts`."""
        prompts = self.source.prompts(self._position(row), label, turn)
        return [replace(prompt, sample=row) for prompt in prompts]

    def divergent_columns(self, row: int) -> list[str]:
        """Return the columns whose values fill in placeholders, as `RendererSource.divergent_columns`."""
        return self.source.divergent_columns(self._position(row)) if isinstance(self.source, RendererSource) else []

    def requests(self) -> Iterator[RequestBatch]:
        """Yield all requests, as `PromptSource.requests`."""
        for batch in self.source.requests():
            yield replace(batch, samples=self._chosen.numbers(batch.samples))

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins, as `PromptSource.request`."""
        return self.source.request(value, sample, label, turn)

    def _position(self, row: int) -> int:
        position = self._chosen.position(row)
        if position is None:
            message = "the row isn't among the chosen ones; rows have the numbers of the whole data, from 0"
            raise render_error("row_out_of_range", message, row=row)
        return position
