"""Values out of Arrow: requests as the harness's Python objects, columns of prompts, and values of JSON."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._arrow import python_text as _text
from promptpress._arrow.columns import is_encoded, is_text
from promptpress._arrow.json_columns import holds_json, is_json
from promptpress._arrow.python_rows import is_exact, nested_too_deeply
from promptpress._arrow.python_text import json_on_one_line
from promptpress._core import RenderError
from promptpress._errors.errors import close_names, render_error
from promptpress.typing import Request


def to_pylist(prompts: pa.Array | pa.ChunkedArray) -> list[Request | None]:
    """Return requests as the Python objects that the harness passes on.

    An Arrow struct has every field in every row, so a table's own `to_pylist` fills what a message lacks with None.
    Here a message has the keys that it has, and a bare string among messages is a str again.

    Args:
        prompts: The prompt column of a rendered table: strings, messages, or a prompt list.

    Returns:
        A str or a list a request; None for a null.

    >>> import pyarrow as pa
    >>> rendered = pa.array([[{"role": None, "prompt": "Be kind."}, {"role": "HUMAN", "prompt": "1+1=?"}]])
    >>> to_pylist(rendered)
    [['Be kind.', {'role': 'HUMAN', 'prompt': '1+1=?'}]]
    """
    requests: list[Any] = prompts.to_pylist()
    if is_text(prompts.type):
        return requests
    return [[_message(item) for item in request] if isinstance(request, list) else request for request in requests]


def _message(item: Any) -> Any:
    kept = _without_nulls(item)
    if isinstance(kept, dict) and len(kept) == 1 and isinstance(kept.get("prompt"), str):
        return kept["prompt"]
    return kept


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


PROMPT_COLUMN = "prompt"
"""The name that `Renderer` gives the column, where no other is given."""

PAIR = ("prompt", "completion")
"""The columns of a conversation in two parts, of which the second one is trained."""


def column_of_prompts(schema: pa.Schema, name: str = PROMPT_COLUMN) -> int:
    """Find the column of prompts; refuse one that holds none, of which nothing could be shown or measured."""
    indices = schema.get_all_field_indices(name)
    if not indices:
        close = close_names(name, schema.names)
        hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(map(repr, schema.names))}"
        raise render_error("missing_column", f"there is no column {name!r} of prompts{hint}")
    if len(indices) > 1:
        raise render_error("duplicate_column", f"there are {len(indices)} columns of this name", column=name)
    kind = schema.field(indices[0]).type
    if not _holds_prompts(kind):
        raise render_error("wrong_column_type", f"it holds {kind}; prompts are texts or lists of messages", column=name)
    return int(indices[0])


def without_json(column: pa.Array, field: pa.Field, first_row: int = 0) -> pa.Array:
    """Return a column of JSON as texts: a text as it is, null as none, and other values as JSON on one line."""
    if not is_json(field):
        return column
    texts = json_on_one_line(column, field.name, first_row).to_pylist()
    values = [json.loads(text) if text.startswith(('"', "null")) else text for text in texts]
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError as error:
        row = next(row for row, value in enumerate(values) if value == error.object)
        message = f"its text holds half of a surrogate pair: {error}"
        raise render_error("invalid_unicode", message, first_row + row, field.name) from None


def _holds_prompts(kind: pa.DataType) -> bool:
    if is_encoded(kind):
        return _holds_prompts(kind.value_type)
    return bool(is_text(kind) or types.is_null(kind) or str(kind).startswith(_LISTS))


_LISTS = ("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<", "extension<")


def with_exact_types(table: pa.Table) -> pa.Table:
    """Give columns of JSON the types that Arrow holds all their values in; a column without such a type stays."""
    for index, field in enumerate(table.schema):
        if not holds_json(field):
            continue
        try:
            values = _text.values(table.column(index), field.name, 0, field)
            if nested_too_deeply(values):
                continue  # a type that deep would be followed by recursion until the stack ends
            array = pa.array(values)
        except (RenderError, pa.ArrowException, TypeError, ValueError, OverflowError):
            continue  # whoever reads the value raises the error of its row
        if is_exact(values, array.type):
            table = table.set_column(index, pa.field(field.name, array.type), array)
    return table


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts, with the values of JSON."""
    if not any(map(holds_json, table.schema)):
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows
    columns = [values_of(table, name) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column, with those of JSON."""
    field, column = table.schema.field(name), table.column(name)
    if not holds_json(field):
        values: list[Any] = column.to_pylist()
        return values
    return _text.values(column, name, 0, field)
