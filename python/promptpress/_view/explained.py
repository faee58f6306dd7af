"""The prompt that a table of `Renderer.explain` is about."""

from __future__ import annotations

import pyarrow as pa

from promptpress._renderer import Renderer
from promptpress._view.notebooks import tell_notebook
from promptpress._view.prompt import Prompt
from promptpress._view.renderer_source import RendererSource
from promptpress._view.sample_rows import TableRows

__all__ = ["explained", "show_in_notebook"]


def explained(renderer: Renderer, samples: pa.Table, row: int, *, label: object, turn: int | None) -> Prompt:
    """Return the prompt that `explain` explains: of the label None where there is one and no other is named.

    Args:
        renderer: What renders.
        samples: All samples.
        row: The sample's row.
        label: As `explain` takes it.
        turn: Likewise.

    >>> explained(Renderer("{q}", mode="ppl", labels=["A", "B"]), pa.table({"q": ["x"]}), 0, label="B", turn=None).label
    'B'

    """
    source = RendererSource(renderer, TableRows(samples))
    labels = source.labels
    if labels is None:  # explain has no use for a label then
        return source.prompts(row, None, turn)[0]
    return source.prompts(row, label, turn)[labels.index(None) if label is None and None in labels else 0]


def show_in_notebook(
    spans: pa.Table, renderer: Renderer, samples: pa.Table, row: int, *, label: object, turn: int | None
) -> None:
    """Have a notebook show spans as the prompt that they explain.

    Args:
        spans: What `explain` returns.
        renderer: What renders.
        samples: All samples.
        row: The sample's row.
        label: As `explain` takes it.
        turn: Likewise.

    >>> show_in_notebook(pa.table({"start": [0]}), Renderer("{q}"), pa.table({"q": ["x"]}), 0, label=None, turn=None)

    """
    tell_notebook(spans, lambda: explained(renderer, samples, row, label=label, turn=turn))
