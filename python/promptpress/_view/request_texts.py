"""The texts of many requests as Arrow arrays, so that whole tables are searched without a Python loop."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._list_items import parent_rows

__all__ = ["message_texts"]

_TEXT_KEYS = ("prompt", "content")


def message_texts(prompts: pa.Array) -> list[tuple[pa.Array, pa.Array | None]] | None:
    """Return the texts of requests, as far as each is a text or messages of texts.

    Args:
        prompts: A prompt column.

    Returns:
        Arrays of strings, each with the numbers of the requests that they are of (None: in order). None where the
        column may hold parts, whose texts stand deeper.

    >>> message_texts(pa.array(["a"]))[0][0].to_pylist()
    ['a']

    """
    if _is_text(prompts.type):
        return [(_plain(prompts), None)]
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        return None
    item = prompts.type.value_type
    if not types.is_struct(item):
        return None
    fields = {item.field(at).name: item.field(at).type for at in range(item.num_fields)}
    if any(types.is_nested(kind) for kind in fields.values()):
        return None
    names = [name for name in _TEXT_KEYS if name in fields and _is_text(fields[name])]
    if not names or (len(names) > 1 and "role" not in fields):
        return None
    messages, parents = prompts.flatten(), parent_rows(prompts)
    return [(_plain(pc.struct_field(messages, name)), parents) for name in names]


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view())


def _plain(texts: pa.Array) -> pa.Array:
    """Views as strings, which Arrow's kernels know."""
    return texts.cast(pa.large_string()) if texts.type == pa.string_view() else texts
