"""`promptpress.diff` and `promptpress.Diff`: two ways of rendering the same samples, request by request."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from promptpress.engine import TableRenderer, as_table, engine_of
from promptpress.engine.errors import render_error
from promptpress.engine.tables import EXACT
from promptpress.typing import TableLike

from promptpress_workbench.diff.comparison import Comparison, compare, difference_rows
from promptpress_workbench.diff.layout import html_of, summary, text_of
from promptpress_workbench.prompts.prompt_source import PromptSource, TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of

_MAX_PROMPTS = 3
"""The number of requests whose prompts are kept for printing."""


class Diff:
    r"""The differences between two ways of rendering the same samples; made by `promptpress.diff`.

    It is true if there are differences, and its length is the number of requests that differ. It exports its `rows` by
    the Arrow PyCapsule interface. Notebooks and `print` show it with its first prompts.

    >>> import promptpress as pp
    >>> import pyarrow as pa
    >>> samples = pa.table({"q": ["1+1=?", "see {a}"], "a": ["2", "gold"]})
    >>> found = pp.diff(pp.Renderer("{q}", substitution="harness"), pp.Renderer("{q}"), samples)
    >>> len(found), found.compared, found.rows.select(["sample", "start", "a_column", "b_column"]).to_pylist()
    (1, 2, [{'sample': 1, 'start': 4, 'a_column': 'a', 'b_column': 'q'}])
    >>> found.different, found.only_a, found.only_b
    (1, 0, 0)
    >>> print(found)
    2 requests compared, 1 differs
    ── row 1
    byte 4, character 4 - A: filled in from within a value: column a; B: column q
    - see [-gold-]
    + see {+{a}+}

    """

    __slots__ = ("_comparison", "_rows")

    _comparison: Comparison
    _rows: pa.Table

    def __init__(self, comparison: Comparison, rows: pa.Table) -> None:
        object.__setattr__(self, "_comparison", comparison)
        object.__setattr__(self, "_rows", rows)

    @property
    def compared(self) -> int:
        """The number of requests that both sides have."""
        return self._comparison.compared

    @property
    def different(self) -> int:
        """The number of requests that both sides have and that differ."""
        return self._comparison.different

    @property
    def only_a(self) -> int:
        """The number of requests that the second side lacks."""
        return self._comparison.only_a

    @property
    def only_b(self) -> int:
        """The number of requests that the first side lacks."""
        return self._comparison.only_b

    @property
    def rows(self) -> pa.Table:
        """The first requests that differ, at most `limit`, in the order of the samples.

        Its columns are `sample` (the row), `label` and `turn` if there are any, and `change` (`"text"`, `"role"`,
        `"fields"`, `"parts"`, `"messages"`, `"form"`, `"null"`, `"only_a"`, `"only_b"`). `message` and `part` are the
        numbers of the first message and part that differ. `start` is the number of equal bytes before the difference
        of two texts. `a_source`, `a_column`, `b_source` and `b_column` name the origin of each side's text there, as
        `Renderer.explain` does; they are null at the end of a text, and if origins aren't known.
        """
        return self._rows

    def __bool__(self) -> bool:
        return not self._comparison.is_equal

    def __len__(self) -> int:
        return self._comparison.different + self._comparison.only_a + self._comparison.only_b

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export `rows`."""
        return self._rows.__arrow_c_stream__(requested_schema)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Diff is frozen: {name} can't be set")

    def __repr__(self) -> str:
        return f"<Diff: {summary(self._comparison)}>"

    def __str__(self) -> str:
        return text_of(self._comparison)

    def _repr_html_(self) -> str:
        return html_of(self._comparison)


def diff(
    a: TableRenderer[Any] | TableLike,
    b: TableRenderer[Any] | TableLike,
    samples: TableLike | None = None,
    *,
    limit: int = 100,
) -> Diff:
    """Compare two ways of rendering the same samples, request by request.

    Requests of the same sample, label and turn are compared with each other.

    Args:
        a: A renderer, or a rendered table: with a column `prompt`, and `label` or `turn` if there are any.
        b: Another renderer or rendered table.
        samples: The samples for the renderers; not needed if both sides are tables.
        limit: The most requests that `rows` has. All requests that differ are counted.

    Returns:
        The number of requests that differ, and the first of them with the location of the difference.

    Raises:
        TypeError: If a renderer has no samples, or one side is neither a renderer nor a table.
        RenderError: As `Renderer.render`, and if a table has no column of prompts.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> samples = pa.table({"q": ["1+1=?"]})
    >>> before = Renderer("Q: {q}").render(samples)
    >>> bool(diff(before, Renderer("Q: {q}"), samples)), bool(diff(before, Renderer("Q:{q}"), samples))
    (False, True)

    """
    if limit < 0:
        raise render_error("invalid_number", f"limit: expected a number from 0 on, found {limit}")
    readings = [engine_of(side).value_reading for side in (a, b) if isinstance(side, TableRenderer)]
    is_shared = len({(reading.exact, reading.column) for reading in readings}) == 1
    rows = None if samples is None else TableRows(samples, readings[0] if is_shared else EXACT)
    comparison = compare(_source(a, rows, "a"), _source(b, rows, "b"), limit=limit, prompts=_MAX_PROMPTS)
    return Diff(comparison, difference_rows(comparison.first))


def _source(side: Any, rows: TableRows | None, name: str) -> PromptSource:
    if isinstance(side, TableRenderer):
        if rows is None:
            raise TypeError(f"{name}: a Renderer needs samples; give them as the third argument")
        return source_of(side, rows)
    try:
        table = as_table(side)
    except TypeError as error:
        found = type(side).__name__
        raise TypeError(f"{name}: expected a Renderer or a rendered table, found a {found}") from error
    return RenderedSource(TableRows(table))
