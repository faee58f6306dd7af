"""JSON objects as record batches, with types that fit the whole file and text that stays as it is written."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence, Set
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.json as pj

from promptpress import _compute as pc
from promptpress._file_errors import DataError, reason
from promptpress._inputs.json_array import array_chunks
from promptpress._inputs.json_crashes import MAX_DEPTH, has_null_row, read_by_python, too_deep
from promptpress._inputs.sources import Source

_CHUNK_BYTES = 1 << 24
_BLOCK_BYTES = 1 << 21
_MAX_EXACT_FLOAT = 2**53
_ARRAY_HINT = "; one object a line is wanted: an array of them is the format json, a .json file"


class JsonLines:
    """One file of JSON objects, one a line, or the items of an array.

    The file is read twice: first for the types, so that a field that turns up late, or is null for long, is known from
    the first row on. Strings stay strings: Arrow by itself takes text that looks like a date for one.

    Args:
        source: the file.
        batch_size: rows a batch, at most.
        is_array: whether the objects are items of an array.

    Raises:
        DataError: when a line is no JSON object, or a field has values of different kinds.

    """

    def __init__(self, source: Source, batch_size: int, *, is_array: bool = False) -> None:
        self.path = source.path
        self._source = source
        self._is_array = is_array
        self._batch_size = batch_size
        self.num_rows: int | None = 0
        self.schema: pa.Schema = pa.schema([])
        self.has_times = False
        """Whether some texts look like times, which other readers take them for."""
        self._only: pa.Table | None = None
        for number, (line, chunk) in enumerate(self._chunks()):
            table = self._first_look(line, chunk)
            self.num_rows = (self.num_rows or 0) + table.num_rows
            self._only = table if number == 0 else None
        if self._only is not None and self._only.schema != self.schema:
            self._only = None

    @staticmethod
    def agree(files: Sequence[JsonLines]) -> None:
        """Give several files one schema, where one has only nulls in a column, or whole numbers for fractions.

        A file without any rows has no columns of its own, and fits all.

        Args:
            files: the files; their schemas change.

        Raises:
            DataError: when a file lacks a column altogether, or a field has different kinds of values.

        """
        if not files:
            return
        filled = [file for file in files if file.num_rows]
        for file in filled[1:]:
            _refuse_lack(filled[0], file)
            _refuse_lack(file, filled[0])
        schema = files[0].schema
        for file in files[1:]:
            schema = file._unify(schema, file.schema, f"{file.path}: its fields differ from those of {files[0].path}")
        for file in files:
            if file.schema != schema:
                file.schema, file._only = schema, None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Yields:
            Record batches of the file's schema.

        Raises:
            DataError: when the file has changed since the first look.

        """
        if self._only is not None:
            yield from self._only.combine_chunks().to_batches(self._batch_size)
            return
        if not self.schema.names:
            return
        for line, chunk in self._chunks():
            table = self._parse(line, chunk, self.schema)
            yield from table.combine_chunks().to_batches(self._batch_size)

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        """Give pieces of the file that end with an object, with the number of each one's first line or item."""
        with self._source.open() as file:
            yield from array_chunks(file, self.path) if self._is_array else _line_chunks(file)

    def _at(self, number: int) -> str:
        return f"{self.path}[{number}]" if self._is_array else f"{self.path}:{number}"

    def _from(self, number: int) -> str:
        return f"{self.path}: from {'item' if self._is_array else 'line'} {number} on"

    def _first_look(self, line: int, chunk: bytes) -> pa.Table:
        table = self._parse(line, chunk, None)
        schema = pa.schema([field.with_type(_text_for_time(field.type)) for field in table.schema])
        if schema != table.schema:
            self.has_times = True
            table = self._parse(line, chunk, schema)
        known = self.schema
        try:
            self.schema = pa.unify_schemas([known, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            self._locate(line, chunk, known)
            raise DataError(f"{self._from(line)}: {reason(error)}") from None
        if any(not _same_kind(known.field(f.name).type, f.type) for f in self.schema if f.name in known.names):
            self._locate(line, chunk, known)  # permissive promotion goes further than data should
        return table

    def _unify(self, left: pa.Schema, right: pa.Schema, what: str) -> pa.Schema:
        try:
            return pa.unify_schemas([left, right], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"{what}: {str(error).splitlines()[0]}") from None

    def _parse(self, line: int, chunk: bytes, schema: pa.Schema | None) -> pa.Table:
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            at = line + chunk.count(b"\n", 0, error.start)
            raise DataError(f"{self._at(at)}: not UTF-8 (byte 0x{chunk[error.start]:02x})") from None
        if (deep := too_deep(chunk)) is not None:
            raise DataError(f"{self._at(line + deep)}: nested more than {MAX_DEPTH} deep; flatten it")
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
        rounded = {place for name in table.column_names for place in _may_be_rounded(table[name], name)}
        if rounded:
            self._locate(line, chunk, None, rounded)
        return table

    def _locate(self, first: int, chunk: bytes, schema: pa.Schema | None, rounded: Set[str] = frozenset()) -> None:
        """Find the line that Arrow stumbles over or rounds a number of, and say what is wrong with it."""
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
                raise DataError(f"{self._at(number)}: not valid JSON: {detail}{hint}") from None
            except RecursionError:
                raise DataError(f"{self._at(number)}: nested too deeply") from None
            if not isinstance(row, _Pairs):
                hint = _ARRAY_HINT if isinstance(row, list) and not self._is_array else ""
                raise DataError(f"{self._at(number)}: {_kind(row)}, not an object{hint}")
            self._check(number, row, kinds, "")
            for name, value in row:
                if (lost := _first_rounded(value, name, rounded)) is not None:
                    detail = f"{lost} would be rounded beside numbers with a fraction"
                    raise DataError(f"{self._at(number)}: the field {name!r}: {detail}; write it as a string")

    def _check(self, line: int, row: _Pairs, kinds: dict[str, tuple[str, int]], prefix: str) -> None:
        names: set[str] = set()
        for name, value in row:
            place = f"{prefix}{name}"
            if name in names:
                raise DataError(f"{self._at(line)}: the field {place!r} stands twice")
            names.add(name)
            self._check_value(line, value, kinds, place)

    def _check_value(self, line: int, value: Any, kinds: dict[str, tuple[str, int]], place: str) -> None:
        kind = _kind(value)
        if kind == "null":
            return
        known, since = kinds.setdefault(place, (kind, line + self._is_array))
        if known != kind:
            where = f"in item {since - 1}" if self._is_array else f"in line {since}"
            before = f"{where} it is {known}" if since else f"before it is {known}"
            raise DataError(f"{self._at(line)}: the field {place!r} is {kind}, but {before}: one kind a column")
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            raise DataError(f"{self._at(line)}: the field {place!r}: {str(value)[:40]} doesn't fit 64 bits")
        if isinstance(value, str) and not _encodes(value):
            raise DataError(f"{self._at(line)}: the field {place!r} holds half of a surrogate pair")
        if isinstance(value, _Pairs):
            self._check(line, value, kinds, f"{place}.")
        elif isinstance(value, list):
            for item in value:
                self._check_value(line, item, kinds, f"{place}[]")


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
    """Say whether all is there: Arrow loses nulls at the beginning of the first list of a type that it has to guess."""
    try:
        table.validate()
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_lack(one: JsonLines, other: JsonLines) -> None:
    """Refuse a column that only one of two files has: it would be null, and read `None`, in all rows of the other."""
    for name in one.schema.names:
        if name not in other.schema.names:
            close = difflib.get_close_matches(name, set(other.schema.names) - set(one.schema.names), 1)
            hint = f" (it has {close[0]!r})" if close else ""
            raise DataError(f"{other.path}: lacks the column {name!r}, which {one.path} has{hint}")


class _Pairs(list):  # type: ignore[type-arg]
    """An object as its pairs, so that a field that stands twice is seen."""


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


def _same_kind(before: pa.DataType, after: pa.DataType) -> bool:
    return pa.types.is_null(before) or _kind_of_type(before) == _kind_of_type(after)


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


def _encodes(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _first_rounded(value: object, place: str, rounded: Set[str]) -> int | None:
    if isinstance(value, _Pairs):
        found = (_first_rounded(v, f"{place}.{name}", rounded) for name, v in value)
        return next((n for n in found if n is not None), None)
    if isinstance(value, list):
        return next((n for v in value if (n := _first_rounded(v, f"{place}[]", rounded)) is not None), None)
    if place not in rounded or not isinstance(value, int):
        return None
    return value if abs(value) >= _MAX_EXACT_FLOAT and int(float(value)) != value else None


def _may_be_rounded(column: pa.ChunkedArray | pa.Array, place: str) -> Iterator[str]:
    """Say where a number may have lost digits: whole numbers become fractions where a field mixes both."""
    kind = column.type
    if pa.types.is_floating(kind):
        largest = pc.max(pc.abs(column)).as_py()
        if largest is not None and largest >= _MAX_EXACT_FLOAT:
            yield place
    elif pa.types.is_list(kind):
        yield from _may_be_rounded(pc.list_flatten(column), f"{place}[]")
    elif pa.types.is_struct(kind):
        for at, field in enumerate(kind):
            yield from _may_be_rounded(pc.struct_field(column, at), f"{place}.{field.name}")
