"""Programs by the shapes of conversations, made when shapes occur."""

from __future__ import annotations

import threading
from typing import NamedTuple

import pyarrow as pa

import promptpress._core as _core
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.shape_compiler import compile_shape
from promptpress._jinja.reference import Reference
from promptpress._jinja.table_programs import core_program
from promptpress._utils import lazy_compute as pc

MAX_SHAPES = 10_000
"""Shapes that are kept; Jinja2 renders conversations of further ones."""
MAX_SKELETON_BYTES = 64 << 20
MAX_PROGRAMS = 4_000
"""Shapes that have programs."""
CHEAP_PROGRAMS = 64
"""The first shapes, which are compiled as soon as they occur again."""
MAX_EXHAUSTED = 2
"""Shapes that may exceed the cost of compiling; after them, no more are compiled."""
WORTHWHILE_ROWS = 16
"""Rows after which any shape is compiled: Jinja2 renders about as many in the time that compiling takes."""


class ShapeProgram(NamedTuple):
    """The program of a shape.

    Args:
        program: In the core's form; None if Jinja2 renders all rows.
        reasons: Why rows go to Jinja2, by number.
        bails: The lines of the template where rows go to Jinja2, and why; the line is None if the shape itself is why.
        skeleton: The shape.
    """

    program: _core.JinjaProgram | None
    reasons: tuple[str, ...]
    bails: tuple[tuple[int | None, str], ...]
    skeleton: str = "[]"


_LATER = ShapeProgram(None, ("its shape hasn't been met often",), ())
_TOO_MANY = ShapeProgram(None, (f"programs are made for {MAX_PROGRAMS:,} shapes, and its own is a further one",), ())
_TOO_COSTLY = ShapeProgram(None, ("compiling the template costs too much",), ())
_UNKNOWN = ShapeProgram(None, ("no earlier conversation has the same roles and keys",), ())


class ShapePrograms:
    """The shapes so far and their programs, for all tables that one template renders."""

    def __init__(self, reference: Reference, settings: ChatSettings) -> None:
        self._reference = reference
        self._settings = settings
        self._lock = threading.Lock()
        self._rows: dict[int, int] = {}
        self._programs: dict[int, ShapeProgram] = {}
        self._exhausted = 0
        self.shapes = _core.ConversationShapes(MAX_SHAPES, MAX_SKELETON_BYTES)

    def for_rows(
        self, ids: pa.Array, counts: list[tuple[int, int]]
    ) -> tuple[list[ShapeProgram], pa.Array | None, list[int]]:
        """Return the programs of rows.

        Args:
            ids: The shape of each row.
            counts: The shapes that occur, each with its number of rows.

        Returns:
            Programs; the number of each row's program, None if all rows take the first; and the shapes that were
            compiled now.
        """
        with self._lock:
            new = []
            for number, rows in counts:
                if self._wants_program(number, rows):
                    self._programs[number] = self.compile(self.shapes.skeleton(number))
                    new.append(number)
            without = _LATER if len(self._programs) < MAX_PROGRAMS else _TOO_MANY
            without = _TOO_COSTLY if self.is_exhausted else without
            programs = [self._programs.get(number, without) for number, _ in counts]
        if sum(rows for _, rows in counts) == len(ids) and len(counts) == 1:
            return programs, None, new
        shapes = pa.array([number for number, _ in counts], pa.uint32())
        which = pc.fill_null(pc.index_in(ids, value_set=shapes), len(counts)).cast(pa.uint32())
        return [*programs, _UNKNOWN], which, new

    def _wants_program(self, number: int, rows: int) -> bool:
        """Count rows of a shape; return true if the shape is to be compiled now."""
        self._rows[number] = total = self._rows.get(number, 0) + rows
        if number in self._programs or len(self._programs) >= MAX_PROGRAMS or self.is_exhausted:
            return False
        return len(self._programs) < CHEAP_PROGRAMS or total >= WORTHWHILE_ROWS

    def compile(self, skeleton: str) -> ShapeProgram:
        """Compile the template for a shape; if that fails, the result has the reason instead of a program."""
        settings = self._settings
        compiled, reason = compile_shape(self._reference, skeleton, settings.names(), settings.continued)
        if compiled is None:
            reason = reason or "it can't be compiled"
            return ShapeProgram(None, (reason,), ((None, reason),))
        self._exhausted += compiled.is_exhausted
        bails = tuple(dict.fromkeys((bail.line, bail.reason) for bail in compiled.bails))
        program = core_program(compiled)
        if program is None:
            return ShapeProgram(None, tuple(f"line {line}: {why}" for line, why in bails[:1]), bails)
        return ShapeProgram(program, compiled.program.reasons, bails, skeleton)

    @property
    def is_exhausted(self) -> bool:
        """True if compiling the template has cost too much, so that no further shape should be compiled."""
        return self._exhausted >= MAX_EXHAUSTED

    def compiled(self) -> list[tuple[str, int, ShapeProgram]]:
        """Return the shapes that were compiled: skeleton, number of rows, program."""
        with self._lock:
            programs = [(number, self._rows[number], program) for number, program in self._programs.items()]
        return [(self.shapes.skeleton(number), rows, program) for number, rows, program in programs]
