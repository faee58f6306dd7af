"""Jinja's tests on values of the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from promptpress._jinja.partial.values import BailError, MarkedSafe, Sym, is_opaque

if TYPE_CHECKING:
    from promptpress._jinja.partial.expressions import Expressions

__all__ = ["apply"]

_COMPARISONS = {
    "eq": "eq",
    "==": "eq",
    "equalto": "eq",
    "ne": "ne",
    "!=": "ne",
    "lt": "lt",
    "<": "lt",
    "lessthan": "lt",
    "le": "lteq",
    "<=": "lteq",
    "gt": "gt",
    ">": "gt",
    "greaterthan": "gt",
    "ge": "gteq",
    ">=": "gteq",
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


def apply(expressions: Expressions, name: str, value: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Test a value.

    Args:
        expressions: What evaluates.
        name: The test's.
        value: What is tested.
        arguments: Of the test.
        named: Its keyword arguments.

    Returns:
        Whether it holds.

    """
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
    if name in _COMPARISONS and len(arguments) == 1:
        return expressions.compare(_COMPARISONS[name], value, arguments[0])
    if type(value) is MarkedSafe or type(value) is not Sym:
        raise machine.unsupported(f"the test `{name}` with a value of the row")
    if name in _KINDS and not arguments:
        return of_kind(expressions, value, *_KINDS[name])
    known, count = _KNOWN.get(name, (None, 0))
    if known is None or len(arguments) != count:
        raise machine.unsupported(f"the test `{name}` of a value of the row")
    return known(expressions, value, *arguments)


def of_kind(expressions: Expressions, value: Sym, *kinds: str) -> Any:
    """Whether a value of the row is of one of these kinds; of others than programs know nothing is said.

    Args:
        expressions: What evaluates.
        value: The value.
        kinds: As `Kind` names them.

    Returns:
        Whether it is.

    """
    machine = expressions.machine
    if value.kind.only(*kinds):
        return True
    if value.kind.never(*kinds, "other"):
        return False
    found = machine.operate("kind", value)
    if not value.kind.never("other") and kinds not in {("none",), ("str",)}:

        def end() -> Any:
            raise BailError("a value of a type that isn't compiled", machine.lineno)

        machine.branch(machine.condition(machine.operate("eq", found, "other")), end, lambda: None)
    return (
        machine.operate("contains", list(kinds), found) if len(kinds) != 1 else machine.operate("eq", found, kinds[0])
    )


def _identity(constant: bool) -> Callable[..., Any]:
    return lambda expressions, value: expressions.machine.operate("is", value, constant)


def _sameas(expressions: Expressions, value: Sym, other: Any) -> Any:
    if other is None or type(other) is bool:
        return expressions.machine.operate("is", value, other)
    raise expressions.machine.unsupported("`sameas` with a value of the row")


def _divisible(by: int | None, rest: int) -> Callable[..., Any]:
    def test(expressions: Expressions, value: Sym, *arguments: Any) -> Any:
        machine = expressions.machine
        divisor = by if by is not None else arguments[0]
        if not value.kind.only("int", "bool", "float", "none"):
            raise machine.unsupported("a division of a value of the row that may be no number")
        return machine.operate("eq", machine.operate("mod", value, divisor), rest)

    return test


# Each with the number of arguments that it takes.
_KNOWN: dict[str, tuple[Callable[..., Any], int]] = {
    "true": (_identity(True), 0),
    "false": (_identity(False), 0),
    "sameas": (_sameas, 1),
    "odd": (_divisible(2, 1), 0),
    "even": (_divisible(2, 0), 0),
    "divisibleby": (_divisible(None, 0), 1),
}
