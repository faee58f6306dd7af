"""The column of prompts in a rendered table: its index, and the Arrow types that it may have."""

from __future__ import annotations

import json

import pyarrow as pa
from pyarrow import types

from promptpress._arrow.json_columns import is_json
from promptpress._arrow.python_text import json_on_one_line
from promptpress._arrow.types import is_encoded, is_text
from promptpress._errors.errors import render_error
from promptpress._errors.suggestions import close_names

PROMPT_COLUMN = "prompt"
"""What `Renderer` calls it, where no other name is given."""


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
