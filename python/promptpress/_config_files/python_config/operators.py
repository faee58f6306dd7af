"""Operators on data, their results' sizes checked before they are made."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .formats import format_percent
from .limits import SLOT_CHARS, Budget

OPERATORS: dict[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Not: lambda a, _: not a,
    ast.USub: lambda a, _: -a,
    ast.UAdd: lambda a, _: +a,
}


def operate(budget: Budget, kind: type[ast.AST], left: Any, right: Any) -> object:
    """Apply an operator.

    Args:
        budget: what the result is charged to.
        kind: the operator's node class, a key of `OPERATORS`.
        left: the left side, or the only one.
        right: the right side.

    Returns:
        The result.

    Raises:
        TooMuchError: when the result, or the walk to it, is too large.

    Example:
        >>> operate(Budget(), ast.Mult, "ab", 2)
        'abab'

    """
    if kind is ast.Mod and isinstance(left, str):
        return format_percent(budget, left, right)
    _weigh(budget, kind, left, right)
    return OPERATORS[kind](left, right)


def _weigh(budget: Budget, kind: type[ast.AST], left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if kind is ast.Mult:
            budget.bits(left.bit_length() + right.bit_length())
        elif kind is ast.Pow:
            budget.bits(left.bit_length() * max(right, 0))
    elif kind is ast.Mult:
        sequence, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(times, int) and isinstance(sequence, str):
            budget.text(len(sequence) * max(times, 0))
        elif isinstance(times, int) and isinstance(sequence, (list, tuple)):
            budget.items(SLOT_CHARS * len(sequence) * max(times, 0))
    elif kind is ast.Add and isinstance(left, str) and isinstance(right, str):
        budget.text(len(left) + len(right))
    else:
        budget.deep(left, right)
