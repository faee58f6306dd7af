"""Operators on data, with checks of the size of a result before it is made."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from promptpress_harness.python_subset.formats import format_percent
from promptpress_harness.python_subset.harness_dict import HarnessDict
from promptpress_harness.python_subset.limits import SLOT_CHARS, Budget, UnsettledError, settled_identity, settled_order

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
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
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
    ast.Invert: lambda a, _: ~a,
}
_IN_PLACE: dict[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.BitOr: operator.ior,
    ast.BitAnd: operator.iand,
    ast.BitXor: operator.ixor,
}


def operate(budget: Budget, kind: type[ast.AST], left: Any, right: Any, in_place: bool = False) -> object:
    """Apply the operator of a node class (a key of `OPERATORS`); raise an UnsettledError if runs may differ."""
    if kind is ast.Mod and isinstance(left, str):
        return format_percent(budget, left, right)
    if kind is ast.Mod and isinstance(left, bytes):
        raise UnsettledError("the % format of bytes isn't read")
    if kind in (ast.Is, ast.IsNot):
        settled_identity(left, right)
    if kind in (ast.Add, ast.BitOr) and not (in_place and type(left) is dict):
        if not in_place and any(isinstance(side, HarnessDict) for side in (left, right)):
            raise UnsettledError("an operator of a base file's dict")
        if in_place and isinstance(left, (list, dict)):
            settled_order(right)
    _weigh(budget, kind, left, right)
    result = (_IN_PLACE if in_place and kind in _IN_PLACE else OPERATORS)[kind](left, right)
    if isinstance(result, float) and math.isnan(result):  # CPython may keep two constants as one object
        raise UnsettledError("the identity of a NaN depends on Python's version")
    return result


def _weigh(budget: Budget, kind: type[ast.AST], left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if kind is ast.Mult:
            budget.bits(left.bit_length() + right.bit_length())
        elif kind is ast.Pow:
            budget.bits(left.bit_length() * max(right, 0))
        elif kind is ast.LShift:
            budget.bits(left.bit_length() + max(right, 0))
    elif kind is ast.Mult:
        sequence, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(times, int) and isinstance(sequence, (str, bytes)):
            budget.text(len(sequence) * max(times, 0))
        elif isinstance(times, int) and isinstance(sequence, (list, tuple)):
            budget.items(SLOT_CHARS * len(sequence) * max(times, 0))
    elif kind is ast.Add and isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        budget.text(len(left) + len(right))
    else:
        budget.deep(left, right)
