"""Compiling: a template's tree, evaluated with its row left open, becomes a program."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from jinja2.compiler import Frame, find_undeclared
from jinja2.nodes import EvalContext
from jinja2.runtime import new_context

from promptpress._jinja.bounds import BUDGET, LimitExceededError
from promptpress._jinja.made_when_asked import MadeWhenAsked
from promptpress._jinja.partial import filters, tests
from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.expressions import Expressions
from promptpress._jinja.partial.forks import Bail
from promptpress._jinja.partial.kinds import kind_of, may_lack_value
from promptpress._jinja.partial.machine import Machine
from promptpress._jinja.partial.operands import Keys, Statement
from promptpress._jinja.partial.scope import Scope
from promptpress._jinja.partial.statements import Statements
from promptpress._jinja.partial.values import UNKNOWN, BailError, LoopControl, NeedsKeyError, is_opaque
from promptpress._jinja.program import Program
from promptpress._jinja.reference import Reference

__all__ = ["Compiled", "compile_columns", "compile_names", "outlook"]

_LOCK = threading.RLock()

MAX_REAL_STEPS = 1_000_000
"""Steps that Jinja2's and Python's own code may take while a template is compiled, counted as in a rendering."""

_UNFINISHED = {
    RecursionError: "it is nested too deep",
    LimitExceededError: f"it takes more than {MAX_REAL_STEPS:,} steps before there is a row",
    MemoryError: "compiling it takes too much memory",
}


class Compiled:
    """What compiling gives.

    Args:
        builder: Has made the program's nodes.
        machine: Has evaluated the template.
        keys: The values of expressions the program is made for.

    """

    def __init__(self, builder: Builder, machine: Machine, keys: Keys | None) -> None:
        self._builder = builder
        self._block = machine.block
        self.bails: list[Bail] = machine.bails
        """Where rows go to Jinja2."""
        self.visited: list[tuple[int, str]] = list(machine.visited)
        """The nodes of the template's tree that were evaluated: line and type."""
        self.keys = keys
        self.steps = machine.steps
        """Cost of compiling, in visits of nodes of the template's tree."""
        self.is_exhausted = machine.is_exhausted
        """True if compiling cost as much as it may."""
        self.program: Program = builder.program(self._block)

    def check_columns(self, columns: list[int]) -> None:
        """Send rows to Jinja2 that Python has no values for: it says of which column they are.

        Args:
            columns: The numbers of columns that may hold what Python has no value for.

        """
        builder = self._builder
        checks: list[Statement] = []
        written = {statement[1] for statement in self._block if statement[0] == "emit"}
        try:
            for number in columns:
                column = builder.column(number, UNKNOWN).node
                text = builder.operation("text", column).node
                if not written & {column, text}:
                    checks.append(("check", text))
        except BailError as bail:
            checks = [("bail", builder.reason(bail.reason))]
        self.program = builder.program([*checks, *self._block])

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
    compiled = compile_names(reference, builder, names, keys)
    if schema is None or compiled.is_hopeless:
        return compiled
    doubtful = [number for number, name in enumerate(columns) if may_lack_value(schema.field(name).type)]
    if doubtful:
        compiled.check_columns(doubtful)
    return compiled


def outlook(reference: Reference, columns: tuple[str, ...]) -> Compiled:
    """What would be compiled of a template, whatever the types of the columns and the lengths of lists.

    Args:
        reference: The template.
        columns: The names of the columns.

    Returns:
        A program that isn't run, with where its rows would go to Jinja2.

    """
    builder = Builder(columns)
    names = {name: builder.column(number, UNKNOWN) for number, name in enumerate(columns)}
    return compile_names(reference, builder, names, {}, assumed_key=2)


def compile_names(
    reference: Reference,
    builder: Builder,
    names: Mapping[str, Any],
    keys: Keys | None,
    *,
    after: Callable[[Machine, Any], Any] | None = None,
    assumed_key: int | None = None,
) -> Compiled:
    """Compile a template.

    Args:
        reference: The template.
        builder: Has made the values of the row among `names`.
        names: What the template is rendered with.
        keys: Values of expressions; None: the program is to depend on none.
        after: What becomes of the text, where it isn't written as it is.
        assumed_key: What a key is taken for that isn't given: to see what would be compiled if there were rows.

    Returns:
        The program.

    Raises:
        NeedsKeyError: If it depends on a key that isn't given.

    """
    machine = Machine(builder, keys)
    machine.assumed_key = assumed_key
    BUDGET.start(steps=MAX_REAL_STEPS)
    with _LOCK:
        try:
            if "self" in names:
                raise BailError("a variable `self`", 1)
            _evaluate(reference, machine, names, after)
        except NeedsKeyError as missing:
            missing.steps = machine.steps
            raise
        except BailError as bail:
            machine.bail(bail, machine.block)
        except Exception as error:
            # It may come from within a condition, whose statements aren't the whole program's.
            machine.block = []
            reason = _UNFINISHED.get(type(error), f"raises {type(error).__name__}")
            machine.bail(BailError(reason), machine.block)
    return Compiled(builder, machine, keys)


def _evaluate(
    reference: Reference, machine: Machine, names: Mapping[str, Any], after: Callable[[Machine, Any], Any] | None
) -> None:
    engine = _guarded(reference.environment)
    context = new_context(engine, None, {}, vars=None, shared=False, globals=engine.globals)
    scope = Scope(machine, names, engine)
    tree = reference.ast()
    # Most templates don't have the word; looking through the tree takes long.
    scope.is_self_own = "self" in reference.source and "self" in find_undeclared(tree.body, ("self",))
    expressions = Expressions(machine, scope, engine, context)
    engine.promptpress_expressions = expressions
    frame = Frame(EvalContext(engine, None))
    frame.symbols.analyze_node(tree)
    frame.toplevel = frame.rootlevel = True
    statements = Statements(expressions, may_continue="continue" in reference.source)
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

    def part(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def found(value: Any, key: Any) -> Any:
            if is_opaque(value) or is_opaque(key):
                return getattr(engine.promptpress_expressions, name)(value, key)
            return real(value, key)

        return found

    engine.getitem, engine.getattr = part("item", engine.getitem), part("attribute", engine.getattr)
    engine.filters = MadeWhenAsked(own.filters, lambda name, function: _guard(engine, filters.apply, name, function))
    engine.tests = MadeWhenAsked(own.tests, lambda name, function: _guard(engine, tests.apply, name, function))
    return engine


def _guard(engine: Any, symbolic: Callable[..., Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that is known for values of the row where Jinja's own code calls it, as `map` does."""
    skipped = 1 if getattr(function, "jinja_pass_arg", None) is not None else 0

    @functools.wraps(function)
    def guarded(*arguments: Any, **named: Any) -> Any:
        given = arguments[skipped:]
        if given and (any(map(is_opaque, given)) or any(map(is_opaque, named.values()))):
            if symbolic is tests.apply:
                return tests.apply(engine.promptpress_expressions, name, given[0], list(given[1:]), named)
            return filters.apply(engine.promptpress_expressions, name, given[0], list(given[1:]), named)
        return function(*arguments, **named)

    return guarded
