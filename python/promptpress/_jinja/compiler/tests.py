"""Jinja's tests on values of the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._jinja.compiler.calls import Evaluator
from promptpress._jinja.compiler.values import BailError, Closed, MarkedSafe, Sym, is_opaque

_COMPARISONS = {
    **dict.fromkeys(["eq", "==", "equalto"], "eq"),
    **dict.fromkeys(["ne", "!="], "ne"),
    **dict.fromkeys(["lt", "<", "lessthan"], "lt"),
    **dict.fromkeys(["le", "<="], "lteq"),
    **dict.fromkeys(["gt", ">", "greaterthan"], "gt"),
    **dict.fromkeys(["ge", ">="], "gteq"),
    "in": "in",
}
_KINDS = {
    "none": ("none",),
    "string": ("str",),
    "mapping": ("dict",),
    "sequence": ("str", "list", "dict"),
    "iterable": ("str", "list", "dict"),
    "boolean": ("bool",),
    "integer": ("int",),
    "float": ("float",),
    "number": ("bool", "int", "float"),
    "callable": (),
}


def apply(  # noqa: PLR0911 - a return for each kind of value
    expressions: Evaluator, name: str, value: Any, arguments: list[Any], named: dict[str, Any]
) -> Any:
    """Test a value."""
    machine = expressions.machine
    environment = expressions.environment
    if named:
        raise machine.unsupported("a test with named arguments")
    if not is_opaque(value) and not any(map(is_opaque, arguments)):
        if type(value).__name__ == "Namespace" and name == "defined":
            return True
        return machine.real(
            environment.call_test, name, value, arguments, {}, expressions.context, expressions.context.eval_ctx
        )
    if name in ("defined", "undefined") and not arguments:
        return name == "defined"
    if type(value) is Closed and name in _KINDS and not arguments:
        return value.kind in _KINDS[name]
    if name in _COMPARISONS and len(arguments) == 1:
        return expressions.compare(_COMPARISONS[name], value, arguments[0])
    if type(value) is MarkedSafe or type(value) is not Sym:
        raise machine.unsupported(f"the test `{name}` with a value of the row")
    if name in _KINDS and not arguments:
        return of_kind(expressions, value, *_KINDS[name])
    test, count = _TESTS.get(name, (None, 0))
    if test is None or len(arguments) != count:
        raise machine.unsupported(f"the test `{name}` of a value of the row")
    return test(expressions, value, *arguments)


def of_kind(expressions: Evaluator, value: Sym, *kinds: str) -> Any:
    """Test if a value of the row is of one of these kinds of `Kind`; rows whose value is of an unknown kind bail."""
    machine = expressions.machine
    if value.kind.only(*kinds):
        return True
    if value.kind.never(*kinds, "other"):
        return False
    kind = machine.operate("kind", value)
    if not value.kind.never("other") and kinds not in {("none",), ("str",)}:

        def end() -> Any:
            raise BailError("a value of a type that isn't compiled", machine.lineno)

        machine.branch(machine.condition(machine.operate("eq", kind, "other")), end, lambda: None)
    if len(kinds) == 1:
        return machine.operate("eq", kind, kinds[0])
    return machine.operate("contains", list(kinds), kind)


def _identity(constant: bool) -> Callable[..., Any]:
    return lambda expressions, value: expressions.machine.operate("is", value, constant)


def _sameas(expressions: Evaluator, value: Sym, other: Any) -> Any:
    if other is None or type(other) is bool:
        return expressions.machine.operate("is", value, other)
    raise expressions.machine.unsupported("`sameas` with a value of the row")


def _divisible(by: int | None, rest: int) -> Callable[..., Any]:
    def test(expressions: Evaluator, value: Sym, *arguments: Any) -> Any:
        machine = expressions.machine
        divisor = by if by is not None else arguments[0]
        if not value.kind.only("int", "bool", "float", "none"):
            raise machine.unsupported("a division of a value of the row that may be no number")
        return machine.operate("eq", machine.operate("mod", value, divisor), rest)

    return test


_TESTS: dict[str, tuple[Callable[..., Any], int]] = {
    "true": (_identity(True), 0),
    "false": (_identity(False), 0),
    "sameas": (_sameas, 1),
    "odd": (_divisible(2, 1), 0),
    "even": (_divisible(2, 0), 0),
    "divisibleby": (_divisible(None, 0), 1),
}
"""Other tests, each with the number of its arguments."""
