"""Which program renders which row of a table: one for each combination of list lengths that a template asks for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.compile import Compiled, compile_columns
from promptpress._jinja.partial.values import NeedsKeyError
from promptpress._jinja.reference import Reference
from promptpress._process import install_printable

__all__ = ["TablePrograms", "core_program"]

MAX_PROGRAMS = 256
"""Combinations of lengths that programs are made for; rows of others are Jinja2's."""
MAX_KEYS = 64
"""Lengths that one template may ask for; lists in lists have one each."""

Keys = tuple[int, ...]
_OTHERS: Keys = (-2,)
"""Stands for all combinations without a program."""


def core_program(compiled: Compiled) -> _core.JinjaProgram | None:
    """The core's form of a program.

    Args:
        compiled: The program.

    Returns:
        It; None where every row would go to Jinja2.

    """
    if compiled.is_hopeless:
        return None
    program = compiled.program
    install_printable()
    try:
        return _core.JinjaProgram(
            list(program.columns), list(program.nodes), list(program.block), list(program.reasons)
        )
    except UnicodeEncodeError:  # a text of the template's own making holds half a character
        return None


class TablePrograms:
    """The programs of a template for tables of one schema; they are made as rows ask for them.

    Args:
        reference: The template.
        schema: Of the tables; columns that the template doesn't read may be left out.

    """

    def __init__(self, reference: Reference, schema: pa.Schema) -> None:
        self._reference = reference
        self._schema = schema
        self._lock = threading.Lock()
        self._expressions: list[tuple[Any, ...]] = []
        self._compiled: dict[Keys, Compiled] = {}
        self._programs: list[_core.JinjaProgram | None] = []
        self._numbers: dict[Keys, int] = {}
        self._key_program: tuple[_core.JinjaProgram, list[int]] | None = None

    def for_table(self, table: pa.Table) -> tuple[list[_core.JinjaProgram | None], pa.Array | None]:
        """The programs of a table's rows.

        Args:
            table: Of the schema.

        Returns:
            Programs, None where rows are Jinja2's; and which of them each row takes, None if all take the first.

        """
        with self._lock:
            while True:
                groups, distinct = self._groups(table)
                try:
                    numbers = [self._number(keys) for keys in distinct]
                except NeedsKeyError as missing:
                    self._ask(missing.expression)
                    continue
                which = None if groups is None and numbers == [0] else _chosen(groups, numbers, table.num_rows)
                return list(self._programs), which

    def reasons(self, number: int) -> tuple[str, ...]:
        """Why rows of a program may be Jinja2's.

        Args:
            number: The program's, as `for_table` counts them.

        Returns:
            By the numbers that the program's `bail` statements have.

        """
        with self._lock:
            keys = next((keys for keys, known in self._numbers.items() if known == number), _OTHERS)
            compiled = self._compiled.get(keys)
            return () if compiled is None else compiled.program.reasons

    def compiled(self) -> Sequence[Compiled]:
        """What has been compiled so far."""
        with self._lock:
            return list(self._compiled.values())

    def _groups(self, table: pa.Table) -> tuple[pa.Array | None, list[Keys]]:
        if not self._expressions or self._key_program is None:
            return None, [()]
        program, nodes = self._key_program
        groups, distinct, _ = _core.jinja_keys(program, nodes, table)
        return groups, distinct

    def _ask(self, expression: tuple[Any, ...]) -> None:
        """From now on rows are told apart by what this gives, too."""
        self._compiled.clear()
        self._programs.clear()
        self._numbers.clear()
        self._expressions.append(expression)
        builder = Builder(tuple(self._schema.names))
        nodes = [builder.of_expression(one) for one in self._expressions]
        self._key_program = (_core.JinjaProgram(list(builder.columns), builder.nodes, [], []), nodes)

    def _number(self, keys: Keys) -> int:
        if len(self._compiled) >= MAX_PROGRAMS or len(self._expressions) > MAX_KEYS:
            keys = keys if keys in self._numbers else _OTHERS
        known = self._numbers.get(keys)
        if known is None:
            program = None
            if keys != _OTHERS:
                given = dict(zip(self._expressions, keys, strict=True))
                compiled = compile_columns(self._reference, self._schema, tuple(self._schema.names), given)
                self._compiled[keys] = compiled
                program = core_program(compiled)
            known = self._numbers[keys] = len(self._programs)
            self._programs.append(program)
        return known


def _chosen(groups: pa.Array | None, numbers: list[int], rows: int) -> pa.Array:
    if groups is None:
        return pa.array([numbers[0]] * rows, pa.uint32())
    return pa.array(numbers, pa.uint32()).take(groups)
