"""The texts within a column, or within requests, as arrays of strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import text_parts
from pyarrow import types

from promptpress_workbench.prompts.prompt_source import message_texts, parent_rows

_NAME = re.compile(r"[\w .-]*")
"""The names of fields that hold nothing to look for."""


class Texts(NamedTuple):
    """Some texts, with the row of each."""

    array: pa.Array
    """The texts, as strings."""
    parents: pa.Array | None
    """The row of each text (int64), ascending; None if each row has one text."""

    def rows(self, numbers: pa.Array) -> pa.Array:
        """Return the rows of some texts, which are given by number."""
        return numbers.cast(pa.int64()) if self.parents is None else self.parents.take(numbers)

    def spread(self, values: pa.Array) -> pa.Array:
        """Return for each text the value of its row."""
        return values if self.parents is None else values.take(self.parents)

    def of_rows(self, mask: pa.Array) -> Texts:
        """Keep the texts of the rows that a mask marks."""
        if self.parents is None:
            return Texts(self.array.filter(mask), pc.indices_nonzero(mask).cast(pa.int64()))
        kept = mask.take(self.parents)
        return Texts(self.array.filter(kept), self.parents.filter(kept))


def texts_within(array: pa.Array, parents: pa.Array | None = None) -> Iterator[Texts]:
    """Yield the texts of a column, including those in lists and structs, and unusual names of fields.

    Args:
        array: The column's values.
        parents: The row of each value; None if the values are the rows.

    >>> (texts,) = texts_within(pa.array([["a"], [], ["b", "c"]]))
    >>> texts.array.to_pylist(), texts.parents.to_pylist()
    (['a', 'b', 'c'], [0, 2, 2])

    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from texts_within(array.storage, parents)
    elif is_text(kind):
        yield Texts(without_views(array), parents)
    elif types.is_dictionary(kind):
        if is_text(kind.value_type):
            values = without_views(array.dictionary)
            yield Texts(pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode(), parents)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if _may_hold_text(kind):
            rows = parent_rows(array)
            yield from texts_within(array.flatten(), rows if parents is None else parents.take(rows))
    elif types.is_struct(kind):
        for index in range(kind.num_fields):
            name = kind.field(index).name
            if not _NAME.fullmatch(name):
                rows = pc.indices_nonzero(array.is_valid()).cast(pa.int64())
                names = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), pa.array([name]))
                yield Texts(names.dictionary_decode(), rows if parents is None else parents.take(rows))
            if _may_hold_text(kind.field(index).type):
                yield from texts_within(pc.struct_field(array, [index]), parents)


def texts_in_json(array: pa.Array) -> Texts:
    r"""Return the texts within a column whose values are JSON; a value that is none is a text itself.

    >>> texts = texts_in_json(pa.array(['[{"role": "user", "content": "\\u0041"}]', None]))
    >>> texts.array.to_pylist(), texts.parents.to_pylist()
    (['role', 'content', 'user', 'A'], [0, 0, 0, 0])

    """
    values, parents = [], []
    for number, value in enumerate(to_pylist(array)):
        remaining: list[Any] = [] if value is None else [value]
        with suppress(ValueError, RecursionError):
            remaining = [json.loads(text) for text in remaining]
        while remaining:
            item = remaining.pop()
            if isinstance(item, str):
                values.append(item)
                parents.append(number)
            elif isinstance(item, (list, dict)):
                remaining += reversed([*item, *item.values()] if isinstance(item, dict) else item)
    return Texts(pa.array(values, pa.large_string()), pa.array(parents, pa.int64()))


def _may_hold_text(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    if types.is_union(kind):
        return False  # pyarrow ends the process when it takes a union out of a struct with nulls
    return is_text(kind) or any(_may_hold_text(kind.field(index).type) for index in range(kind.num_fields))


def request_texts(prompts: pa.Array, *, is_json: bool) -> list[Texts]:
    """Return the texts of requests, or of their messages without roles and payloads of media.

    Args:
        prompts: The requests.
        is_json: The requests are messages written as JSON.

    >>> [texts.array.to_pylist() for texts in request_texts(pa.array(["a", "b"]), is_json=False)]
    [['a', 'b']]

    """
    columns = None if is_json else message_texts(prompts)
    if columns is not None:
        return [Texts(texts, None if rows is None else rows.cast(pa.int64())) for texts, rows in columns]
    values, parents = [], []
    for number, request in enumerate(to_pylist(prompts)):
        for text in text_parts(request, is_json=is_json):
            values.append(text)
            parents.append(number)
    return [Texts(pa.array(values, pa.large_string()), pa.array(parents, pa.int64()))]
