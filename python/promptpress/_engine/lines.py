"""Requests that come out as the lines of a file, without a column of prompts in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import for_core
from promptpress._arrow.sizes import bytes_of
from promptpress._config.configuration import Configuration
from promptpress._engine.rendered_lines import RenderedLines

_BLOCK_BYTES = 16 << 20
"""About so much is rendered at a time: the memory of lines that have been written is used again while it is near."""
_MIN_ROWS = 1 << 12
"""Rows that are rendered first, by whose length the number of the next ones is chosen, ..."""
_MAX_ROWS = 1 << 16
"""... and the most at a time."""
_RISKED = 1 / 4
"""So many of the rows in a row that were lines are rendered as lines at a time: one among them for which copying isn't
enough undoes all that are rendered with it."""


def rendered_lines(
    configuration: Configuration,
    reader: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    frame: _core.LineLayout,
    position: _core.StreamState | None = None,
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Render batches as they are read, into lines where copying is enough for all rows of a part."""
    blocks, first = _Blocks(), 0
    position = _core.StreamState() if position is None else position
    batches = iter(reader)
    while (batch := next(batches, None)) is not None:
        # What was read is let go before more is: a batch may be most of the memory there is.
        rest = [batch]
        del batch
        while rest:
            rows = rest.pop()
            if rows.num_rows > blocks.rows:
                rest.append(rows.slice(blocks.rows))
                rows = rows.slice(0, blocks.rows)
            core_table, python_text = for_core(pa.Table.from_batches([rows]), first)
            first += rows.num_rows
            del rows
            parts = configuration.core.lines(core_table, position, python_text, frame)
            del core_table, python_text
            parts.reverse()
            while parts:
                yield blocks.output_of(parts.pop(), schema)


class _Blocks:
    """The number of rows that are rendered at a time: as many as stay in cache, fewer if many may be rendered again."""

    def __init__(self) -> None:
        self.rows = _MIN_ROWS
        self._are_lines = True
        self._in_a_row = 0

    def output_of(self, part: _core.RenderedRows, schema: pa.Schema) -> RenderedLines | pa.RecordBatch:
        """Return a part as it is to be written."""
        prompts, text_bytes = part.prompts, part.text_bytes
        if self._are_lines != (text_bytes is not None):
            self._are_lines, self._in_a_row = not self._are_lines, 0
        self._in_a_row += len(prompts)
        fitting = min(_MAX_ROWS, _BLOCK_BYTES * len(prompts) // max(bytes_of(prompts), 1))
        self.rows = max(1, min(fitting, max(_MIN_ROWS, int(self._in_a_row * _RISKED))))
        if text_bytes is None:
            return pa.RecordBatch.from_arrays([prompts], schema=schema)
        return RenderedLines(prompts, text_bytes)
