"""What names stand for: Jinja's own analysis says which variable a name is, this holds the variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2.compiler import Frame
from jinja2.idtracking import VAR_LOAD_ALIAS, VAR_LOAD_RESOLVE, VAR_LOAD_UNDEFINED

from promptpress._jinja.partial.machine import Machine
from promptpress._jinja.partial.values import MISSING, Opaque

__all__ = ["Namespace", "Scope"]


class Namespace(Opaque):
    """What `namespace()` gives. Its attributes are part of the state, since a fork may change them."""

    __slots__ = ()
    # It is a key of the state; whoever else asks either is told nothing of its values.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # type: ignore[assignment]


class Activation:
    """A call of a function of the compiled template: the whole of it, or a macro."""

    __slots__ = ("outer",)

    def __init__(self, outer: Activation | None) -> None:
        self.outer = outer


class Scope:
    """The variables.

    Args:
        machine: Whose state they are in.
        names: What the template is rendered with; it goes before what the environment knows.
        environment: The engine's, for what names stand for that aren't given.

    """

    def __init__(self, machine: Machine, names: Mapping[str, Any], environment: Any) -> None:
        self.machine = machine
        self.names = names
        self.globals = environment.globals
        self.activation = Activation(None)
        self.is_self_own = False
        """Whether Jinja gives the template a `self`, which is the template: a variable that no context has."""

    def get(self, ident: str) -> Any:
        """The value of a variable; MISSING if it has none."""
        activation: Activation | None = self.activation
        state = self.machine.state
        while activation is not None:
            if (activation, ident) in state:
                return state[activation, ident]
            activation = activation.outer
        return MISSING

    def set(self, ident: str, value: Any) -> None:
        """Give a variable a value."""
        self.machine.state[self.activation, ident] = value

    def enter(self, frame: Frame) -> None:
        """What the compiled template does at the beginning of a frame."""
        for target, (action, param) in frame.symbols.loads.items():
            if action == VAR_LOAD_RESOLVE:
                self.set(target, self._resolved(param))
            elif action == VAR_LOAD_ALIAS:
                self.set(target, self.get(param))
            elif action == VAR_LOAD_UNDEFINED:
                self.set(target, MISSING)

    def leave(self, frame: Frame) -> None:
        """And at its end."""
        for target in frame.symbols.loads:
            self.set(target, MISSING)

    def _resolved(self, name: str) -> Any:
        return self.names[name] if name in self.names else self.globals.get(name, MISSING)

    # Namespaces

    def namespace(self, values: Mapping[str, Any]) -> Namespace:
        """Make a namespace."""
        made = Namespace()
        for name, value in values.items():
            self.set_attribute(made, name, value)
        return made

    def set_attribute(self, namespace: Any, name: str, value: Any) -> None:
        """`namespace.name = value`."""
        if type(namespace) is not Namespace:
            raise self.machine.unsupported("an attribute of what is no namespace is set")
        if name.startswith("_"):
            raise self.machine.unsupported("a namespace's name begins with `_`")
        self.machine.state[namespace, name] = value

    def attribute(self, environment: Any, value: Any, name: str) -> Any:
        """`value.name` of a value that is there."""
        machine = self.machine
        if type(value) is not Namespace:
            return machine.real(environment.getattr, value, name)
        if name.startswith("_") or name in _NAMESPACE_ATTRIBUTES:
            raise machine.unsupported("an attribute that all namespaces have")
        found = machine.state.get((value, name), MISSING)
        # As of an object without such an attribute: what it is of is told in errors alone, which are Jinja2's to tell.
        return machine.lift(lambda one: environment.undefined(obj=value, name=name) if one is MISSING else one, found)


_NAMESPACE_ATTRIBUTES = frozenset(dir(object))
