"""The rows of a harness's dataset as Arrow tables, and the rows that a retriever chooses for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_no_shadows, check_unpatched
from promptpress_harness.registry import loaded

_PLAIN_TYPES = (
    *(types.is_string, types.is_large_string, types.is_binary, types.is_large_binary),
    *(types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null),
)
_LIST_FEATURES = ("Sequence", "List", "LargeList")
_MAX_SPREAD_RATIO = 4  # rows that are spread wider than this are gathered one by one
_READ_FUNCTIONS = {
    "datasets.arrow_dataset": ("Dataset.__getitem__", "Dataset._getitem"),
    "datasets.formatting.formatting": (
        *("query_table", "_query_table", "_query_table_with_indices_mapping", "format_table"),
        *("PythonFormatter.format_row", "PythonArrowExtractor.extract_row", "PythonFeaturesDecoder.decode_row"),
    ),
    "datasets.table": ("IndexedTableMixin.fast_slice", "IndexedTableMixin.fast_gather"),
}
_REFUSED_NAMES = ("self", "input_str")  # names of the harness's own arguments: it raises where a column has them


def is_dataset(value: Any) -> bool:
    """Return true for a Hugging Face dataset; an object of a subclass is none."""
    return type(value) is loaded("datasets", "Dataset")


class Rows:
    """The rows of a Hugging Face dataset, as tables.

    NotCoveredError is raised if the dataset's rows aren't what Arrow's `to_pylist` gives: it has a format that makes
    other objects of them, or features that are decoded; or it is no Hugging Face dataset.
    """

    __slots__ = ("_data", "_indices", "_names", "_table", "count", "schema")

    def __init__(self, dataset: Any) -> None:
        if not is_dataset(dataset):
            raise NotCoveredError(f"a dataset of {type(dataset).__name__} isn't a Hugging Face dataset")
        check_no_shadows(dataset)
        for module, paths in _READ_FUNCTIONS.items():
            for path in paths:
                check_unpatched(module, path, deeply=False)
        features = dataset.features
        # The columns of a row are in the order of the features.
        self._names = _formatted_columns(dataset.format, list(features))
        self._data = dataset.data
        self._table: pa.Table = dataset.data.table.select(self._names)
        for name in self._names:
            feature = features[name]
            if name in _REFUSED_NAMES or not (_is_plain(feature) or _is_readable_time(self._table[name])):
                raise NotCoveredError(f"the dataset's column {name!r} isn't covered ({feature})")
            if not _is_readable(self._table[name]):
                raise NotCoveredError(f"the dataset's column {name!r} has values that Python can't read")
        indices = vars(dataset)["_indices"]  # the table's rows in a selection, which datasets has nowhere else
        self._indices = None if indices is None else indices.table.column(0)
        self.count = len(dataset)
        self.schema = self._table.schema

    def slice(self, start: int, stop: int) -> pa.Table:
        """Return the rows from `start` to `stop`, or to the last row, in one chunk."""
        if self._indices is None:
            return self._table.slice(start, stop - start).combine_chunks()
        return self._gathered(self._indices.slice(start, stop - start))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column as it is stored, with values of rows that a selection leaves out."""
        return self._table[name]

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Return some rows, in their order."""
        indexes = pa.array(rows, pa.int64())
        return self._gathered(indexes if self._indices is None else self._indices.take(indexes))

    def _gathered(self, indexes: Any) -> pa.Table:
        """Return rows of the stored table.

        Arrow's `take` joins all chunks of a column of strings to take a few of them, and a dataset has thousands.
        """
        if not len(indexes):
            return self._table.slice(0, 0).combine_chunks()
        first, last = pc.min_max(indexes).as_py().values()
        if last - first < _MAX_SPREAD_RATIO * len(indexes):
            stretch = self._table.slice(first, last - first + 1).combine_chunks()
            return stretch.take(pc.subtract(indexes.cast(pa.int64()), pa.scalar(first, pa.int64()))).combine_chunks()
        return self._data.fast_gather(indexes.to_pylist()).select(self._names).combine_chunks()


def _formatted_columns(form: dict[str, Any], names: list[str]) -> list[str]:
    """Return the columns of a row in their order; raise NotCoveredError if the format changes values or shows none."""
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
    """Return true if values of a feature are those of Arrow, and each of them has a text."""
    kind = type(feature).__name__
    if isinstance(feature, Mapping):
        return all(map(_is_plain, feature.values()))
    if isinstance(feature, (list, tuple)):
        return all(map(_is_plain, feature))
    if kind in _LIST_FEATURES:
        return _is_plain(feature.feature)
    if kind == "ClassLabel":
        return True
    return kind == "Value" and any(is_type(feature.pa_type) for is_type in _PLAIN_TYPES)


def _is_readable(column: pa.ChunkedArray) -> bool:
    """Return true if every value can be read: the harness fails at a row whose text isn't UTF-8."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_readable_time(column: pa.ChunkedArray) -> bool:
    """Return true if a column holds dates or timestamps, and Python has them all without pandas.

    The harness fails at a row with a date or timestamp that Python doesn't have.
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


def materialized(retrieved: Any, *, is_read_once: bool) -> Any:
    """Return retrieved rows as a list, if the harness's loop reads them once, from the first to the last.

    Other loops use their length and their items, which not every object has: then the loop must raise its own error.
    """
    return list(retrieved) if is_read_once and type(retrieved) is not list else retrieved


def row_lists(retrieved: Any, *, is_written: bool) -> list[Sequence[int]]:
    """Return retrieved rows as a list for each sample; the same objects if they are lists of `int` already.

    If `is_written`, the harness's loop puts shorter lists into `retrieved`, which must be that very object then.
    """
    if type(retrieved) is list and all(type(rows) is list for rows in retrieved):
        lists = {id(rows): rows for rows in retrieved}.values()  # many samples share one
        if all(type(row) is int for rows in lists for row in rows):
            return retrieved
    if is_written:
        raise NotCoveredError("the retriever's choice isn't made of lists of int, and max_seq_len shortens its items")
    if not isinstance(retrieved, (list, tuple)) and not hasattr(retrieved, "tolist"):
        raise NotCoveredError(f"the retriever chose by a {type(retrieved).__name__}, not by a list")
    converted: dict[int, list[int]] = {}
    kept = list(retrieved)  # so that no two have one id
    for rows in kept:
        if id(rows) not in converted:
            converted[id(rows)] = _numbers(rows)
    return [converted[id(rows)] for rows in kept]


def _numbers(rows: Any) -> list[int]:
    if not isinstance(rows, (list, tuple, range)) and getattr(rows, "ndim", None) != 1:
        raise NotCoveredError(f"the retriever's choice for a sample is a {type(rows).__name__}, not a list")
    numbers = list(rows)
    # A Hugging Face dataset takes no other number for a row's, not even numpy's.
    if not all(type(row) is int for row in numbers):
        raise NotCoveredError("the retriever's choice for a sample holds something else than int")
    return numbers
