"""Messages that raw templates expand from columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress._backend.dataset import NotCoveredError, Rows


def expands(template: Any) -> bool:
    """Whether messages of a template come from a column."""
    return any(_column(one) is not None for one in _messages(template))


def check_expansions(parts: list[tuple[Any, Any]]) -> None:
    """Check that messages from columns and those of the templates are of one kind.

    In the harness each message is an object with its own keys and its own class. A first prompt can't show what later
    rows bring, so all of them have to be plain dicts with the same keys.

    Args:
        parts: Templates, each with the dataset that fills it.

    Raises:
        NotCoveredError: If they differ, or if something is missing in a column.
    """
    if not any(expands(template) for template, _ in parts):
        return
    keys: set[tuple[str, ...]] = set()
    for template, dataset in parts:
        rows = Rows(dataset)
        for message in _messages(template):
            column = _column(message)
            if column is None:
                if type(message) is not dict:
                    raise NotCoveredError("messages of a configuration among those that are expanded from a column")
                keys.add(tuple(message))
            elif column in rows.schema.names:
                keys.add(_keys(column, rows.column(column)))
    if len(keys) > 1:
        raise NotCoveredError("messages that are expanded from a column, beside messages of other keys")


def _messages(template: Any) -> list[Any]:
    return [one for one in getattr(template, "messages", ()) if isinstance(one, dict)]


def _column(message: dict[Any, Any]) -> Any:
    return message.get("expand_column") if "expand_column" in message else None


def _keys(name: str, column: pa.ChunkedArray) -> tuple[str, ...]:
    """The keys of the messages in a column."""
    kind = column.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        raise NotCoveredError(f"the column {name!r}, from which messages are expanded, isn't one of lists of them")
    fields = [kind.value_type.field(n) for n in range(kind.value_type.num_fields)]
    names = tuple(field.name for field in fields)
    if any(map(_has_null, column.chunks)) or not {"role", "content"} <= set(names) or not _are_strings(fields):
        raise NotCoveredError(f"messages in the column {name!r} hold something else than strings")
    return names


def _are_strings(fields: list[pa.Field]) -> bool:
    return all(types.is_string(field.type) for field in fields)


def _has_null(lists: pa.Array) -> bool:
    """Whether a message is missing, or a value of one."""
    messages = pc.list_flatten(lists)
    fields = range(messages.type.num_fields)
    return bool(messages.null_count) or any(pc.struct_field(messages, [n]).null_count for n in fields)
