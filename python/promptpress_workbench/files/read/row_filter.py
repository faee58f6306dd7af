"""`--where`: a condition of SQL over the columns, which DuckDB checks and evaluates batch by batch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from promptpress import DataError
from promptpress.engine import core as _core
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.engine.tables import is_json
from pyarrow import types

_SELECT = "SELECT "
_ROW = "promptpress row"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "threads": 1,
}
"""A condition reads its row and nothing else: no file, no variable of Python."""
TIME_ZONE = "UTC"
"""The zone in which timestamps with a zone are read and printed, on each machine."""
_FUNCTIONS = """
SELECT
  function_name,
  coalesce(bool_or(stability = 'VOLATILE') OR NOT bool_or(stability = 'CONSISTENT'), false),
  coalesce(any_value(macro_definition), '')
FROM duckdb_functions() GROUP BY function_name
"""
"""Functions, and whether they go by chance or the clock.

Those that also go by the session's zone are consistent for times without one, and the zone is fixed here.
"""
_OF_TODAY = {"age": 1}
"""Functions that DuckDB calls consistent, with the number of arguments with which they go by the present day."""
_CLOCKS = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
"""Names without parentheses that SQL takes for functions."""
_WITHOUT_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types that pyarrow can't compare, as DuckDB before 1.5 has it do, with others for the same values."""
_REFUSED = {
    "PARAMETER": "a placeholder stands for a value that nothing gives; write the value itself",
    "POSITIONAL_REFERENCE": "columns have names here, no numbers",
    "SUBQUERY": "a query within it reads other rows than its own",
    "STAR": "it is true or false of a row; name the columns that it depends on",
    "WINDOW": "a window reads other rows than its own",
}
_OF_JSON = re.compile(r"->|\bjson", re.IGNORECASE)
_TOKEN = re.compile(r'at or near "(.*)"', re.DOTALL)


class RowFilter:
    """A condition over the columns of samples, such as `level > 3 AND topic IN ('algebra', 'geometry')`.

    A row is chosen if the condition is true; if it is false or null, as comparisons with null are, the row isn't.
    No row depends on another one, so it makes no difference how rows are split into batches.
    """

    def __init__(
        self, condition: str, schema: pa.Schema, read: Callable[[], Iterable[pa.RecordBatch]] | None = None
    ) -> None:
        self._condition = condition
        try:
            import duckdb  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise self._error("DuckDB evaluates it: pip install 'promptpress[where]'") from None
        self._duckdb: Any = duckdb
        self._connection: Any = duckdb.connect(":memory:", config=_CONFIG)
        with suppress(duckdb.CatalogException):  # built without zones, DuckDB compares none either
            self._connection.execute(f"SET TimeZone = '{TIME_ZONE}'")
        self._connection.execute("SET lock_configuration = true")
        parsed = self._parsed()
        self._columns = self._resolved(parsed, schema)
        self._refuse_unsteady(parsed)
        self._json_types = {} if read is None else self._types_of_json(schema, read)
        for name, data_type in self._json_types.items():
            schema = schema.set(self._columns[name], pa.field(name, data_type))
        self._types = self._unambiguous_types(parsed, schema)
        self._check()

    def rows(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the numbers of the chosen rows within a batch (int64, ascending)."""
        columns = [with_type(self._column(batch, name), kind) for name, kind in self._types.items()]
        try:
            return self._evaluated(columns, batch.num_rows)
        except self._duckdb.Error as error:
            self._check_values(1)
            is_cast = isinstance(error, self._duckdb.ConversionException)
            hint = "; TRY_CAST gives null for such a value" if is_cast else ""
            raise DataError(
                f"{self._problem(error)}{hint}", given=("where", self._condition), is_choice=False
            ) from None

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column of a batch; one of JSON with its type of Arrow, if it has one."""
        column = batch.column(self._columns[name])
        if name not in self._json_types:
            return column
        from promptpress_workbench.files.read.harness_types import typed_column  # noqa: PLC0415 - for columns of JSON

        return typed_column(column, self._json_types[name])

    def _evaluated(self, columns: list[pa.Array], rows: int) -> pa.Array:
        table = pa.table([_core.repeated_rows(0, rows, 1), *columns], [_ROW, *self._columns])
        kept = self._connection.from_arrow(table).filter(self._expression).project(f'"{_ROW}"')
        numbers = pa.table(kept).column(0).combine_chunks()
        return numbers if isinstance(numbers, pa.Array) else pa.concat_arrays(numbers.chunks)

    def _parsed(self) -> Any:
        """Return DuckDB's syntax tree of the condition as JSON values."""
        (text,) = self._connection.execute("SELECT json_serialize_sql(?)", [_SELECT + self._condition]).fetchall()[0]
        parsed = json.loads(text)
        if parsed["error"]:
            message = parsed["error_message"]
            raise self._error(f"{message}{self._location(message, parsed.get('position'))}")
        try:
            self._expression = self._duckdb.SQLExpression(self._condition)
        except self._duckdb.Error as error:
            raise self._error(f"{self._problem(error)}; AND and OR join several conditions") from None
        return parsed["statements"]

    def _location(self, message: str, position: str | None) -> str:
        """Return where a syntax error is; DuckDB counts characters or bytes, depending on its version."""
        token = _TOKEN.search(message)
        if position is None or token is None:
            return ""
        start = int(position) - len(_SELECT)
        of_bytes = len(self._condition.encode()[:start].decode(errors="ignore"))
        for index in (start, of_bytes):
            if self._condition.startswith(token[1], index):
                return f", character {index + 1}"
        return ""

    def _resolved(self, parsed: Any, schema: pa.Schema) -> dict[str, int]:
        """Return the indices of the columns that the condition names; SQL doesn't tell cases of letters apart."""
        columns: dict[str, int] = {}
        for kind, name in _nodes(parsed, frozenset()):
            if kind in _REFUSED:
                raise self._error(_REFUSED[kind])
            if kind == "LAMBDA" and name in schema.names:
                columns.setdefault(name, schema.get_field_index(name))  # column -> 'key' looks like a lambda
            if kind != "COLUMN_REF":
                continue
            if name.lower() in _CLOCKS and name not in schema.names:
                raise self._error(f"{name} isn't the same in each run")
            matches = [name] if name in schema.names else [n for n in schema.names if n.lower() == name.lower()]
            if not matches:
                hint = did_you_mean(name, schema.names) or f"; there are {', '.join(map(repr, schema.names))}"
                quotes = f"; a text is in single quotes: '{name}'" if f'"{name}"' in self._condition else ""
                raise self._error(f"there is no column {name!r}{hint}{quotes}")
            for match in matches:
                columns.setdefault(match, schema.get_field_index(match))
        by_name: dict[str, str] = {}
        for name in columns:
            other = by_name.setdefault(name.lower(), name)
            if other != name:
                raise self._error(f"SQL doesn't tell the columns {other!r} and {name!r} apart")
        return columns

    def _types_of_json(self, schema: pa.Schema, read: Callable[[], Iterable[pa.RecordBatch]]) -> dict[str, pa.DataType]:
        """Return the types of columns of JSON, which DuckDB would compare as texts, or round.

        A condition with operators or functions of JSON sees these columns as JSON.
        """
        names = [name for name, index in self._columns.items() if is_json(schema.field(index))]
        if not names or _OF_JSON.search(self._condition):
            return {}
        from promptpress_workbench.files.read.harness_types import arrow_types  # noqa: PLC0415 - for columns of JSON

        types = arrow_types(names, lambda names: (batch.select(list(names)) for batch in read()))
        for name in names:
            if name not in types:
                raise self._error(
                    f"the column {name!r} has values of several kinds, which have no type in SQL; name other columns, "
                    f"or take its values as JSON, as by {name}->>'$'"
                )
        return types

    def _refuse_unsteady(self, parsed: Any) -> None:
        """Refuse functions whose result isn't the same in each run."""
        for node, _ in _dicts(parsed, frozenset()):
            if node.get("class") != "FUNCTION":
                continue
            name = node["function_name"]
            count = len(node.get("arguments", node.get("children", ())))
            if name in _unsteady_functions(self._connection) or _OF_TODAY.get(name) == count:
                hint = "; --sample N draws rows" if name == "random" else ""
                hint = "; age(A, B) is between two times" if name == "age" else hint
                raise self._error(f"{name}() isn't the same in each run{hint}")

    def _unambiguous_types(self, parsed: Any, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the types of the columns, without fields that SQL would take for those that the condition reads."""
        paths = list(_paths(parsed))
        kinds = {}
        for name, index in self._columns.items():
            of_column = [path[1:] for path in paths if path[0].lower() == name.lower()]
            try:
                kinds[name] = without_ambiguous_fields(
                    _WITHOUT_VIEWS.get(schema.field(index).type, schema.field(index).type), of_column
                )
            except AmbiguousFieldsError as error:
                raise self._error(f"column {name!r}: {error}") from None
        return kinds

    def _check(self) -> None:
        """Check the types by a table without rows."""
        fields = [pa.field(_ROW, pa.int64())]
        for name, kind in self._types.items():
            field = pa.field(name, kind)
            try:
                self._connection.from_arrow(pa.schema([field]).empty_table())
            except self._duckdb.Error:
                raise self._error(f"DuckDB has no type for column {name!r}, which is {field.type}") from None
            fields.append(field)
        relation = self._connection.from_arrow(pa.schema(fields).empty_table())
        try:
            relation.filter(self._expression)  # refuses aggregates and windows
            (kind,) = relation.select(self._expression).types
        except self._duckdb.Error as error:
            text = self._problem(error)
            cast = "; CAST(COLUMN AS INT) makes numbers of texts, such as those of CSV" if "cast" in text else ""
            raise self._error(f"{text}{cast}") from None
        if str(kind) not in ("BOOLEAN", '"NULL"'):
            raise self._error(f"it gives {kind}, and a condition is true or false; compare it with something")
        self._check_values(0)

    def _check_values(self, rows: int) -> None:
        """Refuse a condition that fails for so many rows without values: 0 for its own constants, 1 at any values."""
        try:
            self._evaluated([pa.nulls(rows, kind) for kind in self._types.values()], rows)
        except self._duckdb.Error as error:
            kinds = ", ".join(f"{name!r} is {kind}" for name, kind in self._types.items())
            raise self._error(f"{self._problem(error)}{kinds and f'; {kinds}'}") from None

    def _error(self, problem: str) -> UsageError:
        return UsageError(problem, given=("where", self._condition))

    @staticmethod
    def _problem(error: Exception) -> str:
        """Return the first line of DuckDB's message, without the kind of error."""
        line = str(error).strip().splitlines()[0]
        return line.partition("Error: ")[2] or line


_unsteady: set[str] = set()


def _unsteady_functions(connection: Any) -> set[str]:
    """Return the names of the functions whose result isn't the same in each run, which DuckDB is asked for once."""
    if not _unsteady:
        for name, is_unsteady, macro in connection.execute(_FUNCTIONS).fetchall():
            if is_unsteady or any(clock in macro.lower() for clock in (*_CLOCKS, "current_user")):
                _unsteady.add(name)
    return _unsteady


def _nodes(tree: Any, bound: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the class of each node of a syntax tree, and the column or the parameter of one that names any.

    `bound` are parameters of lambdas in lower case, which are no columns.
    """
    for node, of_lambda in _dicts(tree, bound):
        kind = node.get("class")
        if kind == "COLUMN_REF":
            if node["column_names"][0].lower() not in of_lambda:
                yield kind, node["column_names"][0]
        elif kind == "LAMBDA":
            yield from ((kind, name) for name in _parameters(node))
        elif isinstance(kind, str):
            yield kind, ""


def _paths(tree: Any) -> Iterator[Path]:
    """Yield the paths of the columns and fields that a syntax tree reads."""
    within: set[int] = set()
    for node, bound in _dicts(tree, frozenset()):
        path = None if id(node) in within else path_of(node)
        if path is not None:
            # The column of a path isn't read as a whole.
            within.update(id(inner) for inner, _ in _dicts(node, frozenset()) if inner is not node)
            if path[0].lower() not in bound:
                yield path


def _parameters(node: dict[str, Any]) -> list[str]:
    return [inner["column_names"][0] for inner, _ in _dicts(node["lhs"], frozenset()) if "column_names" in inner]


def _dicts(tree: Any, bound: frozenset[str]) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Yield the dicts of a syntax tree from the outside to the inside, each with the parameters of its lambdas."""
    if isinstance(tree, list):
        for item in tree:
            yield from _dicts(item, bound)
    elif isinstance(tree, dict):
        yield tree, bound
        inner = bound
        if tree.get("class") == "LAMBDA":
            inner |= {name.lower() for name in _parameters(tree)}
        for value in tree.values():
            yield from _dicts(value, inner)


Path = tuple[str, ...]
"""The names of a field: that of the column, that of a field in it, and so on."""

_EXTRACTS = ("ARRAY_EXTRACT", "STRUCT_EXTRACT")


class AmbiguousFieldsError(Exception):
    """A condition for which two fields are the same, though their names differ in case."""


def path_of(node: Any) -> Path | None:
    """Return the path of a node of DuckDB's syntax tree that names a column or a field, as `m.x` and `m['x']` do."""
    if node.get("class") == "COLUMN_REF":
        return tuple(node["column_names"])
    if node.get("type") in _EXTRACTS:
        of, name = node["children"]
        # Before version 2 of DuckDB a constant has a value, since then a text with its kind.
        value = (name.get("value") or {}).get("value", (name.get("literal") or {}).get("text"))
        is_text = name.get("class") == "CONSTANT" and isinstance(value, str)
        is_text &= "literal" not in name or name["literal"]["kind"] == "STRING"
        path = path_of(of) if is_text and isinstance(of, dict) else None
        return None if path is None else (*path, str(value))
    return None


def without_ambiguous_fields(data_type: pa.DataType, paths: Sequence[Path]) -> pa.DataType:
    """Return a type without the fields that SQL would take for others, as far as none of the paths leads to them.

    An empty path reads all of a column. If SQL would take a field that is read for another one, that is an
    AmbiguousFieldsError.
    """
    equal = _equal_names(data_type)
    if equal is None:
        return data_type
    if not types.is_struct(data_type) or () in paths:
        first, second = equal
        message = f"SQL doesn't tell the fields {first!r} and {second!r} apart; name one, as in COLUMN.{first}"
        raise AmbiguousFieldsError(message)
    names = [field.name for field in data_type]
    read: dict[str, list[Path]] = {name: [] for name in names}
    for head, *rest in paths:
        for name in [head] if head in read else [name for name in names if name.lower() == head.lower()]:
            read[name].append(tuple(rest))
    kept: dict[str, pa.Field] = {}
    for field in sorted(data_type, key=lambda field: not read[field.name]):  # fields that are read come first
        other = kept.setdefault(
            field.name.lower(), field.with_type(without_ambiguous_fields(field.type, read[field.name]))
        )
        if other.name != field.name and read[field.name]:
            raise AmbiguousFieldsError(f"SQL doesn't tell the fields {other.name!r} and {field.name!r} apart")
    is_kept = {field.name for field in kept.values()}
    return pa.struct([kept[name.lower()] for name in names if name in is_kept])


def with_type(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return a column with its type by `without_ambiguous_fields`, or with another type for the same texts."""
    if array.type == data_type:
        return array
    if not types.is_struct(data_type):
        return array.cast(data_type)
    fields = [data_type.field(number) for number in range(data_type.num_fields)]
    columns = [with_type(array.field(array.type.get_field_index(field.name)), field.type) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())


def _equal_names(data_type: pa.DataType) -> tuple[str, str] | None:
    """Return the names of two fields of a struct, anywhere in a type, that differ in case alone; None if none do."""
    seen: dict[str, str] = {}
    fields = [data_type.field(number) for number in range(data_type.num_fields)]
    if types.is_struct(data_type):
        for field in fields:
            other = seen.setdefault(field.name.lower(), field.name)
            if other != field.name:
                return other, field.name
    return next(filter(None, (_equal_names(field.type) for field in fields)), None)
