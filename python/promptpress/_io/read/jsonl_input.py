"""Files of JSON objects as record batches, with types that fit the whole file and texts exactly as written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence, Set
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.json as pj

from promptpress._arrow.python_rows import AsTexts
from promptpress._errors.file_errors import DataError, reason
from promptpress._errors.suggestions import close_names
from promptpress._io.read.json_array import array_chunks
from promptpress._io.read.json_crashes import MAX_DEPTH, has_null_row, read_by_python, too_deep
from promptpress._io.read.sources import Source
from promptpress._utils import lazy_compute as pc

_CHUNK_BYTES = 1 << 24
_BLOCK_BYTES = 1 << 21
_MAX_EXACT_FLOAT = 2**53
_DECODER = json.JSONDecoder()
_BYTE_ORDER_MARK = "\ufeff"
_BLANKS = re.compile(r"[ \t\r\n]*")
_ARRAY_HINT = "; one object a line is wanted: an array of them is the format json, a .json file"


class JsonLines:
    """One file of JSON objects, one a line, or the items of an array.

    The file is read twice. The first time finds the types, because a field may occur late or be null for many rows.
    Strings stay strings, though Arrow by default reads a text that looks like a date as a date.

    Arrow gives all objects of a column the same keys, and refuses values of different kinds. A column of `as_texts`
    that it would change so, or refuse, is read as the texts that the file has for its values.

    Raises:
        DataError: If a line is no JSON object, or a field has values of different kinds.

    """

    def __init__(
        self, source: Source, batch_size: int, *, is_array: bool = False, as_texts: AsTexts | None = None
    ) -> None:
        self.path = source.path
        self._as_texts = as_texts
        self.has_texts = False
        """True if the column of `as_texts` is read as texts."""
        self._source = source
        self._is_array = is_array
        self._batch_size = batch_size
        self.num_rows: int | None = 0
        self.schema: pa.Schema = pa.schema([])
        self.has_times = False
        """True if some texts look like times, which other readers take them for."""
        self._only: pa.Table | None = None
        try:
            is_held = self._find_types()
        except DataError:
            # Maybe only the types of this column are at fault.
            if as_texts is None:
                raise
            is_held = False
        if not is_held:
            self._read_texts()

    def _find_types(self) -> bool:
        """Read the file for the first time; return false as soon as the column of texts needs them."""
        self.num_rows, self.schema, self.has_times, self._only = 0, pa.schema([]), False, None
        seen: set[pa.DataType] = set()
        for number, (line, chunk) in enumerate(self._chunks()):
            table = self._first_look(line, chunk)
            if self._as_texts is not None and not self.has_texts:
                # Chunks of several types would get each other's keys.
                seen |= _types_of(table.schema, self._as_texts.column)
                if len(seen) > 1 or not _is_held(table, self._as_texts):
                    return False
            self.num_rows = (self.num_rows or 0) + table.num_rows
            self._only = table if number == 0 else None
        if self._only is not None and self._only.schema != self.schema:
            self._only = None
        return True

    def _read_texts(self) -> None:
        """Read the column of texts as such, in this file."""
        if not self.has_texts:
            self.has_texts = True
            self._find_types()

    @staticmethod
    def agree(files: Sequence[JsonLines]) -> None:
        """Give all files one schema, if one has only nulls in a column, or whole numbers where another has fractions.

        A file without rows has no columns, and fits all.

        Raises:
            DataError: If a file lacks a column, or a field has different kinds of values.

        """
        if not files:
            return
        as_texts = files[0]._as_texts  # noqa: SLF001 - of the same class, and the same for all files
        if as_texts is not None:
            types = [data_type for file in files for data_type in _types_of(file.schema, as_texts.column)]
            if len(set(types)) > 1:
                for file in files:
                    file._read_texts()  # noqa: SLF001 - as above
        filled = [file for file in files if file.num_rows]
        for file in filled[1:]:
            _refuse_lack(filled[0], file)
            _refuse_lack(file, filled[0])
        schema = files[0].schema
        for file in files[1:]:
            try:
                schema = pa.unify_schemas([schema, file.schema], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                what = f"its fields differ from those of {files[0].path}"
                raise DataError(f"{file.path}: {what}: {str(error).splitlines()[0]}") from None
        for file in files:
            file.read_as(schema)

    def read_as(self, schema: pa.Schema) -> None:
        """Read the rows with another schema, which fits them."""
        if self.schema != schema:
            self.schema, self._only = schema, None

    def batches(self) -> Iterator[pa.RecordBatch]:
        if self._only is not None:
            yield from self._only.combine_chunks().to_batches(self._batch_size)
            return
        if not self.schema.names:
            return
        for line, chunk in self._chunks():
            table = self._parse(line, chunk, self.schema)
            yield from table.combine_chunks().to_batches(self._batch_size)

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the file that end with an object, each with the number of its first line or item."""
        with self._source.open() as file:
            chunks = array_chunks(file, self.path) if self._is_array else _line_chunks(file)
            for number, chunk in chunks:
                if self._as_texts is not None and self.has_texts:
                    yield number, _with_texts(chunk, self._as_texts.column)
                else:
                    yield number, chunk

    def _location(self, number: int) -> str:
        return f"{self.path}[{number}]" if self._is_array else f"{self.path}:{number}"

    def _from(self, number: int) -> str:
        return f"{self.path}: from {'item' if self._is_array else 'line'} {number} on"

    def _first_look(self, line: int, chunk: bytes) -> pa.Table:
        table = self._parse(line, chunk, None)
        schema = pa.schema([field.with_type(_text_for_time(field.type)) for field in table.schema])
        if schema != table.schema:
            self.has_times = True
            table = self._parse(line, chunk, schema)
        before = self.schema
        try:
            self.schema = pa.unify_schemas([before, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            self._locate(line, chunk, before)
            raise DataError(f"{self._from(line)}: {reason(error)}") from None
        for field in before:
            new = self.schema.field(field.name).type
            if not pa.types.is_null(field.type) and _kind_of_type(field.type) != _kind_of_type(new):
                self._locate(line, chunk, before)  # permissive promotion allows more than samples may have
        return table

    def _parse(self, line: int, chunk: bytes, schema: pa.Schema | None) -> pa.Table:
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            number = line + chunk.count(b"\n", 0, error.start)
            raise DataError(f"{self._location(number)}: not UTF-8 (byte 0x{chunk[error.start]:02x})") from None
        if (deep := too_deep(chunk)) is not None:
            raise DataError(f"{self._location(line + deep)}: nested more than {MAX_DEPTH} deep; flatten it")
        if has_null_row(chunk):
            self._locate(line, chunk, schema)
        try:
            table = _read(chunk, schema)
            if schema is None and not _is_valid(table):
                table = _read(chunk, table.schema)
            if not _is_valid(table):
                table = read_by_python(chunk, schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            self._locate(line, chunk, schema)
            try:
                table = read_by_python(chunk, schema)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                raise DataError(f"{self._from(line)}: {reason(error)}") from None
        rounded = {path for name in table.column_names for path in _may_be_rounded(table[name], name)}
        if rounded:
            self._locate(line, chunk, None, rounded)
        return table

    def _locate(self, first: int, chunk: bytes, schema: pa.Schema | None, rounded: Set[str] = frozenset()) -> None:
        """Raise `DataError` for the line that Arrow can't read, or in which it rounds a number, if there is one."""
        kinds: dict[str, tuple[str, int]] = {}
        for field in schema or ():
            kinds[field.name] = (_kind_of_type(field.type), 0)
        for number, text in enumerate(chunk.split(b"\n"), first):
            if not text.strip():
                continue
            try:
                row = json.loads(text, object_pairs_hook=_Pairs)
            except ValueError as error:
                detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                array = number == 1 and text.strip() == b"[" and not self._is_array
                hint = _ARRAY_HINT if array else ""
                raise DataError(f"{self._location(number)}: not valid JSON: {detail}{hint}") from None
            except RecursionError:
                raise DataError(f"{self._location(number)}: nested too deeply") from None
            if not isinstance(row, _Pairs):
                hint = _ARRAY_HINT if isinstance(row, list) and not self._is_array else ""
                raise DataError(f"{self._location(number)}: {_kind(row)}, not an object{hint}")
            self._check(number, row, kinds, "")
            for name, value in row:
                if (lost := _first_rounded(value, name, rounded)) is not None:
                    detail = f"{lost} would be rounded beside numbers with a fraction"
                    raise DataError(f"{self._location(number)}: the field {name!r}: {detail}; write it as a string")

    def _check(self, line: int, row: _Pairs, kinds: dict[str, tuple[str, int]], prefix: str) -> None:
        names: set[str] = set()
        for name, value in row:
            path = f"{prefix}{name}"
            if name in names:
                raise DataError(f"{self._location(line)}: the field {path!r} stands twice")
            names.add(name)
            self._check_value(line, value, kinds, path)

    def _check_value(self, line: int, value: Any, kinds: dict[str, tuple[str, int]], path: str) -> None:
        kind = _kind(value)
        if kind == "null":
            return
        before, since = kinds.setdefault(path, (kind, line + self._is_array))
        if before != kind:
            where = f"in item {since - 1}" if self._is_array else f"in line {since}"
            earlier = f"{where} it is {before}" if since else f"before it is {before}"
            raise DataError(f"{self._location(line)}: the field {path!r} is {kind}, but {earlier}: one kind a column")
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            raise DataError(f"{self._location(line)}: the field {path!r}: {str(value)[:40]} doesn't fit 64 bits")
        if isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise DataError(f"{self._location(line)}: the field {path!r} holds half of a surrogate pair")
        if isinstance(value, _Pairs):
            self._check(line, value, kinds, f"{path}.")
        elif isinstance(value, list):
            for item in value:
                self._check_value(line, item, kinds, f"{path}[]")


def _types_of(schema: pa.Schema, column: str) -> set[pa.DataType]:
    """Return the type of a column, if there is one and it isn't of nulls only."""
    index = schema.get_field_index(column)
    types = set() if index < 0 else {schema.field(index).type}
    return {data_type for data_type in types if not pa.types.is_null(data_type)}


def _is_held(table: pa.Table, as_texts: AsTexts) -> bool:
    """Return true if a table has the values of a column as the file has them."""
    return as_texts.column not in table.column_names or as_texts.is_held(table[as_texts.column])


def _with_texts(lines: bytes, column: str) -> bytes:
    r"""Write a column's lists and objects as strings, which hold them as they stand in the file.

    Lines that aren't valid stay as they are, for others to refuse.

    >>> print(_with_texts(b'{"id": 7, "says": [{"a": 1.0}]}\n{"says": null}', "says").decode())
    {"id": 7, "says": "[{\"a\": 1.0}]"}
    {"says": null}

    """
    return b"\n".join([_line_with_texts(line, column) for line in lines.split(b"\n")])


def _line_with_texts(line: bytes, column: str) -> bytes:
    try:
        text = line.decode()
        for name, start, end in reversed(list(_values(text))):
            if name == column and text[start] in "[{":
                text = text[:start] + json.dumps(text[start:end]) + text[end:]
    except (ValueError, RecursionError):
        return line
    return text.encode()


def _values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the names of an object's values, and where each value begins and ends in the text."""
    index = _skip(text, int(text.startswith(_BYTE_ORDER_MARK)))
    if text[index : index + 1] != "{":
        return
    index = _skip(text, index + 1)
    while text[index : index + 1] == '"':
        name, index = _DECODER.raw_decode(text, index)
        start = _skip(text, _skip(text, index) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        index = _skip(text, _skip(text, end) + 1)


def _skip(text: str, index: int) -> int:
    """Return the index of the next character that isn't blank."""
    match = _BLANKS.match(text, index)
    return index if match is None else match.end()


def _read(chunk: bytes, schema: pa.Schema | None) -> pa.Table:
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error" if schema else "infer")
    try:
        return pj.read_json(pa.BufferReader(chunk), pj.ReadOptions(block_size=_BLOCK_BYTES), options)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        one_block = pj.ReadOptions(block_size=len(chunk))  # a row is longer than a block
        return pj.read_json(pa.BufferReader(chunk), one_block, options)


def _is_valid(table: pa.Table) -> bool:
    """Return false if Arrow has lost nulls, as at the beginning of the first list of a type that it has to guess."""
    try:
        table.validate()
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_lack(file: JsonLines, other: JsonLines) -> None:
    """Refuse a column that the other file lacks: it would be null there, and `None` in the prompts."""
    for name in file.schema.names:
        if name not in other.schema.names:
            close = close_names(name, set(other.schema.names) - set(file.schema.names))
            hint = f" (it has {close[0]!r})" if close else ""
            raise DataError(f"{other.path}: lacks the column {name!r}, which {file.path} has{hint}")


class _Pairs(list):  # type: ignore[type-arg]
    """An object as pairs, so that a repeated field is seen."""


def _line_chunks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    line = 1
    while chunk := file.read(_CHUNK_BYTES):
        chunk += file.readline()
        # An empty piece has nothing to infer a type from.
        if chunk.strip():
            yield line, chunk
        line += chunk.count(b"\n")


def _text_for_time(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_text_for_time(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_text_for_time(field.type)) for field in kind])
    return kind


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", _Pairs: "an object"}
    return "null" if value is None else names.get(type(value), "a list")


def _kind_of_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "true or false"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "a number"
    if pa.types.is_struct(kind):
        return "an object"
    return "a list" if pa.types.is_list(kind) else "a string"


def _first_rounded(value: object, path: str, rounded: Set[str]) -> int | None:
    if isinstance(value, _Pairs):
        return next((n for name, v in value if (n := _first_rounded(v, f"{path}.{name}", rounded)) is not None), None)
    if isinstance(value, list):
        return next((n for v in value if (n := _first_rounded(v, f"{path}[]", rounded)) is not None), None)
    if path not in rounded or not isinstance(value, int):
        return None
    return value if abs(value) >= _MAX_EXACT_FLOAT and int(float(value)) != value else None


def _may_be_rounded(column: pa.ChunkedArray | pa.Array, path: str) -> Iterator[str]:
    """Yield the paths of numbers that may have lost digits: Arrow makes all of them fractions if one is a fraction."""
    kind = column.type
    if pa.types.is_floating(kind):
        largest = pc.max(pc.abs(column)).as_py()
        if largest is not None and largest >= _MAX_EXACT_FLOAT:
            yield path
    elif pa.types.is_list(kind):
        yield from _may_be_rounded(pc.list_flatten(column), f"{path}[]")
    elif pa.types.is_struct(kind):
        for index, field in enumerate(kind):
            yield from _may_be_rounded(pc.struct_field(column, index), f"{path}.{field.name}")
