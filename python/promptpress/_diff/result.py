"""What `promptpress.diff` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from promptpress._diff.comparison import Comparison

# What shows differences is imported when they are shown: whoever imports promptpress mostly renders.

__all__ = ["Diff"]


class Diff:
    r"""How two ways of rendering the same samples differ; made by `promptpress.diff`.

    It is true where they differ, and its length is the number of requests that do. It exports its `rows` by the Arrow
    PyCapsule interface, and is shown with its first prompts in notebooks and by `print`.

    >>> import promptpress as pp
    >>> import pyarrow as pa
    >>> samples = pa.table({"q": ["1+1=?", "see {a}"], "a": ["2", "gold"]})
    >>> found = pp.diff(pp.Renderer("{q}"), pp.Renderer("{q}", substitution="single_pass"), samples)
    >>> len(found), found.compared, found.rows.select(["sample", "start", "a_column", "b_column"]).to_pylist()
    (1, 2, [{'sample': 1, 'start': 4, 'a_column': 'a', 'b_column': 'q'}])
    >>> found.different, found.only_a, found.only_b
    (1, 0, 0)
    >>> print(found)
    2 requests compared, 1 differs
    ── row 1
    byte 4, character 4 - A: column a; B: column q
    - see [-gold-]
    + see {+{a}+}

    """

    __slots__ = ("_found", "_rows")

    _found: Comparison
    _rows: pa.Table

    def __init__(self, found: Comparison, rows: pa.Table) -> None:
        object.__setattr__(self, "_found", found)
        object.__setattr__(self, "_rows", rows)

    @property
    def compared(self) -> int:
        """The number of requests that both sides have."""
        return self._found.compared

    @property
    def different(self) -> int:
        """The number of requests that both sides have and that differ."""
        return self._found.different

    @property
    def only_a(self) -> int:
        """The number of requests that the second side lacks."""
        return self._found.only_a

    @property
    def only_b(self) -> int:
        """The number of requests that the first side lacks."""
        return self._found.only_b

    @property
    def rows(self) -> pa.Table:
        """The first requests that differ, `limit` at most, in the order of the samples.

        `sample` (its row), `label` and `turn` where there are any, `change` (`"text"`, `"role"`, `"fields"`, `"parts"`,
        `"messages"`, `"form"`, `"null"`, `"only_a"`, `"only_b"`), the number of the first `message` and `part` that
        differ, `start` (the byte from which on texts differ, the same in both), and what stands there on each side, as
        `Renderer.explain` says it: `a_source`, `a_column`, `b_source`, `b_column`; null at the end of a text, and where
        origins aren't known.
        """
        return self._rows

    def __bool__(self) -> bool:
        return not self._found.is_equal

    def __len__(self) -> int:
        return self._found.different + self._found.only_a + self._found.only_b

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export `rows`."""
        return self._rows.__arrow_c_stream__(requested_schema)

    def __setattr__(self, name: str, value: object) -> None:
        message = f"a Diff is frozen: {name} can't be set"
        raise AttributeError(message)

    def __repr__(self) -> str:
        from promptpress._diff.shown import summary  # noqa: PLC0415

        return f"<Diff: {summary(self._found)}>"

    def __str__(self) -> str:
        from promptpress._diff.shown import text_of  # noqa: PLC0415

        return text_of(self._found)

    def _repr_html_(self) -> str:
        from promptpress._diff.html import html_of  # noqa: PLC0415

        return html_of(self._found)
