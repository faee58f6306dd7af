"""The table of input formats: the suffixes of each format, and the class that reads it.

A new format is a class with the attributes of `SampleFile`, and an entry of `FORMATS`. `Samples` opens files by this
table, and the command takes the choices of `--data-format` from it. The classes are imported when they are needed,
because every command reads the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
from promptpress import DataError
from promptpress.engine.configs import STDIN, split_codec
from promptpress.engine.errors import Choice

if TYPE_CHECKING:
    from promptpress_workbench.files.read.sources import Source


HarnessTypes: TypeAlias = Literal["json", "all"]
"""The files whose columns get the types of a harness's reader: those of JSON, or all.

OpenCompass reads CSV by Python's `csv`, so every value is a text; lm-evaluation-harness reads it by pandas.
"""


class SampleFile(Protocol):
    """A file of samples as record batches of one schema; the classes of all formats have these attributes."""

    schema: pa.Schema
    num_rows: int | None
    """The number of rows; None if it isn't known before all rows are read."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""


class DataFormat(NamedTuple):
    """The format of files, as far as the user gives it."""

    name: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    records: str | None = None

    @classmethod
    def of(cls, given: DataFormat | str | None) -> DataFormat:
        """Return a format that may be given by its name alone."""
        return given if isinstance(given, DataFormat) else cls(given)


class ReadOptions(NamedTuple):
    """Settings of reading a file."""

    batch_size: int
    given: DataFormat
    skip_corrupt: bool | None = None
    harness_types: HarnessTypes | None = None


class InputFormat(NamedTuple):
    """A format of samples."""

    suffixes: tuple[str, ...]
    open: Callable[[Source, ReadOptions], SampleFile]


def _open_parquet(source: Source, options: ReadOptions) -> SampleFile:
    from promptpress_workbench.files.read.columnar_inputs import ParquetInput  # noqa: PLC0415 - see the head

    return ParquetInput(source, options.batch_size, skip_corrupt=options.skip_corrupt)


def _open_arrow(source: Source, options: ReadOptions) -> SampleFile:
    from promptpress_workbench.files.read.columnar_inputs import ArrowInput  # noqa: PLC0415 - see the head

    return ArrowInput(source, options.batch_size)


def _open_json(source: Source, options: ReadOptions, *, is_array: bool) -> SampleFile:
    from promptpress_workbench.files.read.json_rows import JsonRows  # noqa: PLC0415 - see the head

    return JsonRows(source, options.batch_size, is_array=is_array, records=options.given.records if is_array else None)


def _open_csv(source: Source, options: ReadOptions, *, delimiter: str) -> SampleFile:
    from promptpress_workbench.files.read.csv_input import SeparatedValues  # noqa: PLC0415 - see the head

    given = options.given.delimiter
    texts = SeparatedValues(source, options.batch_size, given or delimiter, is_given=given is not None)
    if options.harness_types != "all":
        return texts
    from promptpress_workbench.files.read.csv_types import TypedValues  # noqa: PLC0415 - see the head

    return TypedValues(texts)


FORMATS = {
    "parquet": InputFormat((".parquet",), _open_parquet),
    "arrow": InputFormat((".arrow", ".feather", ".ipc", ".arrows"), _open_arrow),
    "jsonl": InputFormat((".jsonl", ".ndjson"), partial(_open_json, is_array=False)),
    "json": InputFormat((".json",), partial(_open_json, is_array=True)),
    "csv": InputFormat((".csv",), partial(_open_csv, delimiter=",")),
    "tsv": InputFormat((".tsv",), partial(_open_csv, delimiter="\t")),
}
"""The formats of samples by name, in the order in which help and errors list them."""

SUFFIXES = {suffix: name for name, entry in FORMATS.items() for suffix in entry.suffixes}
"""The names of the formats by the suffix of a file."""

_CONVERSIONS = {
    ".zip": "unpack it first",
    ".7z": "unpack it first",
    ".tar": "unpack it first, and name the folder",
    ".lz4": "unpack it first; .gz, .zst, .bz2 and .xz are read as they are",
    ".xlsx": "save it as CSV, or as Parquet by pandas",
    ".xls": "save it as CSV, or as Parquet by pandas",
    ".db": "export a table as Parquet or CSV",
    ".sqlite": "export a table as Parquet or CSV",
    ".pkl": "save it as Parquet by pandas",
    ".orc": "pyarrow.orc.read_table and pyarrow.parquet.write_table make a Parquet file of it",
    ".avro": "save it as Parquet",
    ".txt": "jsonl is the format of one JSON object a line, csv that of commas and a header",
}
"""The ways to make files of other kinds readable, by their suffixes."""


def input_format(path: str, data_format: str | None = None, otherwise: str | None = None) -> str:
    """Return the name of a file's format."""
    inner = split_codec(path)[0]
    suffix = os.path.splitext(inner)[1].lower()
    if (name := data_format or SUFFIXES.get(suffix) or otherwise) is not None:
        return name
    if path == STDIN:
        raise DataError("standard input has no suffix", Choice("data_format", "says its format"))
    what = f"the suffix {suffix!r} is none of" if suffix else "its name has none of the suffixes"
    conversion = f"; {_CONVERSIONS[suffix]}" if suffix in _CONVERSIONS else ""
    raise DataError(f"{path}: {what} {', '.join(SUFFIXES)}{conversion}", Choice("data_format", "says the format"))
