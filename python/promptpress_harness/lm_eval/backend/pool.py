"""The documents that examples are drawn from, as a table, and the texts of examples in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from promptpress.engine.core import RenderError, TemplateError

from promptpress_harness.lm_eval.backend.comparison import difference
from promptpress_harness.lm_eval.documents import TableDocuments
from promptpress_harness.lm_eval.fields import Fields
from promptpress_harness.lm_eval.rendering import constant_text, renderer_of
from promptpress_harness.lm_eval.shots import plain_texts, shot_columns

_EXACT_TYPES = ({str}, {int}, {float}, {bool})
"""Types of values that Arrow returns unchanged."""


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table | None:
    """Return a dataset's rows as a table from which the same rows can be read; None if there is no such table.

    >>> as_table([{"a": 1, "b": ["x"]}, {"a": 2, "b": []}]).schema.names, as_table([{"a": 1}, {"a": True}])
    (['a', 'b'], None)
    """
    names = next(map(tuple, rows), ())
    if not names or any(tuple(row) != names for row in rows):
        return None
    try:
        columns = [_as_column([row[name] for row in rows]) for name in names]
        return None if any(column is None for column in columns) else pa.table(columns, list(names))
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
        return None


def _as_column(values: list[Any]) -> pa.Array | pa.ChunkedArray | None:
    column = pa.array(values)
    kinds = set(map(type, values))
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(values)))
    return column if kinds in _EXACT_TYPES or not difference(values, column.to_pylist()) else None


def example_texts(task: Any, table: pa.Table) -> list[str] | None:
    """Return the examples of a pool as plain texts, or None if only the harness's own steps show what they are."""
    config, fewshot = task.config, task.fewshot_cfg
    settings = (
        *(config.doc_to_text, config.doc_to_target),
        *(fewshot.doc_to_text, fewshot.doc_to_target, fewshot.doc_to_choice),
    )
    if fewshot.gen_prefix or task.multiple_input or any(_needs_jinja2(setting, task.features) for setting in settings):
        return None
    try:
        fields = Fields(task.features, config.doc_to_choice is not None)
        columns = shot_columns(fields, config, fewshot, TableDocuments(table, "few-shot document"))
        texts = None if columns.plain is None else plain_texts(columns.plain, fewshot)
    except (RenderError, TemplateError):
        return None  # the harness raises, or not, when it comes to that row
    return None if texts is None else texts.to_pylist()


def _needs_jinja2(setting: Any, names: Sequence[str]) -> bool:
    if type(setting) is not str or setting in names or constant_text(setting) is not None:
        return False
    render, reason = renderer_of(setting)
    return render is None or bool(reason)
