"""A harness's dataset as Arrow, where its rows are what Arrow gives."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_PLAIN = (
    types.is_string,
    types.is_large_string,
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    types.is_null,
    types.is_binary,
    types.is_large_binary,
    types.is_decimal,
)
_LISTS = ("Sequence", "List", "LargeList")
_REFUSED_NAMES = ("self", "input_str")  # names of the harness's own arguments: it raises where a column has them


class Rows:
    """A Hugging Face dataset's rows, as tables.

    Args:
        dataset: The dataset.

    Raises:
        NotCoveredError: If rows of the dataset aren't what Arrow's `to_pylist` gives: it has a format, or features that
            are decoded; or it is no Hugging Face dataset.
    """

    __slots__ = ("_indices", "_table", "count", "schema")

    def __init__(self, dataset: Any) -> None:
        datasets = sys.modules.get("datasets")
        if datasets is None or type(dataset) is not datasets.Dataset:
            raise NotCoveredError(f"a dataset of {type(dataset).__name__} isn't a Hugging Face dataset")
        features = dataset.features
        if dataset.format["type"] is not None or dataset.format["columns"] != dataset.column_names:
            raise NotCoveredError("the dataset has a format of its own")
        # A row has the order of the features.
        self._table: pa.Table = dataset.data.table.select(list(features))
        for name, feature in features.items():
            if name in _REFUSED_NAMES or not (_is_plain(feature) or _is_moment(self._table[name])):
                raise NotCoveredError(f"the dataset's column {name!r} isn't covered ({feature})")
        indices = dataset._indices
        self._indices = None if indices is None else indices.table.column(0)
        self.count = len(dataset)
        self.schema = self._table.schema

    def slice(self, start: int, stop: int) -> pa.Table:
        """The rows from `start` to `stop`, in one chunk."""
        if self._indices is not None:
            return self._table.take(self._indices.slice(start, stop - start)).combine_chunks()
        return self._table.slice(start, stop - start).combine_chunks()

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is stored, with values of rows that a selection leaves out."""
        return self._table[name]

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Some rows, in the order given."""
        places = pa.array(rows, pa.int64())
        if self._indices is not None:
            places = self._indices.take(places)
        return self._table.take(places).combine_chunks()


class NotCoveredError(Exception):
    """What bulk rendering doesn't cover; the message says what."""


def _is_plain(feature: Any) -> bool:
    """Whether values of a feature are those of Arrow, and each of them has a text."""
    kind = type(feature).__name__
    if isinstance(feature, Mapping):
        return all(map(_is_plain, feature.values()))
    if isinstance(feature, (list, tuple)):
        return all(map(_is_plain, feature))
    if kind in _LISTS:
        return _is_plain(feature.feature)
    if kind == "ClassLabel":
        return True
    return kind == "Value" and _is_plain_type(feature.pa_type)


def _is_moment(column: pa.ChunkedArray) -> bool:
    """Whether a column holds dates or timestamps, all of which Python has without pandas.

    One that Python doesn't have makes the harness fail when it comes to its row.
    """
    kind = column.type
    is_plain = types.is_timestamp(kind) and kind.unit != "ns" and kind.tz is None
    if not is_plain and not types.is_date(kind):
        return False
    try:
        pc.min_max(column).as_py()
    except (OverflowError, ValueError):
        return False
    return True


def _is_plain_type(data_type: pa.DataType) -> bool:
    return any(is_one(data_type) for is_one in _PLAIN)
