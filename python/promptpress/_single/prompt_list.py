"""A prompt before the meta template: a list of strings and dicts, with operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, cast

from promptpress._single.faults import Faults
from promptpress._single.harness import loaded
from promptpress._single.text import copied, safe_format

L = TypeVar("L", bound="PromptList")


class PromptList(list[Any]):
    """The items of a prompt: strings, turns and section markers.

    Where the harness is loaded, its own list class is a base of what is made here: its retrievers, parsers and models
    ask `isinstance`. Both ways of asking are answered, whoever made the list.
    """

    documented = False
    """Whether a list in front can be added (`documented=True`)."""

    _faults: ClassVar[Faults]
    _harness: ClassVar[tuple[str, str]]
    """Module and name of the harness's own class."""
    _joint: ClassVar[type[Any] | None] = None
    """This class and the harness's in one, once both are there."""

    def __new__(cls: type[L], *args: Any, **kwargs: Any) -> L:  # noqa: ARG004 - `list` takes them in `__init__`
        return super().__new__(cls._made())

    def __init__(self, *args: Any, documented: bool = False) -> None:
        super().__init__(*args)
        if documented:
            self.documented = True

    @classmethod
    def _public(cls: type[L]) -> type[L]:
        """The class that has this one's name: itself, but for the joint ones."""
        return cls.__bases__[0] if "_is_joint" in vars(cls) else cls

    @classmethod
    def _made(cls: type[L]) -> type[L]:
        """The class that lists are made of."""
        theirs = loaded(*cls._harness)
        if theirs is None or "_faults" not in vars(cls):  # a subclass is what its author made it
            return cls
        if cls._joint is None or cls._joint.__bases__[1] is not theirs:
            body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
            cls._joint = type(cls.__name__, (cls, theirs), {**body, "_is_joint": True})
        return cast("type[L]", cls._joint)

    @classmethod
    def _is_one(cls, value: object) -> bool:
        """Whether a value is a prompt list, this package's or the harness's."""
        theirs = loaded(*cls._harness)
        return isinstance(value, cls) or (theirs is not None and isinstance(value, theirs))

    def _new(self, items: Any = ()) -> PromptList:
        """Another list of the same kind. A subclass gets no instances of its own here, as in the harnesses."""
        kind: type[PromptList] = next(one for one in type(self).__mro__ if "_faults" in vars(one))
        return kind(items, documented=self.documented)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._public(), (), vars(self) or None, iter(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def format(self, **kwargs: Any) -> PromptList:
        """Put fields into all texts: strings, and the `prompt` of turns.

        Args:
            kwargs: The fields.

        Returns:
            A new list; turns are copied.

        Example:
            >>> from promptpress.opencompass import PromptList
            >>> PromptList(["{q}", {"role": "HUMAN", "prompt": "{q}?"}]).format(q=1)
            ['1', {'role': 'HUMAN', 'prompt': '1?'}]
        """
        out = self._new()
        for item in self:
            if isinstance(item, dict):
                turn = copied(item)
                if "prompt" in item:
                    turn["prompt"] = safe_format(item["prompt"], **kwargs)
                out.append(turn)
            else:
                out.append(safe_format(item, **kwargs))
        return out

    def replace(self, src: str, dst: Any) -> PromptList:
        """Put something in for a token, in strings and in the `prompt` of turns.

        Args:
            src: The token.
            dst: A string; or a prompt list, whose items go between what stands before and after the token.

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
        is_list = self._is_one(dst)
        for item in self:
            if isinstance(item, str):
                if isinstance(dst, str):
                    out.append(item.replace(src, dst))
                elif is_list:
                    out.extend(_between(item.split(src), dst))
                # Anything else, raw messages above all, deletes the string.
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
        if self._is_one(other) or self.documented:
            return self._new([*other, *self])
        # In the harnesses `other + self` asks this method again, for ever.
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
        """A turn's prompt as `str()` of the list shows it."""
        return prompt  # type: ignore[no-any-return]  # what is no string fails where it is joined


def _between(pieces: list[str], items: list[Any]) -> Iterator[Any]:
    for n, piece in enumerate(pieces):
        if n:
            yield from items
        if piece:
            yield piece
