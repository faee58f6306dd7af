"""A harness's dataset as Arrow, where its rows are what Arrow gives."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress._backend.monkeypatches import NotCoveredError, check_no_shadows, check_unpatched

_PLAIN_TYPES = (
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
_LIST_FEATURES = ("Sequence", "List", "LargeList")
_MAX_SPREAD_RATIO = 4  # rows that lie this many times farther apart than needed are picked one by one
_READ_FUNCTIONS = (
    ("datasets.arrow_dataset", "Dataset.__getitem__"),
    ("datasets.arrow_dataset", "Dataset._getitem"),
    ("datasets.formatting.formatting", "query_table"),
    ("datasets.formatting.formatting", "_query_table"),
    ("datasets.formatting.formatting", "_query_table_with_indices_mapping"),
    ("datasets.table", "IndexedTableMixin.fast_slice"),
    ("datasets.table", "IndexedTableMixin.fast_gather"),
    ("datasets.formatting.formatting", "format_table"),
    ("datasets.formatting.formatting", "PythonFormatter.format_row"),
    ("datasets.formatting.formatting", "PythonArrowExtractor.extract_row"),
    ("datasets.formatting.formatting", "PythonFeaturesDecoder.decode_row"),
)
_REFUSED_NAMES = ("self", "input_str")  # names of the harness's own arguments: it raises where a column has them


class Rows:
    """A Hugging Face dataset's rows, as tables.

    Args:
        dataset: The dataset.

    Raises:
        NotCoveredError: If rows of the dataset aren't what Arrow's `to_pylist` gives: it has a format that makes other
            objects of them, or features that are decoded; or it is no Hugging Face dataset.
    """

    __slots__ = ("_data", "_indices", "_names", "_table", "count", "schema")

    def __init__(self, dataset: Any) -> None:
        datasets = sys.modules.get("datasets")
        if datasets is None or type(dataset) is not datasets.Dataset:
            raise NotCoveredError(f"a dataset of {type(dataset).__name__} isn't a Hugging Face dataset")
        check_no_shadows(dataset)
        for place in _READ_FUNCTIONS:
            check_unpatched(*place, deeply=False)
        features = dataset.features
        # A row has the order of the features.
        self._names = _formatted_columns(dataset.format, list(features))
        self._data = dataset.data
        self._table: pa.Table = dataset.data.table.select(self._names)
        for name in self._names:
            feature = features[name]
            if name in _REFUSED_NAMES or not (_is_plain(feature) or _is_moment(self._table[name])):
                raise NotCoveredError(f"the dataset's column {name!r} isn't covered ({feature})")
            if not _is_readable(self._table[name]):
                raise NotCoveredError(f"the dataset's column {name!r} has values that Python can't read")
        indices = dataset._indices
        self._indices = None if indices is None else indices.table.column(0)
        self.count = len(dataset)
        self.schema = self._table.schema

    def slice(self, start: int, stop: int) -> pa.Table:
        """The rows from `start` to `stop`, in one chunk."""
        if self._indices is None:
            return self._table.slice(start, stop - start).combine_chunks()
        return self._gathered(self._indices.slice(start, stop - start))

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is stored, with values of rows that a selection leaves out."""
        return self._table[name]

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Some rows, in the order given."""
        places = pa.array(rows, pa.int64())
        return self._gathered(places if self._indices is None else self._indices.take(places))

    def _gathered(self, places: Any) -> pa.Table:
        """Rows of the stored table.

        Arrow's `take` joins all chunks of a column of strings to take a few of them, and a dataset has thousands.
        """
        if not len(places):
            return self._table.slice(0, 0).combine_chunks()
        first, last = pc.min_max(places).as_py().values()
        if last - first < _MAX_SPREAD_RATIO * len(places):
            near = self._table.slice(first, last - first + 1).combine_chunks()
            wanted = pc.subtract(places.cast(pa.int64()), pa.scalar(first, pa.int64()))
            return near.take(wanted).combine_chunks()
        return self._data.fast_gather(places.to_pylist()).select(self._names).combine_chunks()


def _formatted_columns(form: dict[str, Any], names: list[str]) -> list[str]:
    """The columns that a row of the dataset has, in their order.

    Raises:
        NotCoveredError: If values are made into other objects, or if no column is left.
    """
    if form["type"] is not None or form["format_kwargs"]:
        kind = "with options" if form["type"] is None else repr(form["type"])
        raise NotCoveredError(f"the dataset has a format of its own ({kind})")
    formatted = set(form["columns"])
    columns = [name for name in names if name in formatted]
    if form["output_all_columns"]:
        columns += [name for name in names if name not in formatted]
    if not columns:
        raise NotCoveredError("the dataset has a format that shows no column")
    return columns


def _is_plain(feature: Any) -> bool:
    """Whether values of a feature are those of Arrow, and each of them has a text."""
    kind = type(feature).__name__
    if isinstance(feature, Mapping):
        return all(map(_is_plain, feature.values()))
    if isinstance(feature, (list, tuple)):
        return all(map(_is_plain, feature))
    if kind in _LIST_FEATURES:
        return _is_plain(feature.feature)
    if kind == "ClassLabel":
        return True
    return kind == "Value" and _is_plain_type(feature.pa_type)


def _is_readable(column: pa.ChunkedArray) -> bool:
    """Whether each value can be read: a text that isn't UTF-8 makes the harness fail when it comes to its row."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


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
    return any(is_one(data_type) for is_one in _PLAIN_TYPES)
