"""Lines of a file that are rendered without a column of prompts in between; `_engine` makes them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

__all__ = ["RenderedLines"]


@dataclass(frozen=True)
class RenderedLines:
    """The lines of some rows.

    Args:
        lines: A line for each request, with its line break.
        text_bytes: The bytes of the requests' texts alone, without escapes.

    """

    lines: pa.LargeBinaryArray
    text_bytes: int

    @property
    def num_rows(self) -> int:
        """The number of lines."""
        return len(self.lines)
