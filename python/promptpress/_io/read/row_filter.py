"""`--where`: a condition of SQL over the columns, which DuckDB checks and evaluates batch by batch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.json_columns import is_json
from promptpress._errors.file_errors import DataError, UsageError
from promptpress._errors.suggestions import did_you_mean

_SELECT = "SELECT "
_ROW = "promptpress row"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "threads": 1,
    "lock_configuration": "true",
}
"""A condition reads its row and nothing else: no file, no variable of Python."""
_UNSTEADY = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
_REFUSED = {
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

    Args:
        condition: The condition, in DuckDB's SQL.
        schema: The samples' schema.
        read: Reads all samples, to find types for columns of JSON that the condition names; None: there are none.

    Raises:
        UsageError: If DuckDB isn't installed, or the condition is wrong for these columns.

    >>> filter = RowFilter("n % 2 = 0", pa.schema({"n": pa.int64()}))
    >>> filter.rows(pa.record_batch({"n": [1, 2, None, 4]})).to_pylist()
    [1, 3]

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
        parsed = self._parsed()
        self._columns = self._resolved(parsed, schema)
        self._refuse_unsteady(parsed)
        self._types = {} if read is None else self._types_of_json(schema, read)
        for name, data_type in self._types.items():
            index = self._columns[name]
            schema = schema.set(index, pa.field(name, data_type))
        self._check(schema)

    def rows(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the numbers of the chosen rows within a batch (int64, ascending).

        Raises:
            DataError: If the condition can't be evaluated for a value.

        """
        numbers = _core.repeated_rows(0, batch.num_rows, 1)
        columns = [batch.column(index) for index in self._columns.values()]
        if self._types:
            from promptpress._io.read.harness_types import typed_column  # noqa: PLC0415 - for columns of JSON

            pairs = zip(self._columns, columns, strict=True)
            columns = [typed_column(c, self._types[name]) if name in self._types else c for name, c in pairs]
        table = pa.table([numbers, *columns], self._names)
        try:
            kept = self._relation(table).filter(self._expression).project(f'"{_ROW}"')
            rows = pa.table(kept).column(0).combine_chunks()
        except self._duckdb.Error as error:
            raise DataError(
                f"{self._problem(error)}; TRY_CAST gives null for such a value", given=self._given, is_choice=False
            ) from None
        return rows if isinstance(rows, pa.Array) else pa.concat_arrays(rows.chunks)

    @property
    def _names(self) -> list[str]:
        return [_ROW, *self._columns]

    @property
    def _given(self) -> tuple[str, str]:
        return "where", self._condition

    def _relation(self, table: pa.Table) -> Any:
        return self._connection.from_arrow(table)

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
            if kind != "COLUMN_REF":
                continue
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
        from promptpress._io.read.harness_types import arrow_types  # noqa: PLC0415 - for columns of JSON

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
        names = {name for kind, name in _nodes(parsed, frozenset()) if kind == "FUNCTION"}
        unsteady = {name for (name,) in self._connection.execute(_UNSTEADY).fetchall()}
        for name in sorted(names & unsteady):
            hint = "; --sample N draws rows" if name == "random" else ""
            raise self._error(f"{name}() isn't the same in each run{hint}")

    def _check(self, schema: pa.Schema) -> None:
        """Check the types by a table without rows."""
        fields = [pa.field(_ROW, pa.int64())]
        for name, index in self._columns.items():
            field = pa.field(name, schema.field(index).type)
            try:
                self._relation(pa.schema([field]).empty_table())
            except self._duckdb.Error:
                raise self._error(f"DuckDB has no type for column {name!r}, which is {field.type}") from None
            fields.append(field)
        relation = self._relation(pa.schema(fields).empty_table())
        try:
            relation.filter(self._expression)  # refuses aggregates and windows
            (kind,) = relation.select(self._expression).types
        except self._duckdb.Error as error:
            text = self._problem(error)
            cast = "; CAST(COLUMN AS INT) makes numbers of texts, such as those of CSV" if "cast" in text else ""
            raise self._error(f"{text}{cast}") from None
        if str(kind) not in ("BOOLEAN", '"NULL"'):
            raise self._error(f"it gives {kind}, and a condition is true or false; compare it with something")

    def _error(self, problem: str) -> UsageError:
        return UsageError(problem, given=self._given)

    @staticmethod
    def _problem(error: Exception) -> str:
        """Return the first line of DuckDB's message, without the kind of error."""
        line = str(error).strip().splitlines()[0]
        return line.partition("Error: ")[2] or line


def _nodes(tree: Any, bound: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the class and the name of each node of a syntax tree; `bound` are parameters of lambdas, no columns."""
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item, bound)
        return
    if not isinstance(tree, dict):
        return
    kind = tree.get("class")
    if kind == "LAMBDA":
        bound |= {name for _, name in _nodes(tree["lhs"], frozenset())}
    if kind == "COLUMN_REF":
        if tree["column_names"][0] not in bound:
            yield kind, tree["column_names"][0]
    elif isinstance(kind, str):
        yield kind, str(tree.get("function_name", ""))
    for value in tree.values():
        yield from _nodes(value, bound)
