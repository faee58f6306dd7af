"""`promptpress.diff`."""

from __future__ import annotations

from typing import Any

from promptpress._diff.result import Diff
from promptpress._errors import render_error
from promptpress._renderer import Renderer
from promptpress._tables import as_table
from promptpress.typing import TableLike

__all__ = ["diff"]

_SHOWN = 3
"""Of how many requests the prompts are kept, to be shown."""


def diff(
    a: Renderer | TableLike, b: Renderer | TableLike, samples: TableLike | None = None, *, limit: int = 100
) -> Diff:
    """Compare two ways of rendering the same samples, request by request.

    Args:
        a: A renderer, or a table that one gave: with a column `prompt`, and `label` or `turn` where there are any.
        b: Another.
        samples: What renderers render; not needed where both are tables.
        limit: How many of the requests that differ `rows` has; all of them are counted.

    Returns:
        How many requests differ, and which, and where. Those of one sample, label and turn belong together.

    Raises:
        TypeError: If there is a renderer and no samples, or one side is neither.
        RenderError: As `Renderer.render`; and if a table has no column of prompts.

    >>> import pyarrow as pa
    >>> samples = pa.table({"q": ["1+1=?"]})
    >>> before = Renderer("Q: {q}").render(samples)
    >>> bool(diff(before, Renderer("Q: {q}"), samples)), bool(diff(before, Renderer("Q:{q}"), samples))
    (False, True)

    """
    if limit < 0:
        raise render_error("invalid_number", f"limit: expected a number from 0 on, found {limit}")
    # Whoever imports promptpress mostly renders.
    from promptpress._diff.comparison import compare  # noqa: PLC0415
    from promptpress._diff.rows import rows_of  # noqa: PLC0415
    from promptpress._view.sample_rows import TableRows  # noqa: PLC0415

    rows = None if samples is None else TableRows(samples)
    sources = [_source(side, rows, name) for side, name in ((a, "a"), (b, "b"))]
    found = compare(*sources, limit=limit, prompts=_SHOWN)
    return Diff(found, rows_of(found.first))


def _source(side: Any, rows: Any, name: str) -> Any:
    from promptpress._view.rendered_source import RenderedSource  # noqa: PLC0415
    from promptpress._view.renderer_source import RendererSource  # noqa: PLC0415
    from promptpress._view.sample_rows import TableRows  # noqa: PLC0415

    if isinstance(side, Renderer):
        if rows is None:
            message = f"{name}: a Renderer needs samples; give them as the third argument"
            raise TypeError(message)
        return RendererSource(side, rows)
    try:
        table = as_table(side)
    except TypeError as error:
        message = f"{name}: expected a Renderer or a rendered table, found a {type(side).__name__}"
        raise TypeError(message) from error
    return RenderedSource(TableRows(table))
