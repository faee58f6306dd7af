"""A property that is computed once, even if several threads read it at the same time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class shared_property(Generic[Value]):  # noqa: N801 - used like functools.cached_property
    """A `functools.cached_property` with a lock for each object and property: other threads wait for the value.

    >>> class Sample:
    ...     @shared_property
    ...     def text(self) -> str:
    ...         return "made once"
    >>> sample = Sample()
    >>> sample.text is sample.text
    True

    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> shared_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> shared_property[Value] | Value:
        if instance is None:
            return self
        attributes = instance.__dict__
        # An attribute of the instance hides this descriptor, so this runs until the value is there.
        with attributes.setdefault(f"_{self._name}_lock", Lock()):
            if self._name not in attributes:
                attributes[self._name] = self._compute(instance)
        value: Value = attributes[self._name]
        return value
