"""The documents that examples are drawn from, as a table, and in bulk as what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._lm_eval.backend.alike import same
from promptpress._lm_eval.backend.renderers import renderer_of
from promptpress._lm_eval.documents import TableDocuments, constant_text
from promptpress._lm_eval.fields import Fields
from promptpress._lm_eval.shots import plain_texts, shot_columns

_PLAIN = ({str}, {int}, {float}, {bool})
"""The types of values that come out of Arrow as they went in."""


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table | None:
    """Rows as a table that gives back the same rows.

    Args:
        rows: Rows of a dataset.

    Returns:
        The table; None where there is none.

    Example:
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
    return column if kinds in _PLAIN or same(values, column.to_pylist()) else None


def example_texts(task: Any, table: pa.Table) -> list[str] | None:
    """Examples as plain text, where each is a question and an answer.

    Args:
        task: The harness's task.
        table: The documents that examples are drawn from.

    Returns:
        The text of each; None where only the harness's own steps show what they say.
    """
    config, own = task.config, task.fewshot_cfg
    settings = (config.doc_to_text, config.doc_to_target, own.doc_to_text, own.doc_to_target, own.doc_to_choice)
    if own.gen_prefix or task.multiple_input or not all(map(_is_sure(task.features), settings)):
        return None
    try:
        fields = Fields(task.features, config.doc_to_choice is not None)
        columns = shot_columns(fields, config, own, TableDocuments(table, "few-shot document"))
        texts = None if columns.plain is None else plain_texts(columns.plain, own)
    except (promptpress.RenderError, promptpress.TemplateError):
        return None  # the harness shall raise, or not, when it comes to that row
    return None if texts is None else texts.to_pylist()


def _is_sure(names: Sequence[str]) -> Callable[[Any], bool]:
    """What says of a setting whether nothing of it is left to Jinja2."""

    def is_sure(setting: Any) -> bool:
        if type(setting) is not str or setting in names or constant_text(setting) is not None:
            return True
        render, reason = renderer_of(setting)
        return render is not None and not reason

    return is_sure
