"""The texts within a column, or within requests, as arrays of strings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._list_items import parent_rows
from promptpress._to_pylist import to_pylist
from promptpress._view.request_texts import message_texts

__all__ = ["Texts", "is_text", "request_texts", "texts_within"]

_TEXT_KEYS = ("prompt", "prompt_mm", "content", "parts", "text")


class Texts(NamedTuple):
    """Some texts, and which row each is of."""

    array: pa.Array
    """Strings."""
    parents: pa.Array | None
    """The row of each, ascending; None: one a row, in order."""

    def rows(self, places: pa.Array) -> pa.Array:
        """Say which rows the texts at some places are of."""
        return places if self.parents is None else self.parents.take(places)

    def of_rows(self, mask: pa.Array) -> Texts:
        """Keep the texts of the rows that a mask marks."""
        if self.parents is None:
            return Texts(self.array.filter(mask), pc.indices_nonzero(mask))
        kept = mask.take(self.parents)
        return Texts(self.array.filter(kept), self.parents.filter(kept))


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts.

    >>> is_text(pa.large_string()), is_text(pa.binary())
    (True, False)

    """
    return bool(types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view())


def texts_within(array: pa.Array, parents: pa.Array | None = None) -> Iterator[Texts]:
    """Give the texts of a column, also those in lists and structs.

    Args:
        array: Its values.
        parents: The row of each; None: they are the rows.

    Yields:
        Arrays of texts. One that isn't nested has a text a row, nulls too.

    >>> (texts,) = texts_within(pa.array([["a"], [], ["b", "c"]]))
    >>> texts.array.to_pylist(), texts.parents.to_pylist()
    (['a', 'b', 'c'], [0, 2, 2])

    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from texts_within(array.storage, parents)
    elif is_text(kind):
        yield Texts(array.cast(pa.large_string()) if kind == pa.string_view() else array, parents)
    elif types.is_dictionary(kind):
        if is_text(kind.value_type):
            values = array.dictionary
            values = values.cast(pa.large_string()) if values.type == pa.string_view() else values
            yield Texts(pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode(), parents)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if _may_hold_text(kind):
            own = parent_rows(array)
            yield from texts_within(array.flatten(), own if parents is None else parents.take(own))
    elif types.is_struct(kind):
        for at in range(kind.num_fields):
            if _may_hold_text(kind.field(at).type):
                yield from texts_within(pc.struct_field(array, [at]), parents)


def _may_hold_text(kind: pa.DataType) -> bool:
    if is_text(kind):
        return True
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    if types.is_union(kind):
        return False  # pyarrow ends the process when it takes one out of a struct with nulls
    return any(_may_hold_text(kind.field(at).type) for at in range(kind.num_fields))


def request_texts(prompts: pa.Array, *, is_json: bool) -> list[Texts]:
    """Give the texts of requests; of messages what each says, without roles and payloads of media.

    Args:
        prompts: The requests.
        is_json: Whether they are messages written as JSON.

    Returns:
        Arrays of texts with the numbers of their requests.

    >>> [texts.array.to_pylist() for texts in request_texts(pa.array(["a", "b"]), is_json=False)]
    [['a', 'b']]

    """
    columns = None if is_json else message_texts(prompts)
    if columns is not None:
        return [Texts(texts, None if own is None else own.cast(pa.int64())) for texts, own in columns]
    values, parents = [], []
    for number, request in enumerate(to_pylist(prompts)):
        for text in _within(_parsed(request) if is_json else request):
            values.append(text)
            parents.append(number)
    return [Texts(pa.array(values, pa.large_string()), pa.array(parents, pa.int64()))]


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _within(request: Any) -> Iterator[str]:
    if isinstance(request, str):
        yield request
    elif isinstance(request, list):
        for item in request:
            yield from _within(item)
    elif isinstance(request, dict):
        for key in _TEXT_KEYS:
            yield from _within(request.get(key))
