"""A run of a template over a table: programs render rows, Jinja2 renders the others, and some rows are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow import python_text as _text
from promptpress._arrow.columns import LAYOUTS
from promptpress._arrow.core_tables import checked
from promptpress._arrow.json_columns import holds_json
from promptpress._arrow.python_values import with_exact_types
from promptpress._config.tokenizer import EncodedRequests
from promptpress._errors.errors import ABOUT_THE_TABLE, RowErrors, of_row, render_error
from promptpress._errors.left_out import LeftOut
from promptpress._jinja.traced_values import (
    COMPUTED,
    TEMPLATE,
    UNKNOWN,
    Origin,
    Piece,
    is_json,
    joined,
    known_containers,
    pieces,
    traced,
)
from promptpress.typing import StringLayout

if TYPE_CHECKING:
    from promptpress._jinja.compiler.compilation import TablePrograms
    from promptpress._jinja.reference import Reference
    from promptpress.typing import StringLayout

_NAMES = pa.dictionary(pa.int32(), pa.string())
_FIELDS = {
    "message": pa.int32(),
    "start": pa.int32(),
    "end": pa.int32(),
    "source": pa.dictionary(pa.int8(), pa.string()),
    "column": _NAMES,
    "example": pa.int32(),
    "role": _NAMES,
    "path": _NAMES,
}


_FIXED = (TEMPLATE, COMPUTED, UNKNOWN)
"""The origins whose numbers the core gives itself."""


def spans_type(strings: StringLayout, *, is_chat: bool, is_detailed: bool) -> pa.DataType:
    """Return the type of a text's spans: with messages if `is_chat`, with column, example and role if `is_detailed`.

    Texts of `large_string` may have 2 GiB and more, so their positions have 64 bits.
    """
    left_out = set() if is_chat else {"message", "path"}
    left_out |= set() if is_detailed else {"column", "example", "role", "path"}
    large = {"start": pa.int64(), "end": pa.int64()} if strings == "large_string" else {}
    fields = {**_FIELDS, **large}
    return pa.list_(pa.struct([(name, kind) for name, kind in fields.items() if name not in left_out]))


class Origins:
    """Numbers the origins of some texts, for spans of a type that `spans_type` returns."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.data_type = data_type
        self._numbers: dict[Origin, int] = {origin: number for number, origin in enumerate(_FIXED)}

    def number(self, origin: Origin) -> int:
        """Return the number of an origin, which it gets when it is asked for first."""
        return self._numbers.setdefault(origin, len(self._numbers))

    def spans(
        self,
        programs: Sequence[Any],
        origins: list[list[Origin]],
        which: pa.Array | None,
        table: pa.Table,
        texts: Sequence[pa.Array],
        *,
        by_item: bool,
        trace: Callable[[list[int]], Mapping[int, Sequence[Piece]]],
    ) -> Iterator[pa.Array]:
        """Yield the spans of each array of texts.

        `origins` are those of each program's columns or, if `by_item`, of the texts of the only column's lists. `trace`
        is called for the rows of which the programs don't know all origins, and returns the parts of those that it
        knows.
        """
        numbers = [[self.number(origin) for origin in program] for program in origins]
        lengths = pa.chunked_array([_lengths(array) for array in texts], pa.int64()).combine_chunks()
        lengths = lengths.combine_chunks() if isinstance(lengths, pa.ChunkedArray) else lengths
        arrays = _core.jinja_spans(list(programs), numbers, by_item, which, table, lengths)
        spans = pa.concat_arrays(arrays) if arrays else None
        if spans is not None and (traced := trace(_doubtful_rows(spans))):
            spans = self._with_rows(spans, traced)
        start = 0
        for array in texts:
            yield pa.array([], self.data_type) if spans is None else self._named(spans.slice(start, len(array)))
            start += len(array)

    def _with_rows(self, spans: pa.Array, traced: Mapping[int, Sequence[Piece]]) -> pa.Array:
        """Return spans with those of some rows replaced."""
        rows = pa.array([self._spans_of(parts) for parts in traced.values()], spans.type)
        indices = {row: len(spans) + index for index, row in enumerate(traced)}
        order = pa.array([indices.get(row, row) for row in range(len(spans))], pa.int64())
        return pa.concat_arrays([spans, rows]).take(order)

    def _spans_of(self, parts: Sequence[Piece]) -> list[dict[str, int]]:
        out: list[dict[str, int]] = []
        end = 0
        for text, origin in parts:
            start, end = end, end + len(text.encode())
            out.append({"start": start, "end": end, "origin": self.number(TEMPLATE if origin is None else origin)})
        return out

    def _named(self, spans: pa.Array) -> pa.Array:
        """Return spans with the names of their origins in place of the numbers."""
        # Offsets that begin at 0, over values of these rows alone.
        values = spans.flatten()
        offsets = pc.subtract(spans.offsets, spans.offsets[0])
        numbers = values.field("origin")
        columns = []
        for part in self.data_type.value_type:
            name, kind = part.name, part.type
            if name in {"start", "end"}:
                columns.append(values.field(name).cast(kind))
                continue
            of_origins = pa.array([getattr(origin, name, None) for origin in self._numbers], _plain(kind))
            if pa.types.is_dictionary(kind):
                encoded = of_origins.dictionary_encode()
                indices = encoded.indices.cast(kind.index_type).take(numbers)
                columns.append(pa.DictionaryArray.from_arrays(indices, encoded.dictionary))
            else:
                columns.append(of_origins.take(numbers))
        structs = pa.StructArray.from_arrays(columns, fields=list(self.data_type.value_type))
        validity = None if not spans.null_count else spans.is_null()
        return pa.ListArray.from_arrays(offsets, structs, type=self.data_type, mask=validity)


def _plain(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _doubtful_rows(spans: pa.Array) -> list[int]:
    """Return the rows with a span that is computed from several values, or that no program rendered."""
    numbers = spans.flatten().field("origin")
    doubtful = pc.is_in(numbers, value_set=pa.array([_FIXED.index(COMPUTED), _FIXED.index(UNKNOWN)], pa.uint32()))
    rows: list[int] = pc.unique(pc.list_parent_indices(spans).filter(doubtful)).to_pylist()
    return rows


def _lengths(texts: pa.Array) -> pa.Array:
    texts = texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts
    return pc.binary_length(texts).cast(pa.int64())


CHECKED_FIRST = 2
"""The first rows of each program, which Jinja2 renders too."""
CHECKED_ONE_IN = 8192
"""Jinja2 also renders one in this many of all rows that programs render."""

_BLOCK = 1024
"""Rows that are converted to Python objects at a time."""
_SCHEMAS = 16
"""Number of schemas whose programs are kept."""
_LONGEST_MESSAGE = 2000
_LONGEST_EXCERPT = 300

Texts = tuple[pa.Array, pa.Array | None]
"""Rendered texts, and their spans if they are asked for."""

Render = Callable[[list[int]], list[str]]
_WITHOUT_PROGRAM = 0xFFFF_FFFF
_JSON = "a column of JSON has values of several kinds"


@dataclass
class JinjaRun:
    """Counts the rows of a table or stream by what rendered them.

    `checked` are rows of `compiled` that Jinja2 rendered too, to compare; `reasons` say why Jinja2 rendered rows, with
    the number of rows; `errors` are rows that couldn't be rendered; `tokens` is None if nobody asked for tokens;
    `argument_columns` are the columns that arguments of a chat template came from.
    """

    rows: int = 0
    compiled: int = 0
    jinja2: int = 0
    checked: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    errors: RowErrors = field(default_factory=RowErrors)
    tokens: EncodedRequests | None = None
    argument_columns: dict[str, str] = field(default_factory=dict)
    lacking: LeftOut = field(default_factory=LeftOut, repr=False)

    @property
    def left_out(self) -> pa.Table:
        """The parts that the chat template has left out: a table of `code`, `rows`, `first_row` and `place`."""
        return self.lacking.table()

    def add(self, other: JinjaRun) -> None:
        """Add the counts of another part of the same stream."""
        self.rows += other.rows
        self.compiled += other.compiled
        self.jinja2 += other.jinja2
        self.checked += other.checked
        self.argument_columns |= other.argument_columns
        for reason, rows in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + rows
        self.lacking.add_all(other.lacking)


def render_rows(
    programs: Sequence[Any], which: pa.Array | None, table: pa.Table, strings: str, reference: Render
) -> tuple[list[pa.Array], list[tuple[int, int, int]]]:
    """Render a table's rows by programs, or by `reference` where programs can't or are None.

    The result is the texts, and `(program, reason, rows)` for the rows that Jinja2 rendered. If `which` is None, all
    rows take the first program.
    """
    if any(program is not None for program in programs):
        arrays, bails, _, _ = _core.render_jinja(list(programs), which, table, strings, reference)
        return arrays, bails
    arrays = []
    for start in range(0, len(table), _BLOCK):
        arrays += _array(reference(list(range(start, min(start + _BLOCK, len(table))))), strings)
    return arrays or [pa.array([], LAYOUTS[strings])], [(0, _WITHOUT_PROGRAM, len(table))]


def _array(texts: list[str], strings: str) -> list[pa.Array]:
    made = pa.array(texts, LAYOUTS[strings])
    return made.chunks if isinstance(made, pa.ChunkedArray) else [made]


def texts_or_errors(
    render: Render, rows: list[int], first_row: int, failed: dict[int, _core.RenderError] | None
) -> list[str]:
    """Render rows; record the errors of rows in `failed`, by their numbers among all, unless it is None."""
    try:
        return render(rows)
    except _core.RenderError as error:
        if failed is None or error.code in ABOUT_THE_TABLE:
            raise
        if len(rows) == 1:
            failed[first_row + rows[0]] = error
            return [""]
    return [text for row in rows for text in texts_or_errors(render, [row], first_row, failed)]


def compared_rows(  # noqa: PLR0917 - the rows and their texts come first
    rows: list[int],
    arrays: list[pa.Array],
    render: Render,
    first_row: int,
    failed: dict[int, _core.RenderError] | None,
    column: str | None = None,
) -> int:
    """Render rows by Jinja2 too, and compare their texts; return how many were compared."""
    texts = pa.chunked_array(arrays)
    try:
        all_expected: list[str] | None = render(rows)
    except _core.RenderError:
        all_expected = None  # each row is tried again below, to find the one that fails
    compared = 0
    for number, row in enumerate(rows):
        text = texts[row].as_py()
        fault: _core.RenderError | None = None
        try:
            expected = render([row])[0] if all_expected is None else all_expected[number]
            other = None if text == expected else excerpt(expected, text)
        except _core.RenderError as error:
            if error.code == "template_limit":
                continue  # only promptpress has this limit: what Jinja2 would render isn't known
            expected, other = "", f"raises {error.message}"
            fault = None if error.code == "template_raised" else error  # the row can't be converted for Jinja2
        compared += 1
        if other is not None:
            message = f"the compiled template gives {excerpt(text, expected)}, and Jinja2 {other}"
            fault = fault or render_error("differs_from_reference", message, first_row + row, column)
            if failed is None:
                raise fault
            failed[first_row + row] = fault
    return compared


def traced_rows(
    arrays: list[pa.Array],
    parts: Callable[[int], list[Piece]],
    first_row: int,
    failed: Mapping[int, _core.RenderError] | None,
    rows: list[int],
) -> dict[int, list[Piece]]:
    """Return the parts of rows' texts with their origins; rows in which they make another text are left out."""
    texts = pa.chunked_array(arrays)
    out: dict[int, list[Piece]] = {}
    for row in rows:
        if failed is not None and first_row + row in failed:
            continue
        try:
            of_row = parts(row)
        except Exception:  # nested too deeply, or used where only a value without an origin will do
            continue
        if "".join([text for text, _ in of_row]) == texts[row].as_py():
            out[row] = of_row
    return out


class Runner:
    """Renders tables by one template, which reads `columns`; `refuse` makes a row without a program an error."""

    def __init__(self, reference: Reference, columns: frozenset[str], strings: StringLayout, *, refuse: bool) -> None:
        self._reference = reference
        self._columns = columns
        self._strings = strings
        self._refuse = refuse
        self._programs: dict[tuple[Any, ...], TablePrograms] = {}
        self._seen: dict[int, tuple[Any, int]] = {}
        self._rows = 0
        self.noted = False
        """True once the user has been told that rows weren't compiled."""

    def run(
        self,
        table: pa.Table,
        first_row: int = 0,
        failed: dict[int, _core.RenderError] | None = None,
        origins: Origins | None = None,
    ) -> tuple[list[Texts], JinjaRun]:
        """Render a table; return the texts in one or several arrays with their spans, and the counts of rows.

        `first_row` is the number of the table's first row among all. `failed` receives the error of each row that can't
        be rendered, by its number among all; without it, the first error is raised.
        """
        read = [name for name in table.column_names if name in self._columns]
        # Without a column the core would see no rows.
        part = checked(table.select(read or table.column_names[:1]))
        part = part if part.num_columns else pa.table({"": pa.nulls(len(table))})
        typed = _without_json(part)
        programs, which = ([None], None) if typed is None else self.programs_for(typed)
        by_reference: set[int] = set()
        errors_of_rows: list[_core.RenderError] = []

        def reference(rows: list[int]) -> list[str]:
            by_reference.update(rows)
            try:
                if self._refuse:
                    return [""] * len(rows)
                return texts_or_errors(lambda rows: self._texts(part, rows, first_row), rows, first_row, failed)
            except _core.RenderError as error:
                errors_of_rows.append(error)
                raise

        try:
            typed_part = part if typed is None else typed
            arrays, counts = render_rows(programs, which, typed_part, self._strings, reference)
        except _core.RenderError as error:
            # The core counts from the first row of the table that it is given.
            if error in errors_of_rows or error.row is None or not first_row:
                raise
            raise render_error(error.code, error.message, error.row + first_row, error.column) from None
        reasons: Counter[str] = Counter()
        for program, reason, rows in counts:
            if rows:
                reasons[_JSON if typed is None else self._reason(typed, programs, program, reason)] += rows
        if self._refuse and by_reference:
            self._refuse_rows(part, sorted(by_reference), first_row, failed)
        rows_checked = self._rows_to_check(programs, which, len(part), by_reference)
        render = partial(self._texts, part, first_row=first_row)
        compared = compared_rows(rows_checked, arrays, render, first_row, failed) if rows_checked else 0
        run = JinjaRun(len(part), len(part) - len(by_reference), len(by_reference), compared, dict(reasons))
        if origins is None:
            return [(texts, None) for texts in arrays], run
        columns = [[] if program is None else program.columns for program in programs]
        fields = [[Origin("field", name) for name in names] for names in columns]
        trace = partial(traced_rows, arrays, partial(self._parts, part, first_row), first_row, failed)
        spans = origins.spans(programs, fields, which, typed_part, arrays, by_item=False, trace=trace)
        return list(zip(arrays, spans, strict=True)), run

    def _parts(self, table: pa.Table, first_row: int, row: int) -> list[Piece]:
        """Return the parts of a row's text with their origins."""
        values = {field.name: _values(table.column(field.name), field, [row], first_row)[0] for field in table.schema}
        if not all(map(is_json, values.values())):
            raise TypeError("of other objects the origins would be lost")
        containers: dict[int, Origin] = {}
        names = {name: traced(value, Origin("field", name), containers) for name, value in values.items()}
        with known_containers(containers):
            parts = self._reference.parts(names)
        return pieces(joined([(text, origin and origin._replace(path=None)) for text, origin in parts]))

    def programs_for(self, table: pa.Table) -> tuple[Sequence[Any], pa.Array | None]:
        """Return the programs of a table's rows and which of them each row takes, as `render_rows` expects them."""
        from promptpress._jinja.compiler.compilation import TablePrograms  # noqa: PLC0415 - needs Jinja2

        key = _key(table)
        programs = self._programs.get(key)
        if programs is None:
            while len(self._programs) >= _SCHEMAS:
                del self._programs[next(iter(self._programs))]
            programs = self._programs[key] = TablePrograms(self._reference, table.schema, is_eager=self._refuse)
        return programs.for_table(table)

    def _reason(self, table: pa.Table, programs: Sequence[Any], program: int, reason: int) -> str:
        cached = self._programs.get(_key(table))
        reasons = () if cached is None else cached.reasons(program)
        if programs[program] is None:
            return reasons[0] if reasons else "nothing is compiled for it"
        return reasons[reason] if reason < len(reasons) else "a value that no operation is compiled for"

    def _refuse_rows(
        self, table: pa.Table, rows: list[int], first_row: int, failed: dict[int, _core.RenderError] | None
    ) -> None:
        """Raise or record an error for each row that isn't compiled."""
        for row in rows:
            error: _core.RenderError | None = None
            try:
                # If Jinja2 raises for the row, that is the error to report.
                self._texts(table, [row], first_row)
            except _core.RenderError as raised:
                error = raised
            if error is None:
                why = self._reason_of_row(table.slice(row, 1))
                message = f'it can\'t be compiled: {why}; fallback="jinja2" has Jinja2 render it'
                error = render_error("not_compiled", message, row=first_row + row)
            if failed is None:
                raise error
            failed[first_row + row] = error

    def _reason_of_row(self, table: pa.Table) -> str:
        """Return the reason why the only row of a table isn't compiled."""
        typed = _without_json(table)
        if typed is None:
            return _JSON
        programs, which = self.programs_for(typed)
        _, counts = render_rows(programs, which, typed, self._strings, lambda rows: [""] * len(rows))
        return next((self._reason(typed, programs, program, reason) for program, reason, rows in counts if rows), "")

    def _texts(self, table: pa.Table, rows: list[int], first_row: int) -> list[str]:
        """Render rows by Jinja2; raise the error of the first row that fails."""
        texts = []
        names = table.column_names
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            columns = [_values(table.column(field.name), field, block, first_row) for field in table.schema]
            for row, *values in zip(block, *columns, strict=True):
                texts.append(self._text(dict(zip(names, values, strict=True)), first_row + row))
        return texts

    def _text(self, names: dict[str, Any], row: int) -> str:
        try:
            text = self._reference.render(names)
            if not text.isascii():
                text.encode()
        except _core.RenderError as error:
            raise render_error(error.code, error.message, row=row) from error
        except UnicodeEncodeError as error:
            message = f"its text isn't Unicode, and Arrow holds no other: {error}"
            raise render_error("unconvertible_value", message, row=row) from error
        except Exception as error:
            text_of_error = str(error)[:_LONGEST_MESSAGE].encode(errors="backslashreplace").decode()
            raise render_error("template_raised", f"{type(error).__name__}: {text_of_error}", row=row) from error
        return text

    def _rows_to_check(
        self, programs: Sequence[Any], which: pa.Array | None, rows: int, by_reference: set[int]
    ) -> list[int]:
        """Choose rows to compare: the first compiled rows of each program, and some of all compiled rows."""
        chosen = set(range(-self._rows % CHECKED_ONE_IN, rows, CHECKED_ONE_IN))
        self._rows += rows
        for number, program in enumerate(programs):
            if program is None:
                continue
            _, seen = self._seen.get(id(program), (program, 0))
            if seen >= CHECKED_FIRST:
                continue
            first = _first_rows(which, number, rows, CHECKED_FIRST - seen + len(by_reference))
            rows_of_program = [row for row in first if row not in by_reference][: CHECKED_FIRST - seen]
            chosen.update(rows_of_program)
            # Keep the program, so that no other object gets its id.
            self._seen[id(program)] = (program, seen + len(rows_of_program))
        return sorted(chosen - by_reference)


def _key(table: pa.Table) -> tuple[Any, ...]:
    """Return a key of a table's schema; a type of the user's own is identified by its text and its storage."""
    return tuple(
        (field.name, str(field.type), getattr(field.type, "storage_type", field.type)) for field in table.schema
    )


def _without_json(table: pa.Table) -> pa.Table | None:
    """Return a table with typed columns in the place of JSON; None if no type of Arrow holds some values exactly."""
    table = with_exact_types(table)
    return None if any(map(holds_json, table.schema)) else table


def _first_rows(which: pa.Array | None, number: int, rows: int, count: int) -> list[int]:
    if which is None:
        return list(range(min(rows, count))) if number == 0 else []
    out: list[int] = pc.indices_nonzero(pc.equal(which, number)).slice(0, count).to_pylist()
    return out


def _values(column: pa.ChunkedArray, field: pa.Field, rows: list[int], first_row: int) -> list[Any]:
    """Return the values of some rows as Python objects."""
    starts = [index for index, row in enumerate(rows) if not index or row != rows[index - 1] + 1]
    runs = [(rows[start], end - start) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
    if len(runs) > 1:
        chunks = [chunk for first, count in runs for chunk in column.slice(first, count).chunks]
        try:
            return _text.values(pa.chunked_array(chunks, column.type), field.name, 0, field)
        except _core.RenderError:
            pass  # the error is raised below, with its row
    out: list[Any] = []
    for first, count in runs:
        try:
            out += _text.values(column.slice(first, count), field.name, first_row + first, field)
        except _core.RenderError as error:
            raise error if error.row is not None else of_row(error, first_row + first) from error
    return out


def excerpt(text: str, other: str = "") -> str:
    """Return the part of a text around its first difference from another."""
    same = next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    start = max(0, same - _LONGEST_EXCERPT // 4) if other else 0
    part = text[start : start + _LONGEST_EXCERPT]
    return ("…" if start else "") + repr(part) + ("…" if start + len(part) < len(text) else "")
