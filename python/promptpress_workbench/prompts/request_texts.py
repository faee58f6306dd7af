"""Texts of many requests as Arrow arrays, so that whole tables are searched without a Python loop."""

from __future__ import annotations

import pyarrow as pa
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.prompts.list_items import parent_rows

_TEXT_KEYS = ("prompt", "content")


def message_texts(prompts: pa.Array) -> list[tuple[pa.Array, pa.Array | None]] | None:
    """Return the texts of a prompt column, each array with the numbers of its requests (None: one a request).

    If the column may hold parts, whose texts are nested more deeply, return None.

    >>> message_texts(pa.array(["a"]))[0][0].to_pylist()
    ['a']

    """
    if is_text(prompts.type):
        return [(without_views(prompts), None)]
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        return None
    item = prompts.type.value_type
    if not types.is_struct(item):
        return None
    fields = {field.name: field.type for field in item}
    if any(types.is_nested(kind) for kind in fields.values()):
        return None
    names = [name for name in _TEXT_KEYS if name in fields and is_text(fields[name])]
    if not names or (len(names) > 1 and "role" not in fields):
        return None
    messages, parents = prompts.flatten(), parent_rows(prompts)
    return [(without_views(pc.struct_field(messages, name)), parents) for name in names]
