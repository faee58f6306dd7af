"""What a Python configuration holds besides plain data: names of imported things, and what can't be read."""

from __future__ import annotations

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

    Every way of looking into it, at any depth (`==`, `str`, `sorted`, an f-string), raises: a configuration is never
    read differently from what its harness would read.

    Example:
        >>> str([Opaque(RefusedError("my.py", 3, "call of make()"))])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        promptpress._config_files.python_config.values.RefusedError: my.py:3: call of make(): ...

    """

    def __init__(self, refusal: RefusedError) -> None:
        self.refusal = refusal

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
    __int__ = __float__ = __index__ = _refuse
    __add__ = __radd__ = __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse


class Symbol(Opaque):
    """Something that is known by its dotted name alone: an imported class, module or function, a builtin.

    Example:
        >>> name = Symbol("json.loads", RefusedError("my.py", 1, "the value of json.loads"))
        >>> name.dotted
        'json.loads'

    """

    def __init__(self, dotted: str, refusal: RefusedError, *, local: bool = False) -> None:
        super().__init__(refusal)
        self.dotted = dotted
        self.local = local


class TextFile:
    r"""A text file next to the configuration, opened for reading.

    Example:
        >>> TextFile("a\nb").text
        'a\nb'

    """

    def __init__(self, text: str) -> None:
        self.text = text
