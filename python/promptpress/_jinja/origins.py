"""Spans of rendered texts: which bytes come from the template, from a column, or from a text of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._jinja.traced.origin import COMPUTED, TEMPLATE, UNKNOWN, Origin
from promptpress._jinja.traced.values import Piece
from promptpress.typing import StringLayout

_NAMES = pa.dictionary(pa.int32(), pa.string())
_FIELDS = {
    "message": pa.int32(),
    "start": pa.int32(),
    "end": pa.int32(),
    "source": pa.dictionary(pa.int8(), pa.string()),
    "column": _NAMES,
    "example": pa.int32(),
    "role": _NAMES,
    "path": _NAMES,
}


_FIXED = (TEMPLATE, COMPUTED, UNKNOWN)
"""The origins whose numbers the core gives itself."""


def spans_type(strings: StringLayout, *, is_chat: bool, is_detailed: bool) -> pa.DataType:
    """Return the type of a text's spans.

    Args:
        strings: The layout of the texts. Those of `large_string` may have 2 GiB and more, so positions have 64 bits.
        is_chat: True for the texts of conversations.
        is_detailed: True for spans with column, example and role.

    >>> spans_type("string", is_chat=False, is_detailed=False).value_type.names
    ['start', 'end', 'source']
    """
    left_out = set() if is_chat else {"message", "path"}
    left_out |= set() if is_detailed else {"column", "example", "role", "path"}
    large = {"start": pa.int64(), "end": pa.int64()} if strings == "large_string" else {}
    fields = {**_FIELDS, **large}
    return pa.list_(pa.struct([(name, kind) for name, kind in fields.items() if name not in left_out]))


class Origins:
    """Numbers the origins of some texts.

    Args:
        data_type: The type of spans, as `spans_type` returns it.
    """

    def __init__(self, data_type: pa.DataType) -> None:
        self.data_type = data_type
        self._numbers: dict[Origin, int] = {origin: number for number, origin in enumerate(_FIXED)}

    def number(self, origin: Origin) -> int:
        """Return the number of an origin, which it gets when it is asked for first."""
        return self._numbers.setdefault(origin, len(self._numbers))

    def spans(
        self,
        programs: Sequence[Any],
        origins: list[list[Origin]],
        which: pa.Array | None,
        table: pa.Table,
        texts: Sequence[pa.Array],
        *,
        by_item: bool,
        trace: Callable[[list[int]], Mapping[int, Sequence[Piece]]],
    ) -> Iterator[pa.Array]:
        """Yield the spans of each array of texts.

        Args:
            programs: The programs that rendered the rows.
            origins: The origins of each program's columns, or of the texts of the only column's lists.
            which: The number of each row's program; None: all rows take the first.
            table: The rows.
            texts: The texts, in several arrays.
            by_item: True if the only column has lists of texts.
            trace: Returns the parts of rows' texts, given the rows' numbers; rows whose parts aren't known are left
                out. It is called for the rows of which the programs don't know all origins.
        """
        numbers = [[self.number(origin) for origin in program] for program in origins]
        lengths = pa.chunked_array([_lengths(array) for array in texts], pa.int64()).combine_chunks()
        lengths = lengths.combine_chunks() if isinstance(lengths, pa.ChunkedArray) else lengths
        arrays = _core.jinja_spans(list(programs), numbers, by_item, which, table, lengths)
        spans = pa.concat_arrays(arrays) if arrays else None
        if spans is not None and (traced := trace(_doubtful_rows(spans))):
            spans = self._with_rows(spans, traced)
        start = 0
        for array in texts:
            yield pa.array([], self.data_type) if spans is None else self._named(spans.slice(start, len(array)))
            start += len(array)

    def _with_rows(self, spans: pa.Array, traced: Mapping[int, Sequence[Piece]]) -> pa.Array:
        """Return spans with those of some rows replaced."""
        rows = pa.array([self._spans_of(parts) for parts in traced.values()], spans.type)
        indices = {row: len(spans) + index for index, row in enumerate(traced)}
        order = pa.array([indices.get(row, row) for row in range(len(spans))], pa.int64())
        return pa.concat_arrays([spans, rows]).take(order)

    def _spans_of(self, parts: Sequence[Piece]) -> list[dict[str, int]]:
        out: list[dict[str, int]] = []
        end = 0
        for text, origin in parts:
            start, end = end, end + len(text.encode())
            out.append({"start": start, "end": end, "origin": self.number(TEMPLATE if origin is None else origin)})
        return out

    def _named(self, spans: pa.Array) -> pa.Array:
        """Return spans with the names of their origins in place of the numbers."""
        # Offsets that begin at 0, over values of these rows alone.
        values = spans.flatten()
        offsets = pc.subtract(spans.offsets, spans.offsets[0])
        numbers = values.field("origin")
        columns = []
        for name, kind in ((field.name, field.type) for field in self.data_type.value_type):
            if name in {"start", "end"}:
                columns.append(values.field(name).cast(kind))
                continue
            of_origins = pa.array([getattr(origin, name, None) for origin in self._numbers], _plain(kind))
            if pa.types.is_dictionary(kind):
                encoded = of_origins.dictionary_encode()
                indices = encoded.indices.cast(kind.index_type).take(numbers)
                columns.append(pa.DictionaryArray.from_arrays(indices, encoded.dictionary))
            else:
                columns.append(of_origins.take(numbers))
        structs = pa.StructArray.from_arrays(columns, fields=list(self.data_type.value_type))
        validity = None if not spans.null_count else spans.is_null()
        return pa.ListArray.from_arrays(offsets, structs, type=self.data_type, mask=validity)


def _plain(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _doubtful_rows(spans: pa.Array) -> list[int]:
    """Return the rows with a span that is computed from several values, or that no program rendered."""
    numbers = spans.flatten().field("origin")
    doubtful = pc.is_in(numbers, value_set=pa.array([_FIXED.index(COMPUTED), _FIXED.index(UNKNOWN)], pa.uint32()))
    rows: list[int] = pc.unique(pc.list_parent_indices(spans).filter(doubtful)).to_pylist()
    return rows


def _lengths(texts: pa.Array) -> pa.Array:
    texts = texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts
    return pc.binary_length(texts).cast(pa.int64())
