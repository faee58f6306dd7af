"""Columns whose values give bytes of a batch's requests, as the renderer's plans say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.subject import Subject
from promptpress._take_rows import spread_over_runs

__all__ = ["Shown", "nulls_of"]


class Shown(NamedTuple):
    """Columns that the requests of some samples show."""

    columns: dict[str, pa.Array | None]
    """The samples' columns, in the schema's order, each with a mask of the rows that show it; None: all rows."""
    examples: pa.Array | None
    """A mask of the rows that show examples; None: all rows."""
    literals: list[str]
    """The literals of each plan, apart from examples, with a NUL where anything else stands between two of them."""
    plans: pa.Array | None
    """The number of each request's plan; None: the plans are one a label."""

    @classmethod
    def of(cls, subject: Subject, samples: pa.Table, position: _core.Position, lower: Callable[..., Any]) -> Shown:
        """Ask the core about samples.

        Args:
            subject: The audited renderer.
            samples: A table of one batch, as the core reads it.
            position: The place of the first sample among all; it isn't changed.
            lower: Gives the texts of columns that the core has none for.

        Returns:
            What their requests show.

        """
        # Values that are never looked into bring in no other column.
        copies = not subject.is_harness
        found, examples, literals, plans = _core.shown_columns(
            subject.core, samples, subject.labels, position.copy(), copies, lower
        )
        masks = dict(found)
        return cls({name: masks[name] for name in samples.column_names if name in masks}, examples, literals, plans)


def nulls_of(column: pa.Array) -> pa.Array:
    """Mark the nulls of a column, also those behind the keys of a dictionary or in the runs of an array.

    >>> nulls_of(pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))).to_pylist()
    [False, True, True]
    >>> texts = pa.array(["a", None], pa.string_view())
    >>> nulls_of(pa.RunEndEncodedArray.from_arrays(pa.array([1, 3]), texts).slice(0, 2)).to_pylist()
    [False, True]

    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return nulls_of(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return spread_over_runs(column, nulls_of(column.values))
    own = column.is_null()
    if pa.types.is_dictionary(kind) and column.dictionary.null_count:
        return pc.or_(own, pc.fill_null(column.dictionary.is_null().take(column.indices), True))
    return own
