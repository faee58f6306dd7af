"""Compiling: a template's tree, evaluated with its row left open, becomes a program."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from jinja2.compiler import Frame
from jinja2.nodes import EvalContext
from jinja2.runtime import new_context

from promptpress._jinja.partial import filters, tests
from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.expressions import Expressions
from promptpress._jinja.partial.kinds import kind_of
from promptpress._jinja.partial.machine import Keys, Machine
from promptpress._jinja.partial.scope import Scope
from promptpress._jinja.partial.statements import Statements
from promptpress._jinja.partial.values import UNKNOWN, BailError, LoopControl, is_opaque
from promptpress._jinja.program import Program
from promptpress._jinja.reference import Reference

__all__ = ["Compiled", "compile_columns", "compile_names"]

_LOCK = threading.RLock()


class Compiled:
    """What compiling gives.

    Args:
        program: The program.
        bails: Where rows go to Jinja2: line and reason of each.
        keys: The values of expressions the program is made for.

    """

    def __init__(self, program: Program, bails: list[tuple[int, str]], keys: Keys) -> None:
        self.program = program
        self.bails = bails
        self.keys = keys

    @property
    def is_hopeless(self) -> bool:
        """Whether every row goes to Jinja2."""
        return bool(self.program.block) and any(statement[0] == "bail" for statement in self.program.block)


def compile_columns(reference: Reference, schema: pa.Schema | None, columns: tuple[str, ...], keys: Keys) -> Compiled:
    """Compile a template over a table's columns.

    Args:
        reference: The template.
        schema: Of the table; None: nothing is known of the columns' types.
        columns: The names of the columns.
        keys: Values of expressions.

    Returns:
        The program.

    Raises:
        NeedsKeyError: If it depends on a key that isn't given.

    """
    builder = Builder(columns)
    kinds = {name: UNKNOWN if schema is None else kind_of(schema.field(name).type) for name in columns}
    names = {name: builder.column(number, kinds[name]) for number, name in enumerate(columns)}
    return compile_names(reference, builder, names, keys)


def compile_names(
    reference: Reference,
    builder: Builder,
    names: Mapping[str, Any],
    keys: Keys,
    after: Callable[[Machine, Any], Any] | None = None,
) -> Compiled:
    """Compile a template.

    Args:
        reference: The template.
        builder: Has made the values of the row among `names`.
        names: What the template is rendered with.
        keys: Values of expressions.
        after: What becomes of the text, where it isn't written as it is.

    Returns:
        The program.

    Raises:
        NeedsKeyError: If it depends on a key that isn't given.

    """
    machine = Machine(builder, keys)
    with _LOCK:
        try:
            if "self" in names:
                raise BailError("a variable `self`", 1)
            _evaluate(reference, machine, names, after)
        except (BailError, RecursionError) as error:
            bail = error if isinstance(error, BailError) else BailError("it is nested too deep")
            machine.bail(bail, machine.block)
    return Compiled(builder.program(machine.block), machine.bails, keys)


def _evaluate(
    reference: Reference, machine: Machine, names: Mapping[str, Any], after: Callable[[Machine, Any], Any] | None
) -> None:
    engine = _guarded(reference.environment)
    context = new_context(engine, None, {}, vars=None, shared=False, globals=engine.globals)
    scope = Scope(machine, names, engine)
    expressions = Expressions(machine, scope, engine, context)
    engine.promptpress_expressions = expressions
    tree = reference.ast()
    frame = Frame(EvalContext(engine, None))
    frame.symbols.analyze_node(tree)
    frame.toplevel = frame.rootlevel = True
    statements = Statements(expressions)
    try:
        if after is None:
            statements.template(tree, frame)
        else:
            text = machine.captured(lambda: statements.template(tree, frame))
            machine.write(after(machine, text))
    except LoopControl as control:
        raise BailError(f"a {control} outside of a loop", machine.lineno) from control
    finally:
        engine.promptpress_expressions = None


@functools.lru_cache(maxsize=64)
def _guarded(own: Any) -> Any:
    """An environment like that one, whose filters and tests know values of the row."""
    engine = own.overlay()
    engine.filters = {name: _guard(engine, filters.apply, name, function) for name, function in own.filters.items()}
    engine.tests = {name: _guard(engine, tests.apply, name, function) for name, function in own.tests.items()}
    return engine


def _guard(engine: Any, symbolic: Callable[..., Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that is known for values of the row where Jinja's own code calls it, as `map` does."""
    skipped = 1 if getattr(function, "jinja_pass_arg", None) is not None else 0

    @functools.wraps(function)
    def guarded(*arguments: Any, **named: Any) -> Any:
        given = arguments[skipped:]
        if given and (any(map(is_opaque, given)) or any(map(is_opaque, named.values()))):
            if symbolic is tests.apply:
                return tests.apply(engine.promptpress_expressions, name, given[0], list(given[1:]))
            return filters.apply(engine.promptpress_expressions, name, given[0], list(given[1:]), named)
        return function(*arguments, **named)

    return guarded
