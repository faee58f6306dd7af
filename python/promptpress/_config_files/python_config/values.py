"""What a Python configuration holds besides plain data: names of imported things, and what can't be read."""

from __future__ import annotations

import ast
from typing import NoReturn

from promptpress._file_errors import ConfigError

_NOT_EXECUTED = (
    "the file is read as data, and this would have to be executed; load it in Python, and give its dicts to "
    "promptpress.Renderer.from_config"
)


class RefusedError(ConfigError):
    """Something in a Python configuration would have to be executed.

    `final` says that the file as a whole is refused. Otherwise the refusal stays with the one value, and counts when
    that value is needed: an evaluator made by a function call is no concern of the prompts.

    Example:
        >>> RefusedError("my.py", 3, "call of make()").final
        False
        >>> print(RefusedError("my.py", 3, "call of make()"))  # doctest: +ELLIPSIS
        my.py:3: call of make(): the file is read as data, and this would have to be executed; load it in Python, ...

    """

    def __init__(self, path: str, line: int, found: str, *, final: bool = False, broken: bool = False) -> None:
        tail = "" if broken else f": {_NOT_EXECUTED}"
        super().__init__(f"{path}:{line}: {found}{tail}")
        self.final = final


class Opaque:
    """A value that is carried about but can't be looked into.

    Args:
        refusal: the error for whoever needs the value.
        shared: whether the value may refer to data of the file, so that code that gets it may change them.
        inert: whether computing the value for its effects alone changes no other value.

    Every way of looking into it, at any depth (`==`, `str`, `sorted`, an f-string), raises: a configuration is never
    read differently from what its harness would read.

    Example:
        >>> str([Opaque(RefusedError("my.py", 3, "call of make()"))])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        promptpress._config_files.python_config.values.RefusedError: my.py:3: call of make(): ...

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

    def __str__(self) -> str:  # noqa: PLE0307 - neither this nor the next ones return
        self._refuse()

    def __repr__(self) -> str:
        self._refuse()

    def __format__(self, spec: str) -> str:
        self._refuse()

    def __eq__(self, other: object) -> bool:
        self._refuse()

    def __hash__(self) -> int:  # noqa: PLE0309
        self._refuse()

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._refuse()

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __iter__ = __len__ = __contains__ = __getitem__ = _refuse
    __int__ = __float__ = __index__ = __next__ = __reversed__ = __round__ = __abs__ = __neg__ = __pos__ = _refuse
    __add__ = __radd__ = __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse


class Symbol(Opaque):
    """Something that is known by its dotted name alone: an imported class, module or function, a builtin.

    Args:
        dotted: the dotted name.
        refusal: the error for whoever needs more than the name.
        local: the definition, of a function or class of the file itself.

    Example:
        >>> name = Symbol("json.loads", RefusedError("my.py", 1, "the value of json.loads"))
        >>> name.dotted
        'json.loads'

    """

    def __init__(self, dotted: str, refusal: RefusedError, *, local: ast.stmt | None = None) -> None:
        super().__init__(refusal, shared=False, inert=True)
        self.dotted = dotted
        self.local = local


def is_stream(value: object) -> bool:
    """Return true for an iterator or a text file: reading a value from it changes it.

    Args:
        value: the value.

    Returns:
        Whether it is one.

    Example:
        >>> is_stream(iter([])), is_stream([])
        (True, False)

    """
    return hasattr(type(value), "__next__") and not isinstance(value, Opaque)


def opaque_in(value: object, depth: int = 2) -> Opaque | None:
    """Find an opaque value inside another value.

    Args:
        value: the value.
        depth: how many containers to look into.

    Returns:
        The first opaque value, or None.

    Example:
        >>> opaque_in([1, ("a",)]) is None
        True

    """
    if isinstance(value, Opaque):
        return value
    if depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        parts = [*value, *dict.values(value)] if isinstance(value, dict) else value
        return next(filter(None, (opaque_in(part, depth - 1) for part in parts)), None)
    return None
