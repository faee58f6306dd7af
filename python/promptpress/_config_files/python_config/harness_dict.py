"""The dict class that a harness gives to the dicts of a base file."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from .limits import VIEWS, Budget
from .values import Opaque, RefusedError, is_stream


class HarnessDict(dict[Any, Any]):
    """A dict that behaves as mmengine's `ConfigDict` does.

    A file that builds on another gets the other's dicts in this class. It differs from `dict`: it copies the dicts and
    lists that are put into it, `update` merges dicts inside dicts, `pop` of a missing key gives None, and `values` and
    `items` are lists.

    Example:
        >>> base = HarnessDict(a={"b": 1})
        >>> base.update(a={"c": 2})
        >>> base
        {'a': {'b': 1, 'c': 2}}

    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for arg in args:
            for key, value in arg.items() if isinstance(arg, dict) else arg or ():
                self[key] = value
        for key, value in kwargs.items():
            self[key] = value

    @classmethod
    def converted(cls, value: Any) -> Any:
        """Return a value as the dict holds it.

        Args:
            value: what is put into the dict.

        Returns:
            Plain dicts in this class, lists and tuples anew; anything else as it is.

        """
        if type(value) in (dict, OrderedDict):
            return cls(value)
        if isinstance(value, (list, tuple)):
            return type(value)(cls.converted(item) for item in value)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, self.converted(value))

    def __copy__(self) -> HarnessDict:
        return type(self)(self)

    copy = __copy__

    def __deepcopy__(self, memo: dict[int, Any]) -> HarnessDict:
        other = type(self)()
        memo[id(self)] = other
        for key, value in super().items():
            other[copy.deepcopy(key, memo)] = copy.deepcopy(value, memo)
        return other

    def deepcopy(self) -> HarnessDict:
        """Copy the dict and all that it holds.

        Returns:
            The copy.

        """
        return copy.deepcopy(self)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove a key.

        Args:
            key: the key.
            default: what to return if the key is missing.

        Returns:
            The key's value, or the default.

        """
        return super().pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Put a value in if the key is missing.

        Args:
            key: the key.
            default: the value.

        Returns:
            The value of the key; the default itself, not the copy of it, if the key was missing.

        """
        if key in self:
            return self[key]
        self[key] = default
        return default

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Merge dicts in, and dicts inside them.

        Args:
            args: at most one dict.
            kwargs: more keys.

        """
        if len(args) > 1:
            raise TypeError("update only accept one positional argument")
        other = dict(dict.items(args[0])) if args else {}
        other.update(kwargs)
        for key, value in other.items():
            if key in self and isinstance(self[key], dict) and isinstance(value, dict):
                self[key].update(value)
            else:
                self[key] = value

    def __ior__(self, other: Any) -> HarnessDict:  # type: ignore[misc]
        self.update(other)
        return self

    def values(self) -> list[Any]:  # type: ignore[override]
        """Return the values.

        Returns:
            A list, which doesn't follow later changes.

        """
        return list(super().values())

    def items(self) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """Return the keys and values.

        Returns:
            A list, which doesn't follow later changes.

        """
        return list(super().items())


# Attributes of mmengine's class besides those of `dict`: a key of such a name isn't reached by an attribute.
METHOD_NAMES = frozenset(dir(dict)) | {
    "build_lazy", "deepcopy", "freeze", "lazy", "merge", "scope", "to_dict", "unfreeze",
}  # fmt: skip


def as_base(budget: Budget, names: dict[str, object], refusal: RefusedError) -> HarnessDict:
    """Copy the names of a base file for one file that builds on it.

    Each file reads its base anew in the harness, so a change in one file is seen nowhere else, and two names of one
    list are two lists.

    Args:
        budget: what the copy is charged to.
        names: the names of the base.
        refusal: what becomes of iterators, which can't be copied.

    Returns:
        The copies.

    Example:
        >>> as_base(Budget(), {"a": [{"b": 1}]}, RefusedError("my.py", 1, "an iterator"))
        {'a': [{'b': 1}]}

    """
    budget.deep(names)
    sets: dict[int, object] = {}

    def copied(value: Any) -> Any:
        if isinstance(value, dict):
            result = HarnessDict()
            for key, item in value.items():
                dict.__setitem__(result, key, copied(item))
            return result
        if isinstance(value, (list, tuple)):
            return type(value)(copied(item) for item in value)
        if isinstance(value, set):
            return sets.setdefault(id(value), set(value))
        if is_stream(value) or isinstance(value, VIEWS):
            return Opaque(refusal)
        return value

    result = copied(names)
    assert isinstance(result, HarnessDict)
    return result
