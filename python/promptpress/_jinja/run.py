"""A template's rows: those that a program renders, those that Jinja2 renders, and those that both do, to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core, _text
from promptpress._errors import of_row, render_error
from promptpress._input_checks import checked

if TYPE_CHECKING:
    from promptpress._jinja.reference import Reference
    from promptpress._jinja.table_programs import TablePrograms
    from promptpress.typing import StringLayout

__all__ = ["JinjaRun", "Runner", "render_rows"]

CHECKED_FIRST = 2
"""Rows of each program that Jinja2 renders too."""
CHECKED_ONE_IN = 8192
"""And of all that programs render, one in so many."""

_BLOCK = 1024
"""Rows that are Python objects at a time."""
_SCHEMAS = 16
"""Schemas whose programs are kept."""
_LONGEST_MESSAGE = 2000
_LONGEST_SHOWN = 300

Render = Callable[[list[int]], list[str]]
_LAYOUTS = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
_WITHOUT_PROGRAM = 0xFFFF_FFFF


@dataclass
class JinjaRun:
    """How many rows of a table or stream went which way.

    Args:
        rows: All rows that were rendered.
        compiled: Those that a program rendered.
        jinja2: Those that Jinja2 itself rendered.
        checked: Those of `compiled` that Jinja2 rendered too, to compare.
        reasons: Why rows were Jinja2's, and how many for each reason.

    """

    rows: int = 0
    compiled: int = 0
    jinja2: int = 0
    checked: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, other: JinjaRun) -> None:
        """Count another part of the same stream."""
        self.rows += other.rows
        self.compiled += other.compiled
        self.jinja2 += other.jinja2
        self.checked += other.checked
        for reason, rows in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + rows


def render_rows(
    programs: Sequence[Any], which: pa.Array | None, table: pa.Table, strings: str, reference: Render
) -> tuple[list[pa.Array], list[tuple[int, int, int]]]:
    """Render a table's rows by programs, and by Jinja2 where those can't.

    Args:
        programs: Programs of the core; None: its rows are Jinja2's.
        which: The program of each row; None: all take the first.
        table: The rows.
        strings: The layout of the texts.
        reference: Gives the texts of rows by their numbers.

    Returns:
        The texts, and how many rows of which program were Jinja2's for which of its reasons.

    Raises:
        Exception: What `reference` raises.

    """
    if any(program is not None for program in programs):
        out: tuple[list[pa.Array], list[tuple[int, int, int]]] = _core.render_jinja(
            list(programs), which, table, strings, reference
        )
        return out
    arrays = []
    for start in range(0, len(table), _BLOCK):
        arrays += _array(reference(list(range(start, min(start + _BLOCK, len(table))))), strings)
    return arrays or [pa.array([], _LAYOUTS[strings])], [(0, _WITHOUT_PROGRAM, len(table))]


def _array(texts: list[str], strings: str) -> list[pa.Array]:
    made = pa.array(texts, _LAYOUTS[strings])
    return made.chunks if isinstance(made, pa.ChunkedArray) else [made]


class Runner:
    """Renders tables by one template.

    Args:
        reference: The template.
        columns: The columns that it reads; a table may lack some and have others.
        strings: The layout of the texts.
        refuse: Whether a row that no program renders is an error.

    """

    def __init__(self, reference: Reference, columns: frozenset[str], strings: StringLayout, *, refuse: bool) -> None:
        self._reference = reference
        self._columns = columns
        self._strings = strings
        self._refuse = refuse
        self._programs: dict[tuple[Any, ...], TablePrograms] = {}
        self._seen: dict[int, tuple[Any, int]] = {}
        self.noted = not hasattr(_core, "render_jinja")
        """Whether it has been said that rows weren't compiled."""

    def run(self, table: pa.Table, first_row: int = 0) -> tuple[list[pa.Array], JinjaRun]:
        """Render a table.

        Args:
            table: The rows.
            first_row: Number of its first row among all, from which errors count.

        Returns:
            The texts in one or several arrays, and what went which way.

        Raises:
            RenderError: If a row can't be rendered, or a program doesn't give what Jinja2 gives.

        """
        read = [name for name in table.column_names if name in self._columns]
        # Without a column the core would see no rows.
        part = checked(table.select(read or table.column_names[:1]))
        part = part if part.num_columns else pa.table({"": pa.nulls(len(table))})
        programs, which = self.programs_for(part)
        by_reference: set[int] = set()

        def reference(rows: list[int]) -> list[str]:
            by_reference.update(rows)
            return [""] * len(rows) if self._refuse else self._texts(part, rows, first_row)

        arrays, counts = render_rows(programs, which, part, self._strings, reference)
        reasons: Counter[str] = Counter()
        for program, reason, rows in counts:
            if rows:
                reasons[self._reason(part, programs, program, reason)] += rows
        if self._refuse and by_reference:
            row = min(by_reference)
            # What raises is told as what it is, however it was found.
            self._texts(part, [row], first_row)
            why = ", ".join(reasons)
            message = f'it can\'t be compiled: {why}; fallback="jinja2" has Jinja2 render it'
            raise render_error("not_compiled", message, row=first_row + row)
        rows_checked = self._rows_to_check(programs, which, len(part), first_row, by_reference)
        compared = self._check(part, arrays, rows_checked, first_row) if rows_checked else 0
        run = JinjaRun(len(part), len(part) - len(by_reference), len(by_reference), compared, dict(reasons))
        return arrays, run

    def programs_for(self, table: pa.Table) -> tuple[Sequence[Any], pa.Array | None]:
        """The programs of a table's rows, and which of them each row takes.

        Args:
            table: With the columns that the template reads.

        Returns:
            As `render_rows` takes them.

        """
        if not hasattr(_core, "render_jinja"):
            return [None], None
        from promptpress._jinja.table_programs import TablePrograms  # noqa: PLC0415 - needs the core's programs

        key = _key(table)
        known = self._programs.get(key)
        if known is None:
            while len(self._programs) >= _SCHEMAS:
                del self._programs[next(iter(self._programs))]
            known = self._programs[key] = TablePrograms(self._reference, table.schema, is_eager=self._refuse)
        return known.for_table(table)

    def _reason(self, table: pa.Table, programs: Sequence[Any], program: int, reason: int) -> str:
        known = self._programs.get(_key(table))
        reasons = () if known is None else known.reasons(program)
        if programs[program] is None:
            return reasons[0] if reasons else "nothing is compiled for it"
        return reasons[reason] if reason < len(reasons) else "a value that no operation is compiled for"

    def _texts(self, table: pa.Table, rows: list[int], first_row: int) -> list[str]:
        """Texts of rows by Jinja2; those that it can't render are errors."""
        texts = []
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            columns = [_values(table.column(name), name, block, first_row) for name in table.column_names]
            for n, row in enumerate(block):
                names = {name: column[n] for name, column in zip(table.column_names, columns, strict=True)}
                texts.append(self._text(names, first_row + row))
        return texts

    def _text(self, names: dict[str, Any], row: int) -> str:
        try:
            text = self._reference.render(names)
            text.encode()
        except _core.RenderError as error:
            raise render_error(error.code, error.message, row=row) from error
        except UnicodeEncodeError as error:
            message = f"its text isn't Unicode, and Arrow holds no other: {error}"
            raise render_error("unconvertible_value", message, row=row) from error
        except Exception as error:
            said = str(error)[:_LONGEST_MESSAGE].encode(errors="backslashreplace").decode()
            raise render_error("template_raised", f"{type(error).__name__}: {said}", row=row) from error
        return text

    def _rows_to_check(
        self, programs: Sequence[Any], which: pa.Array | None, rows: int, first_row: int, by_reference: set[int]
    ) -> list[int]:
        """The first rows of each program, and some of all; of those that it rendered."""
        chosen = set(range(-first_row % CHECKED_ONE_IN, rows, CHECKED_ONE_IN))
        for number, program in enumerate(programs):
            if program is None:
                continue
            _, seen = self._seen.get(id(program), (program, 0))
            if seen >= CHECKED_FIRST:
                continue
            first = _first_rows(which, number, rows, CHECKED_FIRST - seen + len(by_reference))
            own = [row for row in first if row not in by_reference][: CHECKED_FIRST - seen]
            chosen.update(own)
            # The program is kept, so that no other gets its number.
            self._seen[id(program)] = (program, seen + len(own))
        return sorted(chosen - by_reference)

    def _check(self, table: pa.Table, arrays: list[pa.Array], rows: list[int], first_row: int) -> int:
        """Render rows by Jinja2 too; returns how many were compared."""
        compared = 0
        texts = pa.chunked_array(arrays)
        try:
            all_meant: list[str] | None = self._texts(table, rows, first_row)
        except _core.RenderError:
            all_meant = None  # which row is to blame is found one by one
        for number, row in enumerate(rows):
            found = texts[row].as_py()
            try:
                meant = self._texts(table, [row], first_row)[0] if all_meant is None else all_meant[number]
            except _core.RenderError as error:
                if error.column is not None:
                    raise  # Jinja2 can't be given the row
                if error.code == "template_limit":
                    continue  # the limit is promptpress's own: Jinja2 by itself would go on, so nothing is known
                message = f"the compiled template gives {_shown(found)}, and Jinja2 raises {error.message}"
                raise render_error("differs_from_reference", message, row=first_row + row) from error
            if found != meant:
                message = f"the compiled template gives {_shown(found, meant)}, and Jinja2 {_shown(meant, found)}"
                raise render_error("differs_from_reference", message, row=first_row + row)
            compared += 1
        return compared


def _key(table: pa.Table) -> tuple[Any, ...]:
    """Return what tells a table's schema from others; a type of the user's own is told by its text and its storage."""
    return tuple((field.name, str(field.type), _storage(field.type)) for field in table.schema)


def _storage(data_type: pa.DataType) -> pa.DataType:
    return data_type.storage_type if isinstance(data_type, pa.BaseExtensionType) else data_type


def _first_rows(which: pa.Array | None, number: int, rows: int, count: int) -> list[int]:
    if which is None:
        return list(range(min(rows, count))) if number == 0 else []
    out: list[int] = pc.indices_nonzero(pc.equal(which, number)).slice(0, count).to_pylist()
    return out


def _values(column: pa.ChunkedArray, name: str, rows: list[int], first_row: int) -> list[Any]:
    """Values of some rows, as Python has them."""
    starts = [at for at in range(len(rows)) if not at or rows[at] != rows[at - 1] + 1]
    runs = [(rows[at], end - at) for at, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
    if len(runs) > 1:
        chunks = [chunk for first, count in runs for chunk in column.slice(first, count).chunks]
        try:
            return _text.values(pa.chunked_array(chunks, column.type), name, 0)
        except _core.RenderError:
            pass  # it is said below where it is
    out: list[Any] = []
    for first, count in runs:
        try:
            out += _text.values(column.slice(first, count), name, first_row + first)
        except _core.RenderError as error:
            raise error if error.row is not None else of_row(error, first_row + first) from error
    return out


def _shown(text: str, other: str = "") -> str:
    """A text's part around the first difference from another."""
    same = next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    start = max(0, same - _LONGEST_SHOWN // 4) if other else 0
    shown = text[start : start + _LONGEST_SHOWN]
    return ("…" if start else "") + repr(shown) + ("…" if start + len(shown) < len(text) else "")
