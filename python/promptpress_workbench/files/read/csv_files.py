"""CSV and TSV files as record batches: of texts, exactly as in the file, or with the types of the harnesses' reader."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv
from promptpress import DataError
from promptpress.engine.errors import counted, reason
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.files.read.sources import Source, not_utf8

_CHUNK_BYTES = 1 << 24
_HEADER_BYTES = 1 << 16
_MAX_HEADER_BYTES = 1 << 24
_BOM = b"\xef\xbb\xbf"
_DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_CLOSED = re.compile(rb'"[^"]*(?:""[^"]*)*"[^"]')


class SeparatedValues:
    """One file of separated values (RFC 4180) with a header.

    Every column is text: `007`, `1.0` and `true` stay in a prompt as they are in the file, which they wouldn't if types
    were guessed. The format has no null, so an empty field is an empty text. Empty lines are skipped. A column without
    a name is called `column_0`, after its place. `is_given` is true if the user has said what the delimiter is.
    """

    num_rows: int | None = None

    def __init__(self, source: Source, batch_size: int, delimiter: str, *, is_given: bool = False) -> None:
        self.path = source.path
        self._source = source
        self._batch_size = batch_size
        self._delimiter = delimiter
        self._is_given = is_given
        # `re` searches fast for a pattern that begins with a character, so a lookbehind after the quote checks the byte
        # before it. A text begins with a line, so a line break is put before it.
        mark = re.escape(delimiter.encode())
        self._quoted = re.compile(rb'"(?<=[%b\r\n]")[^"]*(?:""[^"]*)*"(?=[%b\r\n]|\Z)' % (mark, mark))
        self._open_quote = re.compile(rb'"(?<=[%b\r\n]")' % mark)
        self._record = re.compile(
            rb'(?:"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|\Z)|(?:[^"%b\r\n][^%b\r\n]*)?)'
            rb'(?:%b(?:"[^"]*(?:""[^"]*)*"(?=[%b\r\n]|\Z)|(?:[^"%b\r\n][^%b\r\n]*)?))*(?=[\r\n]|\Z)' % ((mark,) * 7)
        )
        self._line_end = b"\n"
        self._head = b""
        with source.open() as file:
            names = self._names(file)
        self.schema: pa.Schema = pa.schema([pa.field(name, pa.string()) for name in names])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows. An error of the data names the line."""
        for line, chunk in self._chunks():
            table = self._parsed(line, chunk)
            yield from table.combine_chunks().to_batches(self._batch_size)

    def _names(self, file: BinaryIO) -> list[str]:
        """Read the header, which is the first record that isn't empty."""
        line, header = self._header(file)
        self._check_utf8(line, header)
        with _long_fields():
            names = next(csv.reader(io.StringIO(header.decode(), newline=""), delimiter=self._delimiter), [])
        self._refuse_other_delimiter(line, names)
        names = [name or _free_name(number, names) for number, name in enumerate(names)]
        first_numbers: dict[str, int] = {}
        for number, name in enumerate(names, 1):
            first = first_numbers.setdefault(name, number)
            if first != number:
                raise DataError(f"{self.path}:{line}: columns {first} and {number} are both named {name!r}; rename one")
        return names

    def _refuse_other_delimiter(self, line: int, names: list[str]) -> None:
        """Refuse a header of one column whose name has what separates the columns of other files."""
        if self._is_given or len(names) != 1:
            return
        for other in _DELIMITER_NAMES:
            if other != self._delimiter and other in names[0]:
                delimiter, excerpt = _named(self._delimiter), names[0][:60]
                raise DataError(
                    f"{self.path}:{line}: the header {excerpt!r} has no {delimiter}, so it would be the name of one"
                    " column",
                    for_command=f"--delimiter {_quoted(other)} reads {_named(other)}, and"
                    f" --delimiter {_quoted(self._delimiter)} takes it for one name",
                )

    def _header(self, file: BinaryIO) -> tuple[int, bytes]:
        """Find the header's line and text; keep all before the rows, and the end of a line (CR alone on old Macs)."""
        text = file.read(_HEADER_BYTES)
        is_all = len(text) < _HEADER_BYTES
        while True:
            start = len(_BOM) if text.startswith(_BOM) else 0
            start += len(text) - start - len(text[start:].lstrip(b"\r\n"))
            end = match.end() if (match := self._record.match(text, start)) else -1
            # LF may come after CR.
            if end >= start and (end + 1 < len(text) or is_all):
                break
            line = 1 + text.count(b"\n", 0, start)
            if end < 0:
                self._refuse_text_after_quote(line, text[start:])
                if is_all or len(text) > _MAX_HEADER_BYTES:
                    raise DataError(f"{self.path}:{line}: a quoted field of the header isn't closed")
            more = file.read(len(text))
            text, is_all = text + more, len(more) < len(text)
        if start == end:
            raise DataError(f"{self.path}: empty: the first line gives the columns' names")
        breaks = text[end : end + 2]
        self._line_end = b"\r" if breaks[:1] == b"\r" and breaks != b"\r\n" else b"\n"
        self._head = text[: end + len(breaks) if breaks == b"\r\n" else end + 1]
        return 1 + text.count(self._line_end, 0, start), text[start:end]

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the file that end with a record, each with the number of its first line."""
        line = 1 + self._head.count(self._line_end)
        with self._source.open() as file:
            if file.read(len(self._head)) != self._head:
                raise DataError(f"{self.path}: its header has changed since it was first read")
            chunk = file.read(_CHUNK_BYTES)
            while chunk:
                chunk += self._rest_of_line(file, chunk)
                more = 1 << 16
                while self._is_open(chunk):
                    self._refuse_text_after_quote(line, chunk)
                    rest = file.read(more)
                    if not rest:
                        line += chunk.count(self._line_end, 0, self._open_start(chunk))
                        raise DataError(f"{self.path}:{line}: a quoted field isn't closed")
                    chunk += rest + self._rest_of_line(file, rest)
                    more = len(chunk)  # so that a long field is scanned only a few times
                yield line, chunk
                line += chunk.count(self._line_end)
                chunk = file.read(_CHUNK_BYTES)

    def _rest_of_line(self, file: BinaryIO, chunk: bytes) -> bytes:
        if self._line_end == b"\n":
            return file.readline()
        rest = bytearray(chunk[-1:])
        while rest[-1:] != b"\r" and (byte := file.read(1)):
            rest += byte
        return bytes(rest[1:])

    def _is_open(self, chunk: bytes) -> bool:
        """Return true if a quoted field continues after the end; in an unquoted field a quote has no meaning."""
        return b'"' in chunk and self._open_quote.search(self._quoted.sub(b"", b"\n" + chunk)) is not None

    def _open_start(self, chunk: bytes) -> int:
        """Return the offset of the quoted field that isn't closed in the chunk."""
        text, end = b"\n" + chunk, 0
        for quote in self._open_quote.finditer(text):
            if quote.start() < end:
                continue
            field = self._quoted.match(text, quote.start())
            if field is None:
                return quote.start() - 1
            end = field.end()
        return len(chunk)

    def _refuse_text_after_quote(self, line: int, chunk: bytes) -> None:
        closed = _CLOSED.match(chunk, self._open_start(chunk))
        if closed is not None and closed.group()[-1:] not in (self._delimiter.encode(), b"\r", b"\n"):
            line += chunk.count(self._line_end, 0, closed.end() - 1)
            text = chunk[closed.end() - 1 : closed.end() + 19].split(b"\n")[0].decode(errors="replace")
            raise DataError(
                f"{self.path}:{line}: {text!r} follows the quote that closes a field; a quote within a field is doubled"
            )

    def _parsed(self, line: int, chunk: bytes) -> pa.Table:
        if chunk.startswith(_BOM):
            chunk = _BOM + chunk  # Arrow drops a BOM, but this one belongs to a field
        names = self.schema.names
        types = arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False, check_utf8=True
        )
        options = arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        # One block, because Arrow loses the second half of a quoted CR LF at the end of a block.
        read = arrow_csv.ReadOptions(block_size=len(chunk) + 1, column_names=names)
        try:
            return arrow_csv.read_csv(pa.BufferReader(chunk), read, options, types)
        except (pa.ArrowException, OverflowError) as error:
            if "Empty CSV file" in str(error):
                return self.schema.empty_table()
            self._check_utf8(line, chunk)
            self._refuse_ragged(line, chunk)
            raise DataError(f"{self.path}: from line {line} on: {reason(error)}") from None

    def _check_utf8(self, line: int, chunk: bytes) -> None:
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            number = line + chunk.count(self._line_end, 0, error.start)
            raise not_utf8(f"{self.path}:{number}", error, is_begin=line == 1) from None

    def _refuse_ragged(self, line: int, chunk: bytes) -> None:
        """Raise `DataError` for the row with more or fewer fields than columns."""
        count = len(self.schema)
        rows = csv.reader(io.StringIO(chunk.decode(), newline=""), delimiter=self._delimiter)
        before = 0
        with _long_fields():
            for row in rows:
                if row and len(row) != count:
                    fields, first = counted(len(row), "field"), repr(row[0][:40])
                    raise DataError(
                        f"{self.path}:{line + before}: {fields}, where the header has {count} (it begins {first}); a"
                        f" field with {_named(self._delimiter)} in it is quoted"
                    )
                before = rows.line_num


def _free_name(number: int, names: list[str]) -> str:
    """Return a name for a column without one, that no other column has."""
    name = f"column_{number}"
    while name in names:
        name += "_"
    return name


def _named(delimiter: str) -> str:
    """Return what a delimiter is called, in the plural."""
    return _DELIMITER_NAMES.get(delimiter, repr(delimiter))


def _quoted(delimiter: str) -> str:
    """Return a delimiter as a word of a command line."""
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's reader, which locates errors, read fields as long as Arrow's reader does."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


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
    """Return the values of texts, and their type, as pandas tries types; raise OverflowError as `_integers`."""
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
    """Return integers, or None if a text is none; raise OverflowError if they don't fit 64 bits together."""
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
