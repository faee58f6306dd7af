"""CSV and TSV files as record batches of texts, exactly as in the file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pc

from promptpress._errors.file_errors import DataError, reason
from promptpress._io.read.sources import Source, not_utf8
from promptpress._utils.counted import counted

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

    Raises:
        DataError: If there is no header, a name in it is repeated, or it seems to have another delimiter.

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
        types = pc.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False, check_utf8=True
        )
        options = pc.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        # One block, because Arrow loses the second half of a quoted CR LF at the end of a block.
        read = pc.ReadOptions(block_size=len(chunk) + 1, column_names=names)
        try:
            return pc.read_csv(pa.BufferReader(chunk), read, options, types)
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
