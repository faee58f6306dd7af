"""The compiler: evaluates a template's tree with its row left open, and returns a program."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from jinja2.compiler import Frame, find_undeclared
from jinja2.nodes import EvalContext
from jinja2.runtime import new_context
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import is_text
from promptpress._arrow.core_tables import install_printable
from promptpress._arrow.json_columns import all_fields, holds
from promptpress._jinja.compiler import filters
from promptpress._jinja.compiler.calls import Evaluator
from promptpress._jinja.compiler.machine import Bail, Machine, Scope
from promptpress._jinja.compiler.operands import Keys
from promptpress._jinja.compiler.program import Builder, Compaction, Program, Statement
from promptpress._jinja.compiler.statements import Statements
from promptpress._jinja.compiler.values import UNKNOWN, BailError, Kind, LoopControl, NeedsKeyError, is_opaque
from promptpress._jinja.reference import Reference
from promptpress._jinja.sandbox.bounds import BUDGET, LimitExceededError
from promptpress._jinja.sandbox.guarded_filters import LazyWrappers
from promptpress._jinja.traced_environment import tracing

_LOCK = threading.RLock()

MAX_REAL_STEPS = 1_000_000
"""Steps that Jinja2's and Python's own code may take while a template is compiled, counted as in a rendering."""

_UNFINISHED = {
    RecursionError: "it is nested too deep",
    LimitExceededError: f"it takes more than {MAX_REAL_STEPS:,} steps before there is a row",
    MemoryError: "compiling it takes too much memory",
}

_LIST_TYPES = (
    *(types.is_list, types.is_large_list, types.is_fixed_size_list),
    *(types.is_list_view, types.is_large_list_view),
)


Parts = tuple[list[int | None], list[int | None], list[list[int]]]
"""The part of each slot, that of each origin of a program's own data, and the numbers under which parts are counted."""


class Compiled:
    """The result of compiling."""

    def __init__(self, builder: Builder, machine: Machine) -> None:
        self._builder = builder
        self._block = machine.block
        self.has_unsupported = machine.has_unsupported
        """True if an operation without support for values of the row has met one."""
        self.bails: list[Bail] = machine.bails
        """The places where rows go to Jinja2."""
        self.visited: list[tuple[int, str]] = list(machine.visited)
        """The nodes of the template's tree that were evaluated: line and type."""
        self.steps = machine.steps
        """The cost of compiling, in visits of nodes of the template's tree."""
        self.is_exhausted = machine.is_exhausted
        """True if compiling has reached the limit of its cost."""
        self.program: Program = builder.program(self._block)

    def check_columns(self, columns: list[int]) -> None:
        """Let rows bail if Python has no object for a value of these columns: then Jinja2's way reports the error."""
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
        """True if every row goes to Jinja2."""
        return bool(self.program.block) and any(statement[0] == "bail" for statement in self.program.block)


def compile_columns(reference: Reference, schema: pa.Schema | None, columns: tuple[str, ...], keys: Keys) -> Compiled:
    """Compile a template over a table's columns; without a schema, their types are unknown."""
    builder = Builder(columns)
    kinds = {name: UNKNOWN if schema is None else _kind_of(schema.field(name).type) for name in columns}
    names = {name: builder.column(number, kinds[name]) for number, name in enumerate(columns)}
    types_read = [] if schema is None else [schema.field(name).type for name in columns]
    has_cut_name = any("\0" in field.name for data_type in types_read for field in all_fields(data_type))
    refusal = "a field's name with a NUL character, at which Arrow's C interface cuts it" if has_cut_name else None
    compiled = compile_names(reference, builder, names, keys, refusal=refusal)
    # Python may have no object for nanoseconds, or for a time after the year 9999.
    doubtful = [number for number, data_type in enumerate(types_read) if holds(data_type, types.is_temporal)]
    if doubtful and not compiled.is_hopeless:
        compiled.check_columns(doubtful)
    return compiled


def outlook(reference: Reference, columns: tuple[str, ...]) -> Compiled:
    """Compile a template for columns of any types and lists of any lengths, to show where rows would go to Jinja2."""
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
    refusal: str | None = None,
) -> Compiled:
    """Compile a template that is rendered with `names`, of which some are values of the row.

    Without `keys`, the program must not depend on values of expressions; with `assumed_key`, all keys that aren't given
    have this value. `after` changes the text before it is written. `refusal` is the reason why no row can be compiled.
    """
    machine = Machine(builder, keys)
    machine.assumed_key = assumed_key
    BUDGET.start(steps=MAX_REAL_STEPS)
    with _LOCK:
        try:
            if "self" in names:
                refusal = "a variable `self`"
            if refusal is not None:
                raise BailError(refusal, 1)
            _evaluate(reference, machine, names, after)
        except NeedsKeyError as missing:
            missing.steps = machine.steps
            raise
        except BailError as bail:
            machine.bail(bail, machine.block)
        except Exception as error:
            # The error may come from within a condition, whose statements aren't those of the whole program.
            machine.block = []
            reason = _UNFINISHED.get(type(error), f"raises {type(error).__name__}")
            machine.bail(BailError(reason), machine.block)
    return Compiled(builder, machine)


def _evaluate(
    reference: Reference, machine: Machine, names: Mapping[str, Any], after: Callable[[Machine, Any], Any] | None
) -> None:
    engine = _guarded(reference.environment)
    if engine.autoescape:
        raise BailError("autoescape, which changes the text of values", 1)
    machine.environment = engine
    machine.context = new_context(engine, None, {}, vars=None, shared=False, globals=engine.globals)
    scope = Scope(machine, names)
    tree = reference.ast()
    # Most templates don't contain the word, and searching the tree takes long.
    scope.has_template_self = "self" in reference.source and "self" in find_undeclared(tree.body, ("self",))
    expressions = Evaluator(machine, scope)
    engine.promptpress_expressions = expressions
    frame = Frame(EvalContext(engine, None))
    frame.symbols.analyze_node(tree)
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
def _guarded(environment: Any) -> Any:
    """Return an environment like another one, whose filters and tests handle values of the row."""
    engine = tracing(environment)

    def part(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def get(value: Any, key: Any) -> Any:
            if is_opaque(value) or is_opaque(key):
                return getattr(engine.promptpress_expressions, name)(value, key)
            return real(value, key)

        return get

    engine.getitem, engine.getattr = part("item", engine.getitem), part("attribute", engine.getattr)
    for name, apply in (("filters", filters.apply_filter), ("tests", filters.apply_test)):
        functions = getattr(engine, name)
        setattr(engine, name, LazyWrappers(functions, functools.partial(_guard, engine, apply)))
    return engine


def _guard(engine: Any, symbolic: Callable[..., Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a filter or test so that it handles values of the row when Jinja's own code calls it, as `map` does."""
    skipped = 1 if getattr(function, "jinja_pass_arg", None) is not None else 0

    @functools.wraps(function)
    def guarded(*arguments: Any, **named: Any) -> Any:
        given = arguments[skipped:]
        if given and (any(map(is_opaque, given)) or any(map(is_opaque, named.values()))):
            return symbolic(engine.promptpress_expressions.machine, name, given[0], list(given[1:]), named)
        return function(*arguments, **named)

    return guarded


def _kind_of(data_type: pa.DataType) -> Kind:
    """Return the kind of an Arrow type's values as `to_pylist` converts them; any may be None."""
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return _kind_of(data_type.value_type)
    names = {"none"}
    if is_text(data_type):
        names.add("str")
    elif types.is_boolean(data_type):
        names.add("bool")
    elif types.is_integer(data_type):
        names.add("int")
    elif types.is_floating(data_type):
        names.add("float")
    elif any(check(data_type) for check in _LIST_TYPES):
        return Kind(frozenset({"list", "none"}), item=_kind_of(data_type.value_type))
    elif types.is_struct(data_type):
        fields = [data_type.field(number) for number in range(data_type.num_fields)]
        if len({field.name for field in fields}) != len(fields):
            return UNKNOWN
        return Kind(frozenset({"dict", "none"}), fields=tuple((field.name, _kind_of(field.type)) for field in fields))
    elif not types.is_null(data_type):
        names.add("other")
    return Kind(frozenset(names))


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

KeyValues = tuple[int, ...]
_TOO_MANY = f"programs are made for {MAX_PROGRAMS} combinations of lengths of lists, and its own is a further one"
_TOO_LONG = f"the template asks for more than {MAX_KEYS} lengths of lists"
_TOO_COSTLY = "compiling the template costs too much"
_RARE = "few rows have had lists of its lengths so far"
_REFUSED = "the program is nested too deep, or a text of the template's own making isn't Unicode"


def core_program(compiled: Compiled, parts: Parts | None = None) -> _core.JinjaProgram | None:
    """Make the core's form of a program; return None if every row would go to Jinja2.

    `parts` are those of the input that texts may lack: see the core's `JinjaProgram`.
    """
    if compiled.is_hopeless:
        return None
    program = compiled.program
    install_printable()
    try:
        return _core.JinjaProgram(
            list(program.columns), list(program.nodes), list(program.block), list(program.reasons), parts
        )
    except ValueError:  # nested deeper than the core allows, or a lone surrogate in a text
        return None


class TablePrograms:
    """The programs of a template for tables of one schema, made when rows need them.

    If `is_eager`, every combination has a program from its first row on, as if Jinja2 must render none.
    """

    def __init__(self, reference: Reference, schema: pa.Schema, *, is_eager: bool = False) -> None:
        self._reference = reference
        self._schema = schema
        self._is_eager = is_eager
        self._lock = threading.Lock()
        self._expressions: list[tuple[Any, ...]] = []
        self._compiled: dict[KeyValues, Compiled] = {}
        self._programs: list[_core.JinjaProgram | None] = []
        self._numbers: dict[KeyValues, int] = {}
        self._without: dict[str, int] = {}
        self._rows: dict[KeyValues, int] = {}
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
        """Return the reasons why Jinja2 may render rows of a program, by the numbers of its `bail` statements."""
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

    def _groups(self, table: pa.Table) -> tuple[pa.Array | None, list[KeyValues]]:
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

    def _number(self, keys: KeyValues, rows: int) -> int:
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

    def _without_program(self, keys: KeyValues, rows: int) -> str | None:
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
