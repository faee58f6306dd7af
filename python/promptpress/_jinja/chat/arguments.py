"""Arguments of a template that columns hold, a value a row: which columns, and what their values are.

An argument that is null is none, as if it weren't given; so is an empty list of tools or documents. A struct of Arrow
has all fields of its column, so a field that is null is no key of the dict: what TRL's `remove_none_values` makes of
such tables. JSON has no fields but its own, so a null in it stays one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import is_text, without_views
from promptpress._arrow.json_columns import is_json, json_texts
from promptpress._arrow.python_rows import excerpt
from promptpress._arrow.python_values import to_pylist
from promptpress._core import RenderError
from promptpress._errors.errors import render_error, template_error

ALL = "*"
"""The name for a column whose values are dicts of arguments."""

LISTS = ("tools", "documents")
"""The arguments that are lists of dicts, and come from columns of their names if nothing else is said."""

RESERVED = frozenset({"chat_template", "conversations", "return_assistant_tokens_mask"})
"""Arguments that transformers passes to its `render_jinja_template` itself; no variable can have their names."""

_OF_ALL_ROWS = frozenset({"messages", "continue_final_message", *RESERVED})
"""Names that no argument of a row can have."""

RowArguments = Mapping[str, Any]
"""The values of a row's columns of arguments, keyed by the names of the arguments."""


def checked_columns(given: Any, fixed: Mapping[str, Any]) -> dict[str, str] | None:
    """Check `argument_columns`; `fixed` are the arguments that are given for all rows."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        message = f'expected a dict, such as {{"tools": "tools"}}, found a {type(given).__name__}'
        raise template_error("wrong_type", "argument_columns", message)
    for name, column in given.items():
        if not isinstance(name, str) or not isinstance(column, str):
            message = f"expected the name of an argument and that of a column, found {name!r}: {column!r}"
            raise template_error("wrong_type", "argument_columns", message)
        if name in _OF_ALL_ROWS:
            message = f"{name!r}: no column holds it; it is the same for all rows"
            raise template_error("unknown_key", "argument_columns", message)
        if fixed.get(name) is not None:
            raise template_error("unknown_key", "argument_columns", f"{name!r} is given for all rows too; give it once")
    return dict(given)


def check_names(names: Iterable[str]) -> None:
    """Raise a ValueError for an argument that no row can have."""
    for name in names:
        if name in _OF_ALL_ROWS:
            raise ValueError(f"it has {name!r}, which is the same for all rows")


def without_nulls(value: Any) -> Any:
    """Return a value whose dicts lack the keys without a value."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def arguments_of(name: str, value: Any, others: Iterable[str]) -> dict[str, Any]:
    """Return the arguments that a column's value holds; raise a ValueError if it holds none.

    `name` is that of the argument, or `ALL`; `others` are the arguments that have columns.
    """
    if value is None:
        return {}
    if name != ALL:
        value = _list(name, value) if name in LISTS else value
        return {} if value is None else {name: value}
    members = _decoded(value)
    if not isinstance(members, dict):
        raise ValueError(f"expected a dict of arguments, or one as JSON, found {excerpt(members)}")
    check_names(members)
    for key in members:
        if key in others:
            raise ValueError(f"it has {key!r}, for which there is a column too")
    return {key: _list(key, item) if key in LISTS else item for key, item in members.items()}


def refused(error: Exception, name: str, row: int, column: str, *, is_named: bool) -> RenderError:
    """Return the error for a column's value that is no argument; without `is_named`, nobody has named the column."""
    remedy = "" if is_named else f"; argument_columns={{}} says that the column isn't the template's {name!r}"
    return render_error("unconvertible_value", f"{error}{remedy}", row, column)


def filled_rows(column: pa.ChunkedArray, field: pa.Field) -> list[int]:
    """Return the rows of a column of tools or documents that hold some, as far as that shows at once."""
    column = json_texts(column) if is_json(field) else column
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        is_filled = pc.greater(pc.list_value_length(column), 0)
    elif is_text(column.type):
        texts = without_views(column)
        filled = [text for text in pc.unique(texts).to_pylist() if text is not None and _holds_some(text)]
        is_filled = pc.is_in(texts, value_set=pa.array(filled, texts.type))
    else:
        return []
    rows: list[int] = pc.indices_nonzero(is_filled).to_pylist()
    return rows


def _holds_some(text: str) -> bool:
    """Return true for a text that is no empty list as JSON."""
    try:
        return _decoded(text) not in (None, [])
    except ValueError:
        return True


def argument_texts(
    name: str, column: pa.Array, field: pa.Field, first_row: int, *, is_named: bool = True
) -> list[str | None]:
    """Return an argument of rows as JSON, as chat APIs take it; None where a row has none.

    Args:
        name: The argument, or `ALL` for a dict of arguments.
        column: The column that holds it.
        field: The column's field.
        first_row: The number of the column's first row in errors.
        is_named: False if nobody has named the column, as errors then say.

    Returns:
        A text or None for each row.

    Raises:
        RenderError: If a value is no such argument.

    >>> argument_texts("tools", pa.array([['{"name": "f"}'], []]), pa.field("tools", pa.list_(pa.string())), 0)
    ['[{"name": "f"}]', None]
    """
    texts: list[str | None] = []
    for row, value in enumerate(to_pylist(json_texts(column) if is_json(field) else column), first_row):
        try:
            arguments = arguments_of(name, without_nulls(value), ())
            given = arguments if name == ALL else arguments.get(name)
            texts.append(None if not arguments else json.dumps(given, ensure_ascii=False))
        except (ValueError, TypeError) as error:
            raise refused(error, name, row, field.name, is_named=is_named) from error
    return texts


def _list(name: str, value: Any) -> list[dict[str, Any]] | None:
    """Return tools or documents; None if there are none."""
    items = _decoded(value)
    if items is None or items == []:
        return None
    if not isinstance(items, list):
        raise ValueError(f"expected a list of {name}, or one as JSON, found {excerpt(items)}")
    decoded = [_decoded(item) for item in items]
    for number, item in enumerate(decoded):
        if not isinstance(item, dict):
            raise ValueError(f"{name}[{number}]: expected a dict, or one as JSON, found {excerpt(item)}")
    return decoded


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        value = json.loads(value) if value.strip() else None
        return _decoded(value) if isinstance(value, str) else value  # JSON whose value is such a text
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"the text is no JSON: {error}") from None
