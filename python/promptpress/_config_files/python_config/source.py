"""One Python configuration: its names, and how what it says wrong, or can't say as data, is told."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .limits import Budget, TooMuchError
from .values import RefusedError, Symbol

# What plain data raises when a configuration misuses it; the harness would fail there too.
FAILURES = (
    ArithmeticError, AttributeError, IndexError, KeyError, TypeError, UnicodeError, ValueError, RuntimeError,
)  # fmt: skip


class Source:
    """A file that is being read.

    Args:
        path: the file, as the user knows it.
        budget: what reading it may cost.

    Example:
        >>> print(Source("my.py", Budget()).refuse(ast.parse("f()").body[0], "call of f()"))  # doctest: +ELLIPSIS
        my.py:1: call of f(): the file is read as data, and this would have to be executed; ...

    """

    def __init__(self, path: str, budget: Budget) -> None:
        self.path = path
        self.budget = budget
        self.names: dict[str, object] = {}
        self._scopes: list[dict[str, object]] = []  # of comprehensions, innermost last

    def refuse(self, node: ast.AST, found: str, *, final: bool = False, broken: bool = False) -> RefusedError:
        """Make the refusal of what stands at a node.

        Args:
            node: where.
            found: what was found there.
            final: whether the whole file is refused for it.
            broken: whether executing it would fail as well.

        Returns:
            The error, to be raised or kept.

        """
        return RefusedError(self.path, getattr(node, "lineno", 1), found, final=final or broken, broken=broken)

    def symbol(self, node: ast.AST, dotted: str, *, local: bool = False) -> Symbol:
        """Make the name of something that this file imports or defines.

        Args:
            node: where it is imported or defined.
            dotted: its dotted name.
            local: whether it is a function or a class of this file.

        Returns:
            The symbol.

        """
        found = f"{dotted!r}, which is " + ("defined as code here" if local else "imported from other code")
        return Symbol(dotted, self.refuse(node, found), local=local)

    @staticmethod
    def finally_(refusal: RefusedError) -> RefusedError:
        """Turn the refusal of a value into that of the file.

        Args:
            refusal: the refusal.

        Returns:
            The same, final.

        """
        refusal.final = True
        return refusal

    def guarded(self, node: ast.AST, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function on data and say where it failed.

        Args:
            node: what the call stands for.
            function: what to call.
            args: its arguments.
            kwargs: its named arguments.

        Returns:
            Its result.

        Raises:
            RefusedError: when it fails, or asks for too much.

        """
        try:
            return function(*args, **kwargs)
        except RefusedError:
            raise
        except TooMuchError as error:
            raise self.refuse(node, f"{error}: more than a configuration may ask for", broken=True) from None
        except RecursionError:
            raise
        except FAILURES as error:
            text = str(error) or "failed"
            found = f"{source_text(node)} fails with {type(error).__name__}: {text}"
            raise self.refuse(node, found, broken=True) from None


def source_text(node: ast.AST) -> str:
    """Quote source code in an error.

    Args:
        node: the code.

    Returns:
        It in one line, cut to a readable length.

    Example:
        >>> source_text(ast.parse("f( x )", mode="eval"))
        'f(x)'

    """
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
