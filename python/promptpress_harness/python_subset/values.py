"""The values of a Python configuration that aren't plain data, its dicts, and limits on its steps, sizes and depths."""

from __future__ import annotations

import ast
import copy
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from promptpress import ConfigError

_NOT_EXECUTED = (
    "the file is read as data, and this would have to be executed; load it in Python, and give its dicts to "
    "promptpress.Renderer.from_config"
)


class RefusedError(ConfigError):
    """An error for code in a Python configuration that would have to be executed.

    If `final` is true, the whole file is refused. Otherwise the error belongs to one value, and is raised if that value
    is needed: prompts don't need an evaluator that is made by a function call.
    """

    def __init__(self, path: str, line: int, problem: str, *, final: bool = False, broken: bool = False) -> None:
        tail = "" if broken else f": {_NOT_EXECUTED}"
        super().__init__(f"{path}:{line}: {problem}{tail}")
        self.final = final


class Opaque:
    """A value that can be passed on but not read.

    Every operation that reads it, at any depth (`==`, `str`, `sorted`, an f-string), raises its refusal, so that a
    configuration is never read differently from its harness. If it is `shared`, it may refer to data of the file, so
    that code that gets it may change the data. If it is `inert`, computing it changes no other value.
    """

    def __init__(self, refusal: RefusedError, *, shared: bool = True, inert: bool = False) -> None:
        self.refusal = refusal
        self.shared = shared
        self.inert = inert

    def _refuse(self, *_: object) -> NoReturn:
        raise self.refusal

    def __copy__(self) -> Opaque:
        return self

    def __deepcopy__(self, memo: object) -> Opaque:
        return self

    __str__ = __repr__ = __format__ = __eq__ = __hash__ = __bool__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __iter__ = __len__ = __contains__ = __getitem__ = _refuse
    __int__ = __float__ = __index__ = __next__ = __reversed__ = __round__ = __abs__ = __neg__ = __pos__ = _refuse
    __add__ = __radd__ = __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse


class Symbol(Opaque):
    """An object that is known only by its dotted name: an imported class, module or function, or a builtin.

    `local` is the definition of a function or class of the file itself.
    """

    def __init__(self, dotted: str, refusal: RefusedError, *, local: ast.stmt | None = None) -> None:
        super().__init__(refusal, shared=False, inert=True)
        self.dotted = dotted
        self.local = local


def is_stream(value: object) -> bool:
    """Return true for an iterator or a text file, which change when a value is read from them."""
    return hasattr(type(value), "__next__") and not isinstance(value, Opaque)


def first_opaque(values: Iterable[object]) -> Opaque | None:
    """Return the first opaque value among values, or None."""
    return next((value for value in values if isinstance(value, Opaque)), None)


def opaque_in(value: object, depth: int = 2) -> Opaque | None:
    """Return the first opaque value in a value and in its containers down to a depth, or None."""
    if isinstance(value, Opaque):
        return value
    if depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        parts = [*value, *dict.values(value)] if isinstance(value, dict) else value
        return first_opaque(opaque_in(part, depth - 1) for part in parts)
    return None


MAX_STEPS = 1_000_000
MAX_ITEMS = 1 << 27
MAX_TEXT_CHARS = 1 << 24
MAX_BITS = 1 << 12
MAX_KEY_VALUES = 1 << 12
MAX_READ_VALUES = 1 << 20
MAX_NESTED_STREAMS = 100
VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
WALKED: tuple[Any, ...] = (list, tuple, set, frozenset, *VIEWS)
SLOT_CHARS = 16  # the cost of a slot of a list, in characters
_TEXTS = (type(None), bool, int, float, complex, str, bytes, type(...), range, Opaque)


class TooMuchError(Exception):
    """Raised if a file needs more than any configuration should."""


class Budget:
    """A counter of the cost of reading a file and its base files.

    Without it, `'x' * 10**12` or a list that doubles forty times would exhaust the memory.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._items = 0
        self._depths: dict[int, int] = {}

    def step(self) -> None:
        """Count one expression or statement."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooMuchError(f"more than {MAX_STEPS:,} steps")

    def items(self, count: int) -> None:
        """Count new data in characters; a slot of a list counts as `SLOT_CHARS` of them."""
        self._items += count
        if self._items > MAX_ITEMS:
            raise TooMuchError("too much data")

    def text(self, length: int) -> None:
        """Count a new string of at most this length, before it is made."""
        if length > MAX_TEXT_CHARS:
            raise TooMuchError(f"a string of {length} characters")
        self.items(length)

    def bits(self, count: int) -> None:
        """Check the largest possible size of an integer before it is made."""
        if count > MAX_BITS:
            raise TooMuchError(f"an integer of {count} bits")

    def keys(self, *values: object) -> None:
        """Check values that Python will hash: it walks a tuple twice that stands twice in another one."""
        for value in values:
            todo, seen = [value], 0
            while todo:
                part = todo.pop()
                if isinstance(part, (tuple, frozenset)):
                    seen += len(part) + 1
                    if seen > MAX_KEY_VALUES:
                        raise TooMuchError(f"a key of more than {MAX_KEY_VALUES:,} values")
                    todo.extend(part)

    def checked_keys(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield values, each checked as `keys` does."""
        for value in values:
            self.keys(value)
            yield value

    def nested(self, stream: object, args: Iterable[object]) -> None:
        """Count the nesting of an iterator in others, `args`: reading or freeing the outermost calls all."""
        depth = 1 + max((self._depths.get(id(arg), 0) for arg in args if is_stream(arg)), default=0)
        if depth > MAX_NESTED_STREAMS:
            raise TooMuchError(f"iterators of iterators, more than {MAX_NESTED_STREAMS} deep")
        # This replaces the depth of a freed iterator that had the same id.
        self._depths[id(stream)] = depth

    def whole(self, names: Mapping[str, object]) -> None:
        """Check the number of values in all names; a copy walks a value in each place where it occurs."""
        todo, seen = list(names.values()), 0
        while todo:
            value = todo.pop()
            if isinstance(value, (dict, list, tuple, set, frozenset)):
                seen += len(value) + 1
                if seen > MAX_READ_VALUES:
                    raise TooMuchError(f"more than {MAX_READ_VALUES:,} values, each counted wherever it stands")
                todo.extend(dict.values(value) if isinstance(value, dict) else value)

    def deep(self, *values: object) -> None:
        """Count everything inside values, before something walks all of it (`==`, `str`, `sorted`).

        A list that contains another list twice, forty levels deep, is small in memory and takes for ever to walk.
        """
        todo: list[Any] = list(values)
        while todo:
            value = todo.pop()
            if isinstance(value, str):
                self.items(len(value))
            elif isinstance(value, dict):
                self.items(SLOT_CHARS * (len(value) + 1))
                todo.extend(value)
                todo.extend(dict.values(value))
            elif isinstance(value, WALKED):
                self.items(SLOT_CHARS * (len(value) + 1))
                todo.extend(value)


class UnsettledError(Exception):
    """Raised for a result that may differ between runs, or that isn't computed here."""


def settled_order(*values: object) -> None:
    """Raise an UnsettledError for a set of two or more elements, whose order may differ."""
    for value in values:
        if isinstance(value, (set, frozenset)) and len(value) > 1:
            raise UnsettledError("the order of a set's elements isn't the same in every run")


def settled_extreme(values: object) -> None:
    """Raise an UnsettledError for a set that may have several sorted orders: any but of strings or of integers."""
    if isinstance(values, (set, frozenset)):
        alike = all(isinstance(v, str) for v in values) or all(isinstance(v, int) for v in values)
        if not alike:
            settled_order(values)


def settled_text(*values: object) -> None:
    """Raise an UnsettledError for values whose text may differ: sets of two or more elements, objects without a `repr`.

    The caller limits the walk with `Budget.deep`.
    """
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value)
            todo.extend(dict.values(value))
        elif isinstance(value, WALKED):
            settled_order(value)
            todo.extend(value)
        elif isinstance(value, slice):
            todo += [value.start, value.stop, value.step]
        elif not isinstance(value, _TEXTS):
            raise UnsettledError(f"the text of a {type(value).__name__} isn't the same in every run")


def settled_identity(left: object, right: object) -> None:
    """Raise an UnsettledError if `is` depends on whether Python keeps equal constants as one object."""
    sides = (left, right)
    if not any(side is None or isinstance(side, bool) or side is ... for side in sides) and all(
        isinstance(side, (*_TEXTS, tuple, frozenset)) for side in sides
    ):
        raise UnsettledError("the identity of constants depends on Python's version")


class HarnessDict(dict[Any, Any]):
    """A dict that behaves as mmengine's `ConfigDict`, the class of the dicts of a base file.

    It copies dicts and lists that are put into it, `update` merges nested dicts, `pop` of a missing key returns None,
    and `values` and `items` return lists.
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
