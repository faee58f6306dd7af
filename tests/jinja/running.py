"""Programs run by the core, and beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import promptpress._core as _core
import pyarrow as pa
from models import jinja_model as model
from promptpress._jinja.compiler.program import Program

GIVEN_UP = "\0given up\0"
"""The mark of a row that the core gives up."""


def compiled(program: Program) -> _core.JinjaProgram:
    """The core's form of a program."""
    return _core.JinjaProgram(list(program.columns), list(program.nodes), list(program.block), list(program.reasons))


def run(program: Program, table: pa.Table) -> list[str]:
    """The core's texts of a table's rows, with `GIVEN_UP` where it gave up."""
    arrays, *_ = _core.render_jinja([compiled(program)], None, table, "string", lambda rows: [GIVEN_UP for _ in rows])
    return [text for array in arrays for text in array.to_pylist()]


def program_of(columns: Mapping[str, Any], *nodes: tuple[Any, ...]) -> Program:
    """A program that writes the last node's kind and value."""
    last = len(nodes) - 1
    kinds = (("kind", last), ("text", last))
    return Program(tuple(columns), (*nodes, *kinds), (("emit", last + 1), ("lit", ": "), ("emit", last + 2)))


def applied(operation: str, arguments: list[Any]) -> Program:
    """A program that shows an operation on constants."""
    constants = [("const", argument) for argument in arguments]
    return program_of({}, *constants, (operation, *range(len(arguments))))


ONE_ROW = pa.table({"unused": [0]})


def outcome(operation: str, arguments: list[Any]) -> tuple[str, str | model.Bailed]:
    """Return the results of the core and of the model for an operation on constants."""
    program = applied(operation, arguments)
    return run(program, ONE_ROW)[0], model.run(program, {})
