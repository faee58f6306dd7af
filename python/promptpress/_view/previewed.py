"""The prompts that `Renderer.preview` shows."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from promptpress._errors import render_error
from promptpress._renderer import Renderer
from promptpress._view.preview import Preview
from promptpress._view.renderer_source import RendererSource
from promptpress._view.sample_rows import TableRows
from promptpress.typing import TableLike

__all__ = ["previewed"]


def previewed(
    renderer: Renderer,
    samples: TableLike,
    n: int,
    *,
    rows: Sequence[int] | None = None,
    label: object = None,
    turn: int | None = None,
) -> Preview:
    """Render and explain some samples: see `Renderer.preview`.

    >>> import pyarrow as pa
    >>> len(previewed(Renderer("{q}"), pa.table({"q": ["a", "b", "c"]}), 2))
    2

    """
    source = RendererSource(renderer, TableRows(samples))
    if operator.index(n) < 0:
        raise render_error("invalid_number", f"n: expected a number from 0 on, found {n}")
    numbers = range(min(n, source.num_samples)) if rows is None else [operator.index(row) for row in rows]
    turn = None if turn is None else operator.index(turn)
    if turn is not None and turn < 0:
        raise render_error("turn_out_of_range", "turn: turns count from 0")
    return Preview([prompt for row in numbers for prompt in source.prompts(row, label, turn)])
