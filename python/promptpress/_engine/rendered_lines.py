"""Lines of a file that are rendered without a column of prompts in between; `_engine` makes them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class RenderedLines:
    """The lines of some rows, with their line breaks; `text_bytes` are those of the texts without escapes."""

    lines: pa.LargeBinaryArray
    text_bytes: int

    @property
    def num_rows(self) -> int:
        return len(self.lines)
