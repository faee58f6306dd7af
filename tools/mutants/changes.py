"""Small changes to source text: one operator, number, condition, statement or body at a time.

A text is read as Latin-1, one character a byte, so that the positions of `ast`, which count bytes, fit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_PAIRS = "< <=,> >=,== !=,+ -,and or,&& ||,true false,True False,is is not,in not in"
_SWAPPED = {a: b for pair in _PAIRS.split(",") for a, b in [pair.split(" ", 1)]}
_SWAPPED |= {b: a for a, b in _SWAPPED.items()}
_SIGN = re.compile(r"<=?|>=?|==|!=|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b|[+-]|\band\b|\bor\b")
_UNREAD = {"annotation", "returns", "decorator_list", "bases"}
# Docstrings and texts have no places; errors, f-strings and types are passed over with all that is in them.
_PASSED_OVER = re.compile(r"raise\b|assert\b|r?f[\"']|__(slots|all)__\b|if (TYPE_CHECKING|__name__)\b|Literal\[|cast\(")

_RUST_PASSED_OVER = re.compile(
    r"^#\[cfg\(test\)\]\n(?:pub\S* )?mod tests \{.*|"
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'|#!?\[[^\]]*\]'
    r"|^[\d, ]+$|\b(?:debug_)?assert\w*!\(.*?\);",
    re.DOTALL | re.MULTILINE,
)
_EARLY = {
    "bool": "false",
    "usize": "0",
    "Option<": "None",
    "Result<()": "Ok(())",
    "Vec<": "Vec::new()",
    "String": "String::new()",
}
# By name of the operator: the place is the last group.
_RUST = {
    "comparison": r" (<|<=|>|>=|==|!=)(?= )",
    "sum": r" ([+-])(?= [^A-Z'?])",
    "and, or": r" (&&|\|\|)(?= )",
    "condition": r"\bif ((?!let\b)(?!.*\blet\b)[^{}\n]+)(?= \{)",
    "number": r"(?<![\w.])(\d+)(?!\w|\.\d)",
    "not": r"(?<=[ (])(!)(?=[a-z(])",
    "flag": r"\b(true|false)\b",
    "early return": rf"\bfn [^{{;]*-> ({'|'.join(map(re.escape, _EARLY))})[^{{;]*\{{()$",
    "statement": r"^ +((?!return|break|continue|let |use |type |const )[\w.*\[\]]+(?:\([^\n]*\)| [-+|&]?= [^\n]*);)$",
}


class Change(NamedTuple):
    """One change: what stands between two positions is replaced."""

    operator: str
    start: int
    end: int
    replacement: str

    def of(self, text: str) -> str:
        """The text with the change."""
        return text[: self.start] + self.replacement + text[self.end :]


def rust_changes(text: str) -> Iterator[Change]:
    """Yield the changes that Rust source can take; some of them don't compile."""
    code = _RUST_PASSED_OVER.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for operator, pattern in _RUST.items():
        for match in re.finditer(pattern, code, re.MULTILINE):
            start, end = match.span(match.lastindex or 0)
            replaced = text[start:end]
            if operator == "condition":
                yield Change(operator, start, end, f"!({replaced})")
            elif operator == "number":
                yield Change(operator, start, end, str(int(replaced) + 1))
            elif operator == "early return":
                yield Change(operator, start, end, f" return {_EARLY[match[1]]};")
            elif operator != "statement" or replaced.count("(") == replaced.count(")"):
                yield Change(operator, start, end, _SWAPPED.get(replaced, ""))


def python_changes(text: str) -> Iterator[Change]:
    """Yield the changes that Python source can take."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(node: ast.AST) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(operator: str, left: ast.AST, right: ast.AST) -> Iterator[Change]:
        sign = _SIGN.search(text, span(left)[1], span(right)[0])
        if sign and (swapped := _SWAPPED.get(" ".join(sign[0].split()))):
            yield Change(operator, *sign.span(), swapped)

    def changes(node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Compare):
            yield from between("comparison", node.left, node.comparators[0])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and not _is_of_text(node):
            yield from between("sum", node.left, node.right)
        elif isinstance(node, ast.BoolOp):
            yield from between("and, or", node.values[0], node.values[1])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operand = span(node.operand)
            yield Change("not", *span(node), f"({text[slice(*operand)]})")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield Change("flag", *span(node), str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield Change("number", *span(node), str(node.value + 1))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[ast.get_docstring(node) is not None :]
            if (
                body
                and not isinstance(body[0], (ast.Raise, ast.Pass, ast.FunctionDef))
                and "..." not in text[slice(*span(body[0]))]
            ):
                start, _ = span(body[0])
                yield Change("early return", start, start, f"return None\n{' ' * body[0].col_offset}")
        elif _is_statement(node):
            yield Change("statement", *span(node), "pass")
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            test = span(node.test)
            yield Change("condition", *test, f"not ({text[slice(*test)]})")

    def walk(node: ast.AST) -> Iterator[Change]:
        yield from changes(node)
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                is_code = field not in _UNREAD and isinstance(child, ast.AST)
                if is_code and not (hasattr(child, "lineno") and _PASSED_OVER.match(text, span(child)[0])):
                    yield from walk(child)

    return walk(ast.parse(text.encode("latin-1")))


def _is_of_text(node: ast.BinOp) -> bool:
    """Return true if text in quotes is added, since nothing but text can be added to it."""
    sides = [side.value if isinstance(side, ast.Constant) else side for side in (node.left, node.right)]
    return any(isinstance(side, (str, bytes, ast.JoinedStr)) for side in sides)


def _is_statement(node: ast.AST) -> bool:
    """Return true for a statement whose names aren't missed when it is dropped."""
    if isinstance(node, ast.Assign):
        return not isinstance(node.targets[0], (ast.Name, ast.Tuple))
    return isinstance(node, (ast.AugAssign, ast.Delete)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )
