"""One Python configuration: its names, and how what it says wrong, or can't say as data, is told."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from .limits import Budget, TooMuchError
from .scopes import Scope
from .settled import UnsettledError
from .values import Opaque, RefusedError, Symbol, is_stream, opaque_in


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
        self.scope = Scope(self.names)
        self.has_written = False
        # Generators that read from no other iterator and change nothing: one that no name holds may stay half read.
        self.without_effects: WeakSet[Any] = WeakSet()

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

    def symbol(self, node: ast.AST, dotted: str, *, local: ast.stmt | None = None) -> Symbol:
        """Make the name of something that this file imports or defines.

        Args:
            node: where it is imported or defined.
            dotted: its dotted name.
            local: its definition, if it is a function or a class of this file.

        Returns:
            The symbol.

        """
        found = f"{dotted!r}, which is {'defined as code here' if local else 'imported from other code'}"
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

    def call(
        self,
        node: ast.AST,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        changes: bool = False,
    ) -> Any:
        """Call one of Python's own functions on data.

        Args:
            node: the code that the call stands for.
            function: the function.
            args: its arguments.
            kwargs: its named arguments.
            changes: whether it changes its arguments.

        Returns:
            Its result; an opaque value if it needs an opaque one.

        Raises:
            RefusedError: if it fails, or asks for too much, or needs an opaque value after it has begun to change data.

        """
        try:
            return function(*args, **(kwargs or {}))
        except RefusedError as error:
            refusal = error
        except TooMuchError as error:
            raise self.refuse(node, f"{error}: more than a configuration may ask for", broken=True) from None
        except RecursionError:
            raise
        except UnsettledError as error:
            refusal = self.refuse(node, f"{source_text(node)}: {error}")
        except Exception as error:  # whatever Python's functions raise ends the file in the harness too
            handed = [*args, *(kwargs or {}).values()]
            opaque = opaque_in(handed)
            if opaque is None:
                found = f"{source_text(node)} fails with {type(error).__name__}: {str(error) or 'failed'}"
                raise self.refuse(node, found, broken=True) from None
            refusal = opaque.refusal
            changes = changes or not any(
                opaque is argument for argument in handed
            )  # it may have failed for another cause
        streams = [a for a in (*args, *(kwargs or {}).values()) if is_stream(a)]
        if (
            changes
            or refusal.final
            or not (len(streams) == _generators(node) and self.without_effects.issuperset(streams))
        ):
            raise self.finally_(refusal) from None
        return Opaque(refusal.with_traceback(None))


def _generators(node: ast.AST) -> int:
    """Count the generator expressions that are arguments of a call."""
    return sum(isinstance(arg, ast.GeneratorExp) for arg in node.args) if isinstance(node, ast.Call) else 0


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
