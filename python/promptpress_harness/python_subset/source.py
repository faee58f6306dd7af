"""The base class of the file readers: names in their scopes, refusals, and calls of Python's own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from promptpress_harness.python_subset.limits import Budget, TooMuchError, UnsettledError
from promptpress_harness.python_subset.values import Opaque, RefusedError, Symbol, is_stream, opaque_in

MISSING = object()
UNBOUND = object()
"""The value of a comprehension's loop variable before the loop sets it."""


class Scope:
    """The names of a module, a class body or a comprehension.

    Args:
        names: The values so far.
        outer: The enclosing scope; None for a module.
        declared: Loop variables of a comprehension, which hide outer names even before they have a value.
        kind: `"module"`, `"class"` or `"comprehension"`.

    >>> inner = Scope({}, Scope({"a": 1, "b": 2}), {"b"}, "comprehension")
    >>> inner.find("a"), inner.find("b") is UNBOUND
    (1, True)

    """

    def __init__(
        self, names: dict[str, object], outer: Scope | None = None, declared: Collection[str] = (), kind: str = "module"
    ) -> None:
        self.names = names
        # Code in a scope inside a class body can't see the names of the class.
        self.outer: Scope | None = outer.outer if outer is not None and outer.kind == "class" else outer
        self.declared = declared
        self.kind: str = kind

    def find(self, name: str) -> object:
        """Return the value of a name, `MISSING` or `UNBOUND`."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.declared:
                return UNBOUND
            scope = scope.outer
        return MISSING

    def binding(self) -> Scope:
        """Return the scope in which `:=` binds a name, which is never a comprehension's."""
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope


class Source:
    """A file that is being read; `path` is its name as the user gave it, and `budget` limits the cost."""

    def __init__(self, path: str, budget: Budget) -> None:
        self.path = path
        self.budget = budget
        self.names: dict[str, object] = {}
        self.scope = Scope(self.names)
        self.has_written = False
        # Generators that read from no other iterator and change nothing; one without a name may stay half read.
        self.without_effects: WeakSet[Any] = WeakSet()

    def refuse(self, node: ast.AST, problem: str, *, final: bool = False, broken: bool = False) -> RefusedError:
        """Make the refusal of the code at a node, to be raised or kept.

        Args:
            node: The code.
            problem: The code in words.
            final: True if the whole file is refused.
            broken: True if executing the code would fail too.

        """
        return RefusedError(self.path, getattr(node, "lineno", 1), problem, final=final or broken, broken=broken)

    def symbol(self, node: ast.AST, dotted: str, *, local: ast.stmt | None = None) -> Symbol:
        """Make the symbol of an imported or defined name; `local` is the definition of a function or class."""
        problem = f"{dotted!r}, which is {'defined as code here' if local else 'imported from other code'}"
        return Symbol(dotted, self.refuse(node, problem), local=local)

    @staticmethod
    def as_final(refusal: RefusedError) -> RefusedError:
        """Return the refusal of a value as the refusal of the whole file."""
        refusal.final = True
        return refusal

    def require_data(self, value: Any) -> Any:
        """Return a value, or refuse the file if the value is opaque."""
        if isinstance(value, Opaque):
            raise self.as_final(value.refusal)
        return value

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
            node: The code of the call.
            function: The function.
            args: Its arguments.
            kwargs: Its named arguments.
            changes: True if it changes its arguments.

        Returns:
            The result, or an opaque value if the function needs an opaque argument.

        Raises:
            RefusedError: If the function fails, exceeds a limit, or needs an opaque argument after it may have changed
                data.

        """
        kwargs = kwargs or {}
        try:
            return function(*args, **kwargs)
        except RefusedError as error:
            refusal = error
        except TooMuchError as error:
            raise self.refuse(node, f"{error}: more than a configuration may ask for", broken=True) from None
        except RecursionError:
            raise
        except UnsettledError as error:
            refusal = self.refuse(node, f"{source_text(node)}: {error}")
        except Exception as error:  # an error of Python's functions ends the file in the harness too
            arguments = [*args, *kwargs.values()]
            opaque = opaque_in(arguments)
            if opaque is None:
                problem = f"{source_text(node)} fails with {type(error).__name__}: {str(error) or 'failed'}"
                raise self.refuse(node, problem, broken=True) from None
            refusal = opaque.refusal
            # If the opaque value is inside an argument, the function may have failed for another reason.
            changes = changes or not any(opaque is argument for argument in arguments)
        streams = [argument for argument in (*args, *kwargs.values()) if is_stream(argument)]
        may_skip = len(streams) == _generators(node) and self.without_effects.issuperset(streams)
        if changes or refusal.final or not may_skip:
            raise self.as_final(refusal) from None
        return Opaque(refusal.with_traceback(None))


def _generators(node: ast.AST) -> int:
    """Count the generator expressions among the arguments of a call."""
    return sum(isinstance(arg, ast.GeneratorExp) for arg in node.args) if isinstance(node, ast.Call) else 0


def source_text(node: ast.AST) -> str:
    """Return code in one line, shortened for an error message.

    >>> source_text(ast.parse("f( x )", mode="eval"))
    'f(x)'

    """
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
