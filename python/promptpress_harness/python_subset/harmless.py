"""Syntax checks for expressions that change nothing, and so may be skipped."""

from __future__ import annotations

import ast

_SYNTAX = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Dict, ast.Set,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.JoinedStr, ast.FormattedValue, ast.Call,
    ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_FUNCTIONS = {"len", "str", "repr", "int", "float", "bool", "range"}
_METHODS = {
    "endswith", "format", "get", "items", "keys", "lower", "lstrip", "replace", "rstrip", "split", "startswith",
    "strip", "title", "upper", "values",
}  # fmt: skip


def is_harmless(node: ast.AST) -> bool:
    """Return true if evaluating an expression changes no value and no name.

    Most calls, `:=`, and everything that may read from an iterator could.

    >>> is_harmless(ast.parse("a[0] + b.lower()", mode="eval").body)
    True
    >>> is_harmless(ast.parse("a.pop()", mode="eval").body)
    False

    """
    return all(isinstance(part, _SYNTAX) and _is_harmless_part(part) for part in ast.walk(node))


def _is_harmless_part(node: ast.AST) -> bool:
    if isinstance(node, (ast.In, ast.NotIn)):  # `in` reads from an iterator
        return False
    if not isinstance(node, ast.Call):
        return True
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _METHODS
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return name in _FUNCTIONS or (name == "dict" and not node.args)


def is_harmless_text(arguments: list[object]) -> bool:
    """Return true if `eval` with these arguments gets one text that is a harmless expression.

    >>> is_harmless_text(["A"]), is_harmless_text(["a.pop()"])
    (True, False)

    """
    if len(arguments) != 1 or not isinstance(arguments[0], str) or len(arguments[0]) > 1000:
        return False
    try:
        return is_harmless(ast.parse(arguments[0], mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def names_read_by(node: ast.AST) -> set[str] | None:
    """Return the names that a function or class reads when it runs; None if it may also bind names of the file.

    >>> names_read_by(ast.parse("def f(x): return y")) == {"y"}
    True

    """
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.Global) for part in parts):
        return None
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
