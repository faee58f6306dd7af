"""The class of the dicts of a base file in a harness."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from promptpress_harness.python_subset.limits import VIEWS, Budget
from promptpress_harness.python_subset.values import Opaque, RefusedError, is_stream


class HarnessDict(dict[Any, Any]):
    """A dict that behaves as mmengine's `ConfigDict`, the class of the dicts of a base file.

    It copies dicts and lists that are put into it, `update` merges nested dicts, `pop` of a missing key returns None,
    and `values` and `items` return lists.

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
        """Return a value as this dict stores it: dicts in this class, lists and tuples copied."""
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
        return copy.deepcopy(self)

    def pop(self, key: Any, default: Any = None) -> Any:
        return super().pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key; for a missing key, store a copy of the default and return the default."""
        if key in self:
            return self[key]
        self[key] = default
        return default

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Merge at most one dict and the named values in, and merge nested dicts."""
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
        """Return a list of the values, which doesn't follow later changes."""
        return list(super().values())

    def items(self) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """Return a list of the keys and values, which doesn't follow later changes."""
        return list(super().items())


# The attributes of mmengine's class; a key with such a name can't be read as an attribute.
METHOD_NAMES = frozenset(dir(dict)) | {
    "build_lazy", "deepcopy", "freeze", "lazy", "merge", "scope", "to_dict", "unfreeze",
}  # fmt: skip


def as_base(budget: Budget, names: dict[str, object], refusal: RefusedError) -> HarnessDict:
    """Copy the names of a base file for a file that imports them.

    The harness reads the base again for each such file, so a change in one file has no effect in another, and two names
    of one list become two lists.

    Args:
        budget: The budget for the copy.
        names: The names of the base file.
        refusal: The refusal of iterators, which can't be copied.

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
