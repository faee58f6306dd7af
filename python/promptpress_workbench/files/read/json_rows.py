"""Files of JSON objects, one a line or in an array, as record batches: the core reads them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias

import pyarrow as pa
from promptpress import DataError
from promptpress.engine import core as _core
from promptpress.engine.errors import Choice, close_names

from promptpress_workbench.files.read.sources import Source, not_utf8

_BLOCK_BYTES = 1 << 22
_MOST_EXAMINED_BYTES = 1 << 26
"""The largest part of a file that is read to say what it is, where it isn't an array of objects."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ARRAY_HINT = "; one object a line is wanted: an array of them is the format json, a .json file"
_OBJECT_HINT = "; one object a line is wanted, and this line is a part of one"

_Block: TypeAlias = tuple[bytes, int, int]
"""Bytes, and the range of them that is a block."""
Kinds: TypeAlias = dict[str, set[str]]
"""The columns of files in their order, each with the kinds of its values."""


class JsonRows:
    """One file of JSON objects, one a line, or the items of an array.

    The file is read twice: types are known only when all rows have been seen. A column whose values are all of one
    scalar kind has a type of Arrow; any other column is of the extension type `arrow.json`, which holds each value as
    it stands in the file. So a value that is no valid JSON concerns only those who decode it.
    """

    def __init__(self, source: Source, batch_size: int, *, is_array: bool = False, records: str | None = None) -> None:
        self.path = source.path
        self._source = source
        self._batch_size = batch_size
        self._is_array = is_array
        self._records = records
        self._only: list[_Block] | None = None
        columns = _core.JsonColumns()
        for number, blocks in enumerate(self._blocks()):
            if (line := columns.look(blocks)) is not None:
                raise self._fault(number, blocks, line)
            self._only = blocks if number == 0 else None
        self.num_rows: int | None = columns.rows
        self.kinds: Kinds = {name: set(kinds) for name, kinds in columns.kinds()}
        if columns.rows and not self.kinds:
            rows = "its only row has" if columns.rows == 1 else f"its {columns.rows:,} rows have"
            raise DataError(f"{self.path}: {rows} no field")
        self.read_as(self.kinds)

    @staticmethod
    def agree(files: Sequence[JsonRows]) -> None:
        """Give all files the same columns, with types that fit the values of all.

        A file without rows has no columns, and fits all.
        """
        filled = [file for file in files if file.num_rows]
        for file in filled[1:]:
            _refuse_lack(filled[0], file)
            _refuse_lack(file, filled[0])
        kinds: Kinds = {}
        for file in files:
            for name, more in file.kinds.items():
                kinds[name] = kinds.get(name, set()) | more
        for file in files:
            file.read_as(kinds)

    def read_as(self, kinds: Kinds) -> None:
        """Let the rows have the columns and types of these kinds, which fit them."""
        self._columns = [(name, _column_type(kinds[name])) for name in kinds]
        self.schema: pa.Schema = _core.json_schema(self._columns)

    @property
    def json_columns(self) -> list[str]:
        """The columns of the type `arrow.json`."""
        return [name for name, kind in self._columns if kind == "json"]

    def values(self, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns as `arrow.json`, whatever their types are."""
        yield from self.batches([(name, "json") for name, _ in self._columns if name in columns])

    def batches(self, columns: list[tuple[str, str]] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows with all columns, or some with other types."""
        if not self.num_rows:
            return
        columns = self._columns if columns is None else columns
        for number, blocks in enumerate(self._blocks() if self._only is None else [self._only]):
            batches, line = _core.json_batches(blocks, columns, self._batch_size)
            if line is not None:
                raise self._fault(number, blocks, line)
            yield from batches

    def _blocks(self) -> Iterator[list[_Block]]:
        """Yield adjacent blocks of lines, which end where lines end."""
        with self._source.open() as file:
            rest: list[bytes] = []
            for data in self._items(file) if self._is_array else _pieces(file):
                end = data.rfind(b"\n") + 1
                if not end:
                    rest.append(data)
                    continue
                first = data.find(b"\n") + 1 if rest else 0
                blocks = [(data, first, end)] if first < end else []
                if rest:
                    line = b"".join([*rest, data[:first]])
                    blocks.insert(0, (line, 0, len(line)))
                rest = [data[end:]] if end < len(data) else []
                yield blocks
            if rest:
                line = b"".join(rest)
                yield [(line, 0, len(line))]

    def _items(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield pieces of the array's items, each item on a line."""
        items = _core.JsonItems(self._records)
        while piece := file.read(_BLOCK_BYTES):
            lines, fault = items.feed(piece)
            if fault is not None:
                raise self._fault_of_array(*fault)
            if lines:
                yield lines
        if (fault := items.finish()) is not None:
            raise self._fault_of_array(*fault)

    def _fault(self, number: int, blocks: list[_Block], line: tuple[int, int, int]) -> DataError:
        """Make the error of a line; `number` is that of its list of blocks."""
        block, start, end = line
        data, first, _ = blocks[block]
        before = [*blocks[:block], (data, first, first + start)]
        for earlier, others in enumerate(self._blocks() if number else ()):
            if earlier == number:
                break
            before += others
        lines = sum(part.count(b"\n", begin, stop) for part, begin, stop in before)
        location = f"{self.path}[{lines}]" if self._is_array else f"{self.path}:{lines + 1}"
        row = data[first + start : first + end]
        try:
            text = row.decode()
        except UnicodeDecodeError as error:
            return not_utf8(location, error, is_begin=lines == 0)
        return DataError(f"{location}: {self._problem(text)}")

    def _problem(self, line: str) -> str:
        try:
            row = json.loads(line, object_pairs_hook=_Pairs)
        except json.JSONDecodeError as error:
            is_open = not self._is_array and not line[error.pos :].strip()
            hint = "" if not is_open else _ARRAY_HINT if line.lstrip().startswith("[") else _OBJECT_HINT
            return f"not valid JSON: {error.msg}{hint}"
        except (ValueError, RecursionError) as error:
            return f"not valid JSON: {error}"  # a number of more digits than Python reads, or too many brackets
        if not isinstance(row, _Pairs):
            hint = _ARRAY_HINT if isinstance(row, list) and not self._is_array else ""
            return f"{_kind(row)}, not an object{hint}"
        for name, _ in row:
            if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
                what = "a NUL" if "\0" in name else "half of a surrogate pair"
                return f"the name of the field {name!r} holds {what}"
        return "it isn't what it was when the file was read first"

    def _fault_of_array(self, line: int, what: str) -> DataError:
        """Make the error of a file that isn't an array of objects."""
        if what not in ("holds nothing", "another form", "no such key", "no array"):
            return DataError(f"{self.path}:{line}: {what}")
        with self._source.open() as file:
            content = file.read(_MOST_EXAMINED_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()
        try:
            content.decode()
        except UnicodeDecodeError as error:
            if not error.start:
                return not_utf8(self.path, error, is_begin=True)
        problem, remedy = _form(content, self._records)
        choice = remedy if isinstance(remedy, Choice) else None
        return DataError(f"{self.path}: {problem}", choice, for_command=remedy if isinstance(remedy, str) else "")


class _Pairs(list):  # type: ignore[type-arg]
    """An object as pairs."""


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file without a byte order mark."""
    piece = file.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK) + file.read(_BLOCK_BYTES)
    while piece:
        yield piece
        piece = file.read(_BLOCK_BYTES)


def _column_type(kinds: set[str]) -> str:
    if not kinds:
        return "null"
    (kind,) = kinds if len(kinds) == 1 else ("other",)
    return "json" if kind == "other" else kind


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string"}
    return "null" if value is None else names.get(type(value), "a list")


def _refuse_lack(file: JsonRows, other: JsonRows) -> None:
    """Refuse a column that the other file lacks: it would be null there, and `None` in the prompts."""
    for name in file.kinds:
        if name not in other.kinds:
            close = close_names(name, set(other.kinds) - set(file.kinds))
            hint = f" (it has {close[0]!r})" if close else ""
            raise DataError(f"{other.path}: lacks the column {name!r}, which {file.path} has{hint}")


def _form(content: bytes, records: str | None) -> tuple[str, Choice | str | None]:
    """Return what a file holds in place of an array of objects, and the option that reads it, or a hint at one."""
    wanted = "where an array of objects is wanted"
    first = content[:1].decode(errors="replace")
    if not first:
        return "holds nothing, " + wanted, None
    if first != "{":
        what = "an array" if first == "[" else f"what begins with {first!r}"
        return f"holds {what}, where {'an object' if records else 'an array of objects'} is wanted", None
    try:
        value = json.loads(content)
    except ValueError as error:
        is_lines = isinstance(error, json.JSONDecodeError) and error.msg == "Extra data"
        choice = Choice("data_format", "jsonl reads one object a line") if is_lines else None
        return "holds an object, " + wanted, choice
    except RecursionError:
        return "holds an object, " + wanted, None
    problem, hint = _form_of_object(value, records, wanted)
    is_row = problem == f"holds an object, {wanted}" and b"\n" not in content.strip()
    return problem, Choice("data_format", "jsonl reads it as one row") if is_row else hint


def _form_of_object(value: Mapping[str, Any], records: str | None, wanted: str) -> tuple[str, str | None]:
    keys = [key for key, items in value.items() if _is_records(items)]
    if records is not None:
        if records in value:
            return f"the value of its key {records!r} is no array, {wanted}", None
        has = f"; {', '.join(map(repr, keys))} holds one" if keys else f"; it has {', '.join(map(repr, value))}"
        return f"its object has no key {records!r}{has}", None
    if keys:
        rows = f"the rows are under its key {keys[0]!r}" if len(keys) == 1 else "rows are under several of its keys"
        return f"holds an object, {wanted}; {rows}", f"--records {keys[0]} reads them"
    if _are_columns(list(value.values())):
        return f"holds an object of columns, {wanted}: an object for each row", None
    return "holds an object, " + wanted, None


def _are_columns(values: list[object]) -> bool:
    """Return true if the values of an object are columns: lists of one length, or dicts of the same keys."""
    lists = [items for items in values if isinstance(items, list)]
    dicts = [items for items in values if isinstance(items, dict)]
    if len(lists) == len(values):
        return len({len(items) for items in lists}) == 1
    return len(dicts) == len(values) > 1 and all(items.keys() == dicts[0].keys() for items in dicts)


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
