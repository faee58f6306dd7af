"""Arrow types that the rooms ask about: which hold texts, and how users name the layouts of strings."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress._core import STRING_LAYOUTS

LAYOUTS: dict[str, pa.DataType] = {name: getattr(pa, name)() for name in STRING_LAYOUTS}
"""Layouts of strings, keyed by their public names."""

_LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


def is_text(data_type: pa.DataType, *, encoded: bool = False) -> bool:
    """Return true if a column of a type holds strings."""
    if encoded and is_encoded(data_type):
        return is_text(data_type.value_type, encoded=True)
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type))


def is_encoded(data_type: pa.DataType) -> bool:
    """Return true if a column of a type holds keys or runs in the place of its values."""
    return bool(types.is_dictionary(data_type) or types.is_run_end_encoded(data_type))


def is_messages(data_type: pa.DataType) -> bool:
    """Return true if a column of a type holds lists of messages, each with a speaker and a content."""
    if not isinstance(data_type, _LISTS) or not types.is_struct(data_type.value_type):
        return False
    names = {field.name for field in data_type.value_type}
    return names >= {"role", "content"} or names >= {"from", "value"}


def without_views(texts: pa.Array) -> pa.Array:
    """Return texts of a layout that pyarrow's functions know."""
    return texts.cast(pa.large_string()) if types.is_string_view(texts.type) else texts
