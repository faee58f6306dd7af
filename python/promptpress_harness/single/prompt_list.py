"""The list of strings and dicts that a prompt is before the meta template, and the filling of its texts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar, cast

from promptpress.engine import core as _core

from promptpress_harness.registry import Faults, loaded

_ATOMS = frozenset({str, int, float, bool, type(None)})


def safe_format(input_str: str, **kwargs: Any) -> str:
    """Fill fields into a text: `{name}` becomes `str(value)`, one field after the other over the whole text.

    Braces that stand for no field stay. A later field also fills the text of an earlier one. The names of the arguments
    are the harnesses', so a field named `input_str` is a TypeError here too.

    Args:
        input_str: The text.
        kwargs: The fields.

    Returns:
        The text with the fields in it.

    Example:
        >>> safe_format("{q} {unknown} {{q}}", q="{a}", a=1)
        '1 {unknown} {1}'
    """
    if type(input_str) is str:
        filled = _core.fill(input_str, kwargs)
        if filled is not None:
            return filled
    # Any other object with a method `replace` is filled by it, as in the harnesses: a prompt list within a prompt list,
    # a subclass of str. So is a text that UTF-8 can't encode.
    for name, value in kwargs.items():
        input_str = input_str.replace("{" + name + "}", str(value))
    return input_str


def copied(item: Any) -> Any:
    """Return a deep copy, faster for a flat dict of plain values, which most turns are."""
    if type(item) is dict and all(type(value) in _ATOMS for value in item.values()):
        return item.copy()
    return copy.deepcopy(item)


def copied_roles(roles: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return a deep copy of the roles of a meta template."""
    if all(type(role) is dict and all(type(v) in _ATOMS for v in role.values()) for role in roles.values()):
        return {name: role.copy() for name, role in roles.items()}
    return copy.deepcopy(roles)


L = TypeVar("L", bound="PromptList")


class PromptList(list[Any]):
    """The items of a prompt: strings, turns and section markers.

    If the harness is loaded, lists are of a class that has the harness's list class as a base too, because the
    harness's retrievers, parsers and models ask `isinstance`.
    """

    documented = False
    """True if `list + PromptList` is their sum."""

    _faults: ClassVar[Faults]
    _harness: ClassVar[tuple[str, str]]
    """Module and name of the harness's own class."""
    _joint: ClassVar[type[Any] | None] = None
    """The class with this class and the harness's as bases, once the harness is loaded."""

    def __new__(cls: type[L], *args: Any, **kwargs: Any) -> L:  # noqa: ARG004 - `list` takes them in `__init__`
        return super().__new__(cls._instance_class())

    def __init__(self, *args: Any, documented: bool = False) -> None:
        super().__init__(*args)
        if documented:
            self.documented = True

    @classmethod
    def _public(cls: type[L]) -> type[L]:
        """Return the class that pickles name: the first base of a joint class, else the class itself."""
        return cls.__bases__[0] if "_is_joint" in vars(cls) else cls

    @classmethod
    def _instance_class(cls: type[L]) -> type[L]:
        """Return the class that new lists are of."""
        harness_class = loaded(*cls._harness)
        if harness_class is None or "_faults" not in vars(cls):  # a subclass stays as its author made it
            return cls
        if cls._joint is None or cls._joint.__bases__[1] is not harness_class:
            body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
            cls._joint = type(cls.__name__, (cls, harness_class), {**body, "_is_joint": True})
        return cast("type[L]", cls._joint)

    @classmethod
    def is_prompt_list(cls, value: object) -> bool:
        """Return true if a value is a prompt list, this package's or the harness's.

        Args:
            value: Any value.

        Returns:
            False for other lists.

        Example:
            >>> from promptpress.opencompass import PromptList
            >>> PromptList.is_prompt_list(["a"]), PromptList.is_prompt_list(PromptList(["a"]))
            (False, True)
        """
        harness_class = loaded(*cls._harness)
        return isinstance(value, cls) or (harness_class is not None and isinstance(value, harness_class))

    def _new(self, items: Any = ()) -> PromptList:
        """Return a new list; that of a subclass isn't of the subclass, as in the harnesses."""
        kind: type[PromptList] = next(base for base in type(self).__mro__ if "_faults" in vars(base))
        return kind(items, documented=self.documented)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._public(), (), vars(self) or None, iter(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def format(self, **kwargs: Any) -> PromptList:
        """Fill fields into all texts: strings, and the `prompt` of turns.

        Args:
            kwargs: The fields.

        Returns:
            A new list; turns are copied.

        Example:
            >>> from promptpress.opencompass import PromptList
            >>> PromptList(["{q}", {"role": "HUMAN", "prompt": "{q}?"}]).format(q=1)
            ['1', {'role': 'HUMAN', 'prompt': '1?'}]
        """
        return self._filled("prompt", lambda text: safe_format(text, **kwargs), kwargs)

    def _filled(self, key: str, fill: Callable[[Any], Any], fields: dict[str, Any]) -> PromptList:
        """Fill the values of a key of turns by a function, and fields into strings."""
        out = self._new()
        for item in self:
            if isinstance(item, dict):
                turn = copied(item)
                if key in item:
                    turn[key] = fill(item[key])
                out.append(turn)
            else:
                out.append(safe_format(item, **fields))
        return out

    def replace(self, src: str, dst: Any) -> PromptList:
        """Replace a token, in strings and in the `prompt` of turns.

        Args:
            src: The token.
            dst: A string; or a prompt list, whose items go between the texts before and after the token.

        Returns:
            A new list; turns are copied.

        Raises:
            TypeError: For a prompt list where the token is in a turn (AISBenchTypeError in AISBench).

        Example:
            >>> from promptpress.opencompass import PromptList
            >>> PromptList(["a</E>b"]).replace("</E>", PromptList([{"role": "BOT", "prompt": "x"}]))
            ['a', {'role': 'BOT', 'prompt': 'x'}, 'b']
        """
        out = self._new()
        is_list = self.is_prompt_list(dst)
        for item in self:
            if isinstance(item, str):
                if isinstance(dst, str):
                    out.append(item.replace(src, dst))
                elif is_list:
                    out.extend(_between(item.split(src), dst))
                # Anything else, such as raw messages, deletes the string.
            elif isinstance(item, dict):
                turn = copied(item)
                if "prompt" in item and src in item["prompt"]:
                    if is_list:
                        raise self._faults["list in turn"](
                            f"{src!r} stands in the prompt of a turn, which can't take a prompt list in"
                        )
                    turn["prompt"] = turn["prompt"].replace(src, dst)
                out.append(turn)
            else:
                out.append(item.replace(src, dst))
        return out

    def __add__(self, other: Any) -> PromptList:
        if not other:
            return self._new(self)
        if isinstance(other, str):
            return self._new([*self, other])
        return self._new(list.__add__(self, other))

    def __radd__(self, other: Any) -> PromptList:
        if not other:
            return self._new(self)
        if isinstance(other, str):
            return self._new([other, *self])
        if self.is_prompt_list(other) or self.documented:
            return self._new([*other, *self])
        # In the harnesses `other + self` calls this method again without end.
        raise RecursionError(f"{type(other).__name__} + PromptList has no end in the harness, but with documented=True")

    def __iadd__(self: L, other: Any) -> L:
        if not other:
            return self
        if isinstance(other, str):
            self.append(other)
        else:
            self.extend(other)
        return self

    def __str__(self) -> str:
        texts = []
        for item in self:
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, dict):
                if "prompt" in item:
                    texts.append(self._item_str(item["prompt"]))
            else:
                raise self._faults["item"](f"{type(item).__name__} is neither a string nor a turn, so it has no text")
        return "".join(texts)

    def _item_str(self, prompt: Any) -> str:
        """Return a turn's prompt as `str()` of the list shows it."""
        return prompt  # type: ignore[no-any-return]  # a value that is no string fails when it is joined


def _between(pieces: list[str], items: list[Any]) -> Iterator[Any]:
    for n, piece in enumerate(pieces):
        if n:
            yield from items
        if piece:
            yield piece
