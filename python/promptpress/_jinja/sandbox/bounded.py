"""A sandboxed environment whose templates count what they do, and stop at limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import partial
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, optimizeconst
from jinja2.idtracking import VAR_LOAD_RESOLVE
from jinja2.lexer import TokenStream
from jinja2.optimizer import Optimizer
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpress._jinja.sandbox.bounds import (
    MAX_INT_BITS,
    SHORT,
    charge,
    charge_text,
    guard_call,
    guard_integer,
    printf_size,
    refuse,
    weigh,
)
from promptpress._jinja.sandbox.guarded_filters import guard_functions

if TYPE_CHECKING:
    from jinja2.compiler import Frame
    from jinja2.lexer import Token
    from jinja2.nodes import EvalContext
    from jinja2.runtime import Context

MAX_SOURCE = 1 << 20
MAX_TOKENS = 30_000

_PLAIN = frozenset({str, float, bool, type(None)})
_NUMBERS = frozenset({int, float, bool})
_ATOMS = frozenset({str, int, float, bool, complex, type(None)})
_SIGNED = frozenset({int, float, complex})
_TEXTS = (str, str)
_LARGEST_INDEX = 63
"""Bits of the largest count that Python doesn't refuse itself."""
_SAFE_BY_TYPE: dict[type, frozenset[str]] = {
    kind: frozenset(dir(kind)) - {"format", "format_map"} for kind in (str, list, dict, LoopContext)
}
"""Attributes of which the sandbox needs to know the owner's type alone."""

_COUNTED_BLOCKS = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)


OPERATOR_SYMBOLS: dict[type[nodes.Node], str] = {
    nodes.Add: "+",
    nodes.Sub: "-",
    nodes.Mul: "*",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Pow: "**",
    nodes.Mod: "%",
}


class _BoundedOptimizer(Optimizer):
    """Jinja2's optimizer, but without large constants, which the code would make again in each turn of a loop.

    Jinja2 visits the parts of an expression again for each expression around them, and so takes a third of the time
    that generating code takes. A part that was no constant is none the second time.
    """

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        attributes = vars(node)
        if "is_no_constant" in attributes:
            return node
        folded = super().generic_visit(node, *args, **kwargs)
        if folded is not node and isinstance(folded, nodes.Const) and type(folded.value) not in _ATOMS:
            folded = folded if weigh(folded.value) <= SHORT else node
        if folded is node:
            attributes["is_no_constant"] = True
        return folded


class _BoundedCode(CodeGenerator):
    """Jinja2's code generator, whose code calls the environment for operations that Python would run directly."""

    def __init__(self, environment: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(environment, *args, **kwargs)
        if self.optimizer is not None:
            self.optimizer = _BoundedOptimizer(environment)

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        environment: Any = self.environment
        names = {name for action, name in frame.symbols.loads.values() if action == VAR_LOAD_RESOLVE}
        environment.undeclared |= names - environment.globals.keys()

    def visit_If(self, node: nodes.If, frame: Frame) -> None:  # noqa: N802
        write = vars(node).get("write_code")
        super().visit_If(node, frame) if write is None else write(self, node, frame)

    def visit_MarkSafeIfAutoescape(self, node: nodes.MarkSafeIfAutoescape, frame: Frame) -> None:  # noqa: N802
        write = vars(node).get("write_code")
        super().visit_MarkSafeIfAutoescape(node, frame) if write is None else write(self, node, frame)

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        # What is known of each turn of a loop is asked for often.
        if isinstance(node.node, nodes.Name) and node.node.name == "loop" and vars(frame).get("is_key"):
            self.write(f"{frame.symbols.ref('loop')}.{node.attr}")
        else:
            super().visit_Getattr(node, frame)

    @optimizeconst
    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        # Jinja2 writes `(-2 ** n)`, and Python takes that for -(2 ** n).
        left, is_power = node.left, isinstance(node, nodes.Pow)
        is_negated = is_power and isinstance(left, nodes.Const) and _is_negative(left.value)
        self.write("(-" if is_negated else "(")
        self.write(f"environment.call_binop(context, {OPERATOR_SYMBOLS[type(node)]!r}, ")
        if is_negated:
            self.write(repr(left.as_const()).removeprefix("-"))
        else:
            self.visit(left, frame)
        self.write(", ")
        self.visit(node.right, frame)
        self.write("))")

    visit_Sub = visit_Mul = visit_Div = visit_FloorDiv = visit_Pow = visit_Mod = visit_Add  # noqa: N815

    @optimizeconst
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        join = "markup_join" if frame.eval_ctx.autoescape else "str_join"
        if frame.eval_ctx.volatile:
            # The same condition as in Jinja2's code.
            join = "markup_join if context.eval_ctx.volatile else str_join"
        self.write(f"environment.joined({join}, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        searched = [operand.expr for operand in node.ops if operand.op in _SEARCHES]
        compared = [operand.expr for operand in node.ops]
        if all(map(_is_scalar, searched)) and (_is_scalar(node.expr) or all(map(_is_scalar, compared))):
            super().visit_Compare(node, frame)
        else:
            _compare(self, node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if isinstance(node.arg, nodes.Slice):
            self.write("environment.measured(")
            super().visit_Getitem(node, frame)
            self.write(")")
        elif _is_scalar(node.arg):
            super().visit_Getitem(node, frame)
        else:
            _getitem(self, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self.write("{")
        for item in node.items:
            self.weighed(item.key, frame)
            self.write(": ")
            self.visit(item.value, frame)
            self.write(", ")
        self.write("}")

    def weighed(self, node: nodes.Expr, frame: Frame) -> None:
        """Write an expression whose value is going to be compared or hashed, with all its parts."""
        if _is_scalar(node):
            self.visit(node, frame)
        else:
            self.write("environment.weighed(")
            self.visit(node, frame)
            self.write(")")


def _is_scalar(node: nodes.Expr) -> bool:
    """Return true if a value is written in the template, so that comparing with it can't take long."""
    if isinstance(node, (nodes.List, nodes.Tuple)):
        return all(isinstance(item, nodes.Const) for item in node.items)
    return isinstance(node, (nodes.Const, nodes.TemplateData, nodes.Compare, nodes.Not))


def _is_negative(constant: Any) -> bool:
    return type(constant) in _SIGNED and repr(constant).startswith("-")


def has_negative_base(node: nodes.Pow, eval_ctx: EvalContext) -> bool:
    """Return true if Jinja2's code raises a positive number to the power and negates the result.

    Jinja2 writes the text of a constant into its code, and `-2 ** n` is `-(2 ** n)` in Python. If the exponent is
    constant too, Jinja2 computes the power from the values instead.
    """
    try:
        if not _is_negative(node.left.as_const(eval_ctx)):
            return False
    except nodes.Impossible:
        return False
    try:
        node.as_const(eval_ctx)
    except nodes.Impossible:
        return True
    return False


@optimizeconst
def _compare(code: _BoundedCode, node: nodes.Compare, frame: Frame) -> None:
    code.write("(")
    code.weighed(node.expr, frame)
    for operand in node.ops:
        code.write(f" {_OPERATORS[operand.op]} ")
        code.weighed(operand.expr, frame)
    code.write(")")


_SEARCHES = frozenset({"in", "notin"})
_OPERATORS = {
    "eq": "==", "ne": "!=", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<=", "in": "in", "notin": "not in",
}  # fmt: skip


@optimizeconst
def _getitem(code: _BoundedCode, node: nodes.Getitem, frame: Frame) -> None:
    code.write("environment.getitem(")
    code.visit(node.node, frame)
    code.write(", ")
    code.weighed(node.arg, frame)
    code.write(")")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandboxed environment whose templates raise `LimitExceededError` instead of running or growing without end.

    Within the limits, the results are Jinja2's. Call `BUDGET.start()` before running a template's code.
    """

    code_generator_class: type[CodeGenerator] = _BoundedCode

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, finalize=self.printable)
        self.undeclared: set[str] = set()
        """The names that generated code reads without assigning them, but for globals."""
        self._safe_attributes: set[tuple[type, str]] = set()
        """Attributes that the sandbox has found safe, by the type of their owner."""

    def guard(self) -> None:
        """Wrap the filters and tests; call this once, when all of them are set."""
        guard_functions(self)

    # Called by the generated code.

    charge = staticmethod(charge)

    @staticmethod
    def printable(value: Any) -> Any:
        kind = type(value)
        if kind not in _PLAIN and not (kind is int and -SHORT <= value <= SHORT):
            charge_text(weigh(value))
        return value

    @staticmethod
    def weighed(value: Any) -> Any:
        if type(value) is not str:
            charge(len(value) >> 2 if type(value) is range else weigh(value) >> 4)
        elif len(value) > SHORT:
            charge(len(value) >> 6)
        return value

    @staticmethod
    def measured(value: Any) -> Any:
        charge(len(value) >> 4 if isinstance(value, (str, list, tuple, bytes)) else 0)
        return value

    @staticmethod
    def joined(join: Callable[[Any], str], parts: tuple[Any, ...]) -> str:
        charge_text(sum(map(weigh, parts)))
        return join(parts)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        pieces = list(pieces)
        with suppress(TypeError):  # a filter block may return another value than a text; `join` raises for it
            charge_text(sum(map(len, pieces)))
        return "".join(pieces)

    def getattr(self, obj: Any, attribute: str) -> Any:
        key = type(obj), attribute
        if key in self._safe_attributes:
            return getattr(obj, attribute)
        if attribute in _SAFE_BY_TYPE.get(key[0], ()) and self.is_safe_attribute(obj, attribute, None):
            self._safe_attributes.add(key)
        return super().getattr(obj, attribute)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        if type(__obj) is BuiltinMethodType and type(__obj.__self__) is str:
            kwargs.pop("_loop_vars", None)
            kwargs.pop("_block_vars", None)
            return __obj(*guard_call(__obj, args, kwargs), **kwargs)
        args = guard_call(__obj, args, kwargs)
        return super().call(__context, __obj, *args, **kwargs)

    # Python's error messages contain the name.
    call.__module__, call.__qualname__ = "jinja2.sandbox", "SandboxedEnvironment.call"

    def call_binop(self, context: Context | None, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        kinds = type(left), type(right)
        if kinds == _TEXTS and operator == "+" and len(left) + len(right) < SHORT:
            return left + right
        if kinds == (int, int):
            _charge_integers(operator, left, right)
        elif operator in _GROWTH and not _NUMBERS.issuperset(kinds):
            _GROWTH[operator](left, right)
        return self.binop_table[operator](left, right)

    # Called while a template is compiled.

    def _parse(self, *args: Any) -> nodes.Template:
        tree = super()._parse(*args)
        for node in tree.find_all(nodes.BinExpr):
            if type(node) in OPERATOR_SYMBOLS:
                # Jinja2 evaluates constants by this method while it generates code, as the code itself would.
                vars(node)["as_const"] = partial(_constant, node)
        return tree

    def _tokenize(self, source: str, name: str | None, filename: str | None = None, state: str | None = None) -> Any:
        if len(source) > MAX_SOURCE:
            refuse(f"a source of {len(source):,} characters, and at most {MAX_SOURCE:,} are allowed")
        tokens: Any = super()._tokenize(source, name, filename, state)
        # Of two neighbouring tokens, at most one is empty.
        return tokens if 2 * len(source) <= MAX_TOKENS else TokenStream(_limited(tokens), name, filename)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        if self.code_generator_class is _BoundedCode:
            _insert_charges(source)
        return super()._generate(source, *args, **kwargs)

    def refusal(self, source: str, error: Exception) -> Exception:
        """Return the engine's error for a template that can't be compiled.

        It is the same error; for a SyntaxError of Python, it is one with the line number in Jinja2's unchanged code.
        """
        if isinstance(error, SyntaxError):
            plain = copy(self)
            plain.code_generator_class = CodeGenerator
            try:
                plain.compile(source)
            except SyntaxError as unchanged:
                return unchanged
        return error


def _constant(node: nodes.BinExpr, eval_ctx: EvalContext | None = None) -> Any:
    """Evaluate `BinExpr.as_const` within the limits: larger values are computed when the template runs."""
    eval_ctx = nodes.get_eval_context(node, eval_ctx)
    environment: Any = eval_ctx.environment
    try:
        left, right = node.left.as_const(eval_ctx), node.right.as_const(eval_ctx)
        return environment.call_binop(None, OPERATOR_SYMBOLS[type(node)], left, right)
    except Exception as error:
        raise nodes.Impossible from error


def _limited(tokens: Iterable[Token]) -> Iterator[Token]:
    for number, token in enumerate(tokens):
        if number > MAX_TOKENS:
            refuse(f"a source of more than {MAX_TOKENS:,} tokens")
        yield token


_COSTS: dict[type, int] = {nodes.Call: 10, nodes.Filter: 6, nodes.Test: 3, nodes.Macro: 10, nodes.CallBlock: 20}


def _insert_charges(node: nodes.Node) -> int:
    """Make each loop, macro and block of a tree count its turns; return the cost of the nodes outside of them."""
    cost = _COSTS.get(type(node), 1)
    for child in node.iter_child_nodes():
        cost += _insert_charges(child)
    if isinstance(node, nodes.Const):
        guard_integer(node.value)
    if not isinstance(node, _COUNTED_BLOCKS):
        return cost
    count = nodes.EnvironmentAttribute(f"charge({cost})", lineno=node.lineno)
    node.body.insert(0, nodes.ExprStmt(count, lineno=node.lineno))
    if isinstance(node, nodes.For) and node.test is not None:
        node.test = nodes.And(count, node.test, lineno=node.lineno)
    return 1


def _charge_integers(operator: str, left: int, right: int) -> None:
    bits, other = left.bit_length(), right.bit_length()
    if bits + other < 128 and operator != "**":
        return
    if operator == "**":
        bits *= right if right > 0 and bits > 1 else 1
    elif operator == "*":
        bits += other
    if bits > MAX_INT_BITS:
        refuse(f"a number of {bits:,} bits, and at most {MAX_INT_BITS:,} are allowed")
    charge(bits * other >> 16)


def _grow_by_sum(left: Any, right: Any) -> None:
    if isinstance(left, (str, bytes)):
        charge_text(len(left) + len(right) if isinstance(right, (str, bytes)) else len(left))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        charge((len(left) + len(right)) >> 2)


def _grow_by_product(left: Any, right: Any) -> None:
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(right, int) or right.bit_length() > _LARGEST_INDEX:
        return
    if isinstance(left, (str, bytes)):
        charge_text(len(left) * max(0, int(right)))
    elif isinstance(left, (list, tuple)):
        charge(len(left) * max(0, int(right)) >> 2)


def _grow_by_format(left: Any, right: Any) -> None:
    if isinstance(left, (str, bytes)):
        charge_text(printf_size(left, right))


def _charge_difference(left: Any, right: Any) -> None:
    charge((weigh(left) + weigh(right)) >> 4)


_GROWTH: dict[str, Callable[[Any, Any], None]] = {
    "+": _grow_by_sum,
    "-": _charge_difference,
    "*": _grow_by_product,
    "%": _grow_by_format,
}
