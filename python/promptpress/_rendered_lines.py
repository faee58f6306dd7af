"""Requests that come out as the lines of a file, without a column of prompts in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from promptpress import _core
from promptpress._configuration import Configuration
from promptpress._tables import for_core

__all__ = ["RenderedLines", "rendered_lines"]

_PIECE_BYTES = 16 << 20
"""About so much is rendered at a time: the memory of lines that have been written is used again while it is near."""
_FIRST_ROWS = 4096
"""Rows that are rendered first, by whose length the number of the next ones is chosen."""
_MAX_ROWS = 1 << 16


@dataclass(frozen=True)
class RenderedLines:
    """Some rows' lines.

    Args:
        lines: One a request, each with its line break: large strings.
        text_bytes: How long the requests' texts are, in bytes, without escapes and what stands around them.

    >>> RenderedLines(pa.array(['"a"', '"b"'], pa.large_string()), 2).num_rows
    2

    """

    lines: pa.LargeStringArray
    text_bytes: int

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self.lines)


def rendered_lines(
    configuration: Configuration, reader: Iterable[pa.RecordBatch], schema: pa.Schema, frame: _core.LineLayout
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Render batches as they are read, into lines where copying is enough for all rows of a part.

    Args:
        configuration: What says how. It is asked for the core at each batch, for between two a process may be forked.
        reader: The samples, from the first on.
        schema: The output's: the requests, and nothing else.
        frame: What stands around each request (`LineWriter.frame`).

    Yields:
        Lines; and requests, which are still to be made lines of, where they take more than copying.

    Raises:
        RenderError: If a row can't be rendered.

    """
    position, first, size = _core.Position(), 0, _FIRST_ROWS
    for batch in reader:
        start = 0
        while start < batch.num_rows:
            rows = batch.slice(start, size)
            core_table, lower = for_core(pa.Table.from_batches([rows]), first)
            start, first = start + rows.num_rows, first + rows.num_rows
            for part in configuration.core.lines(core_table, position, lower, frame):
                if part.text_bytes is None:
                    size = _MAX_ROWS
                    yield pa.RecordBatch.from_arrays([part.prompts], schema=schema)
                else:
                    lines = RenderedLines(part.prompts, part.text_bytes)
                    size = min(_MAX_ROWS, 1 + _PIECE_BYTES * lines.num_rows // lines.lines.nbytes)
                    yield lines
