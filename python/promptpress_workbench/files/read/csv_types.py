"""CSV and TSV files with the types of the harnesses' reader: `datasets`, which reads them by `pandas.read_csv`.

pandas looks at 10,000 rows at a time, and finds the type of each column: integers, numbers, truth values or texts, and
what stands for no value is null. The first 10,000 rows decide, and `datasets` casts those after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pyarrow as pa
from promptpress import DataError
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.files.read.csv_input import SeparatedValues

ROWS = 10_000
"""The rows that `datasets` has pandas read at once."""

_NULLS = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A"),
        *("NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
_TRUTHS = {"true": True, "false": False}
_SPACES = " \t\n\v\f\r"
_INTEGER = re.compile(rf"[{_SPACES}]*[+-]?[0-9]+[{_SPACES}]*\Z")
_NUMBER = re.compile(rf"[{_SPACES}]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[{_SPACES}]*\Z")
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?\Z", re.IGNORECASE)
_MAX_SIGNED = 2**63 - 1
_MAX_LENGTH = 4000
"""Python makes no integer of more digits."""


class TypedValues:
    """A file of separated values whose columns have the types that the harnesses' reader gives them."""

    num_rows: int | None = None

    def __init__(self, texts: SeparatedValues) -> None:
        self.path = texts.path
        self._texts = texts
        first = next(self._parts(), texts.schema.empty_table())
        self.schema: pa.Schema = _typed(first).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        row = 0
        for part in self._parts():
            yield from self._cast(_typed(part), row).to_batches()
            row += part.num_rows

    def _parts(self) -> Iterator[pa.Table]:
        """Yield the rows that pandas reads at once."""
        held, rows = list[pa.RecordBatch](), 0
        for batch in self._texts.batches():
            while rows + batch.num_rows >= ROWS:
                held.append(batch.slice(0, ROWS - rows))
                yield pa.Table.from_batches(held)
                batch, held, rows = batch.slice(ROWS - rows), [], 0  # noqa: PLW2901 - what is left of it
            if batch.num_rows:
                held.append(batch)
                rows += batch.num_rows
        if held:
            yield pa.Table.from_batches(held)

    def _cast(self, part: pa.Table, row: int) -> pa.Table:
        """Cast rows to the types of the first."""
        columns = []
        for field, column in zip(self.schema, part.columns, strict=True):
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowInvalid as error:
                raise DataError(
                    f"{self.path}: column {field.name!r} has the type {field.type} in its first {ROWS:,} rows, and "
                    f"from row {row} on other values ({error}), so the harness's reader refuses it; save it as Parquet"
                ) from None
        return pa.Table.from_arrays(columns, schema=self.schema)


def _typed(part: pa.Table) -> pa.Table:
    """Give the columns of a part of a file the types that pandas finds."""
    return pa.table([_typed_column(column.combine_chunks()) for column in part.columns], names=part.column_names)


def _typed_column(column: pa.Array) -> pa.Array:
    """Give texts the type that pandas finds for them."""
    if not len(column):
        return pa.nulls(0)
    encoded = column.dictionary_encode()
    texts: list[str] = encoded.dictionary.to_pylist()
    given = [text for text in texts if text not in _NULLS]
    try:
        values, kind = _converted(given, has_nulls=len(given) < len(texts))
    except OverflowError:
        return column  # with the texts that stand for nulls
    by_text = dict(zip(given, values, strict=True))
    return pc.take(pa.array([by_text.get(text) for text in texts], kind), encoded.indices)


def _converted(texts: list[str], *, has_nulls: bool) -> tuple[Iterable[object], pa.DataType]:
    """Return the values of texts, and their type, as pandas tries types one after the other."""
    integers = _integers(texts, has_nulls=has_nulls)
    if integers is not None and has_nulls:
        return map(float, integers), pa.float64()
    if integers is not None:
        return integers, pa.uint64() if max(integers) > _MAX_SIGNED else pa.int64()
    numbers = [_number(text) for text in texts]
    if None not in numbers:
        return numbers, pa.float64()
    if all(text.lower() in _TRUTHS for text in texts):
        return [_TRUTHS[text.lower()] for text in texts], pa.bool_()
    return texts, pa.string()


def _integers(texts: list[str], *, has_nulls: bool) -> list[int] | None:
    """Return integers, or None if a text is none."""
    try:
        return _within(texts, -_MAX_SIGNED - 1, _MAX_SIGNED)
    except OverflowError:
        # All as unsigned integers, where what begins with a minus is passed over, at first.
        integers = _within([text for text in texts if not text.lstrip(_SPACES).startswith("-")], 0, 2**64 - 1)
        if integers is not None and (has_nulls or len(integers) < len(texts)):
            raise
        return integers


def _within(texts: list[str], least: int, most: int) -> list[int] | None:
    """Return the integers of texts, up to the first text that is none or doesn't fit."""
    integers = []
    for text in texts:
        if _INTEGER.match(text) is None:
            return None
        integer = int(text) if len(text) < _MAX_LENGTH else most + 1
        if not least <= integer <= most:
            raise OverflowError(text)
        integers.append(integer)
    return integers


def _number(text: str) -> float | None:
    """Return a text as a number, or None if it is none."""
    if _NUMBER.match(text):
        return float(text)
    infinity = _INFINITY.match(text)
    return None if infinity is None else float(f"{infinity[1]}inf")
