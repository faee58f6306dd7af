"""The programs of one template for tables of one schema: one program for each combination of list lengths."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.core_tables import install_printable
from promptpress._jinja.compiler.builder import Builder
from promptpress._jinja.compiler.compaction import Compaction
from promptpress._jinja.compiler.compile import Compiled, compile_columns
from promptpress._jinja.compiler.values import NeedsKeyError
from promptpress._jinja.reference import Reference

MAX_PROGRAMS = 256
"""Combinations of lengths that have programs; Jinja2 renders rows with further ones."""
MAX_KEYS = 64
"""Lengths that one template may depend on; each list within a list has its own."""
CHEAP_PROGRAMS = 16
"""The first combinations, which have a program from their first row on."""
CHEAP_EXPRESSIONS = 5_000
"""Further combinations have one too, while all programs together have fewer expressions: loops are unrolled in them."""
WORTHWHILE_ROWS = 16
"""Rows after which any combination has a program: Jinja2 renders 7 to 70 in the time that compiling takes."""
MAX_SEARCH_STEPS = 500_000
"""Limit of the steps to find all lengths that a template depends on: each is found by another evaluation."""
MAX_EXHAUSTED = 2
"""Combinations that may exceed the cost of compiling; after them, no more are compiled."""
MAX_COUNTED = 10_000
"""Combinations whose rows are counted at the same time."""

Keys = tuple[int, ...]
_TOO_MANY = f"programs are made for {MAX_PROGRAMS} combinations of lengths of lists, and its own is a further one"
_TOO_LONG = f"the template asks for more than {MAX_KEYS} lengths of lists"
_TOO_COSTLY = "compiling the template costs too much"
_RARE = "few rows have had lists of its lengths so far"
_REFUSED = "the program is nested too deep, or a text of the template's own making isn't Unicode"


def core_program(compiled: Compiled) -> _core.JinjaProgram | None:
    """Make the core's form of a program; return None if every row would go to Jinja2."""
    if compiled.is_hopeless:
        return None
    program = compiled.program
    install_printable()
    try:
        return _core.JinjaProgram(
            list(program.columns), list(program.nodes), list(program.block), list(program.reasons)
        )
    except ValueError:  # nested deeper than the core allows, or a lone surrogate in a text
        return None


class TablePrograms:
    """The programs of a template for tables of one schema, made when rows need them.

    Args:
        reference: The template.
        schema: Of the tables; columns that the template doesn't read may be left out.
        is_eager: If true, every combination has a program from its first row on, as if Jinja2 must render none.
    """

    def __init__(self, reference: Reference, schema: pa.Schema, *, is_eager: bool = False) -> None:
        self._reference = reference
        self._schema = schema
        self._is_eager = is_eager
        self._lock = threading.Lock()
        self._expressions: list[tuple[Any, ...]] = []
        self._compiled: dict[Keys, Compiled] = {}
        self._programs: list[_core.JinjaProgram | None] = []
        self._numbers: dict[Keys, int] = {}
        self._without: dict[str, int] = {}
        self._rows: dict[Keys, int] = {}
        self._expression_count = 0
        self._search_steps = 0
        self._exhausted = 0
        self._key_program: tuple[_core.JinjaProgram, list[int]] | None = None

    def for_table(self, table: pa.Table) -> tuple[list[_core.JinjaProgram | None], pa.Array | None]:
        """Return programs for a table's rows, and the number of each row's program.

        A program is None where Jinja2 renders the rows. The numbers are None if all rows take the first program.
        """
        with self._lock:
            while True:
                groups, distinct = self._groups(table)
                counts = _counts(groups, len(distinct), table.num_rows)
                try:
                    numbers = [self._number(keys, rows) for keys, rows in zip(distinct, counts, strict=True)]
                except NeedsKeyError as missing:
                    self._search_steps += missing.steps
                    self._add_key(missing.expression)
                    continue
                which = None if groups is None and numbers == [0] else _numbers_of_rows(groups, numbers, table.num_rows)
                return list(self._programs), which

    def reasons(self, number: int) -> tuple[str, ...]:
        """Return the reasons why Jinja2 may render rows of a program, by the numbers of its `bail` statements.

        Args:
            number: The program's number in the list of `for_table`.
        """
        with self._lock:
            for reason, group in self._without.items():
                if group == number:
                    return (reason,)
            keys = next((keys for keys, group in self._numbers.items() if group == number), ())
            compiled = self._compiled.get(keys)
            if compiled is None:
                return ()
            is_refused = self._programs[number] is None and not compiled.is_hopeless
            return (_REFUSED,) if is_refused else compiled.program.reasons

    def compiled(self) -> Sequence[Compiled]:
        """Return all that has been compiled so far."""
        with self._lock:
            return list(self._compiled.values())

    def _groups(self, table: pa.Table) -> tuple[pa.Array | None, list[Keys]]:
        if not self._expressions or self._key_program is None:
            return None, [()]
        program, nodes = self._key_program
        groups, distinct, _ = _core.jinja_keys(program, nodes, table)
        return groups, distinct

    def _add_key(self, expression: tuple[Any, ...]) -> None:
        """Distinguish rows by the value of one more expression from now on."""
        self._compiled.clear()
        self._programs.clear()
        self._numbers.clear()
        self._without.clear()
        self._rows.clear()
        self._expression_count = 0
        self._expressions.append(expression)
        builder = Builder(tuple(self._schema.names))
        nodes = [builder.of_expression(expression) for expression in self._expressions]
        made = Compaction(builder.nodes, builder.weights, nodes)
        program = _core.JinjaProgram(list(builder.columns), made.nodes, [], [])
        self._key_program = (program, [made.numbers[node] for node in nodes])

    def _number(self, keys: Keys, rows: int) -> int:
        if keys in self._numbers:
            return self._numbers[keys]
        reason = self._without_program(keys, rows)
        if reason is not None:
            if reason not in self._without:
                self._without[reason] = len(self._programs)
                self._programs.append(None)
            return self._without[reason]
        given = dict(zip(self._expressions, keys, strict=True))
        compiled = compile_columns(self._reference, self._schema, tuple(self._schema.names), given)
        program = core_program(compiled)
        self._compiled[keys] = compiled
        self._exhausted += compiled.is_exhausted
        self._expression_count += len(compiled.program.nodes)
        self._numbers[keys] = len(self._programs)
        self._programs.append(program)
        return self._numbers[keys]

    def _without_program(self, keys: Keys, rows: int) -> str | None:
        """Count rows; return the reason why no program is made for them now, or None if one is made."""
        if len(self._expressions) > MAX_KEYS:
            return _TOO_LONG
        if len(self._compiled) >= MAX_PROGRAMS:
            return _TOO_MANY
        if self._search_steps > MAX_SEARCH_STEPS or self._exhausted >= MAX_EXHAUSTED:
            return _TOO_COSTLY
        is_cheap = len(self._compiled) < CHEAP_PROGRAMS or self._expression_count < CHEAP_EXPRESSIONS
        if self._is_eager or is_cheap:
            return None
        if len(self._rows) >= MAX_COUNTED:
            self._rows.clear()
        self._rows[keys] = total = self._rows.get(keys, 0) + rows
        if total < WORTHWHILE_ROWS:
            return _RARE
        del self._rows[keys]
        return None


def _counts(groups: pa.Array | None, distinct: int, rows: int) -> list[int]:
    """Return the number of rows of each group."""
    if groups is None or distinct == 1:
        return [rows] * distinct
    out = [0] * distinct
    for item in pc.value_counts(groups).to_pylist():
        out[item["values"]] = item["counts"]
    return out


def _numbers_of_rows(groups: pa.Array | None, numbers: list[int], rows: int) -> pa.Array:
    if groups is None:
        return pa.array([numbers[0]] * rows, pa.uint32())
    return pa.array(numbers, pa.uint32()).take(groups)
