"""Which Arrow types a column of rendered prompts may have."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress._errors import render_error

__all__ = ["check_prompts"]


def check_prompts(schema: pa.Schema, name: str) -> None:
    """Refuse a column that holds no prompts, of which nothing could be shown or measured.

    Args:
        schema: The schema of a rendered table.
        name: The column's name, which is in it.

    Raises:
        RenderError: If it holds neither texts nor lists, or there are several.

    >>> check_prompts(pa.schema([("prompt", pa.string())]), "prompt")
    >>> check_prompts(pa.schema([("prompt", pa.int64())]), "prompt")
    Traceback (most recent call last):
    ...
    promptpress.RenderError: column "prompt": it holds int64; prompts are texts or lists of messages

    """
    places = schema.get_all_field_indices(name)
    if len(places) > 1:
        raise render_error("duplicate_column", f"there are {len(places)} columns of this name", column=name)
    kind = schema.field(places[0]).type
    if not _holds_prompts(kind):
        message = f"it holds {kind}; prompts are texts or lists of messages"
        raise render_error("wrong_column_type", message, column=name)


def _holds_prompts(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind) or (hasattr(types, "is_run_end_encoded") and types.is_run_end_encoded(kind)):
        return _holds_prompts(kind.value_type)
    text = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    return bool(text or types.is_null(kind) or str(kind).startswith(_LISTS))


_LISTS = ("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<", "extension<")
