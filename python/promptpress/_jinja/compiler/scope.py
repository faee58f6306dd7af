"""The variables of a template. Jinja's own analysis tells which variable a name is; this module holds the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2.compiler import Frame
from jinja2.idtracking import VAR_LOAD_ALIAS, VAR_LOAD_RESOLVE, VAR_LOAD_UNDEFINED

from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.values import MISSING, Opaque


class Namespace(Opaque):
    """The object that `namespace()` returns. Its attributes are part of the state, because a fork may change them."""

    __slots__ = ()
    # It is part of keys of the state. Neither method reveals the attributes.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # type: ignore[assignment]


class Activation:
    """A call of a function of the compiled template: the whole template, or a macro."""

    __slots__ = ("outer",)

    def __init__(self, outer: Activation | None) -> None:
        self.outer = outer


class Scope:
    """The variables of a template; the given names take precedence over the environment's globals."""

    def __init__(self, machine: Machine, names: Mapping[str, Any], environment: Any) -> None:
        self.machine = machine
        self.names = names
        self.globals = environment.globals
        self.activation = Activation(None)
        self.has_template_self = False
        """True if Jinja defines the variable `self`, which is the template and isn't in any context."""

    def get(self, ident: str) -> Any:
        """Return the value of a variable; MISSING if it has none."""
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
        """Load variables as the compiled template does at the start of a frame."""
        for target, (action, param) in frame.symbols.loads.items():
            if action == VAR_LOAD_RESOLVE:
                self.set(target, self._resolved(param))
            elif action == VAR_LOAD_ALIAS:
                self.set(target, self.get(param))
            elif action == VAR_LOAD_UNDEFINED:
                self.set(target, MISSING)

    def leave(self, frame: Frame) -> None:
        """Clear variables as the compiled template does at the end of a frame."""
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
        """Set `namespace.name = value`."""
        if type(namespace) is not Namespace:
            raise self.machine.unsupported("an attribute of what is no namespace is set")
        if name.startswith("_"):
            raise self.machine.unsupported("a namespace's name begins with `_`")
        self.machine.state[namespace, name] = value

    def attribute(self, environment: Any, value: Any, name: str) -> Any:
        """Return `value.name` of a known value."""
        machine = self.machine
        if type(value) is not Namespace:
            return machine.real(environment.getattr, value, name)
        if name.startswith("_") or name in _NAMESPACE_ATTRIBUTES:
            raise machine.unsupported("an attribute that all namespaces have")
        stored = machine.state.get((value, name), MISSING)
        # Only errors would show which object lacks the attribute, and Jinja2 raises those.
        undefined = environment.undefined
        return machine.lift(lambda item: undefined(obj=value, name=name) if item is MISSING else item, stored)


_NAMESPACE_ATTRIBUTES = frozenset(dir(object))
