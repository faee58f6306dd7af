"""The texts of two prompts that stand side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from promptpress_workbench.diff.alignment import aligned
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage


@dataclass(frozen=True)
class PairedText:
    """One text of a prompt, with its message and the number of its part if it has them."""

    pieces: tuple[Piece, ...]
    message: PromptMessage | None = None
    part: int | None = None

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def content(self) -> tuple[object, ...]:
        """The text, role and fields, without their origins."""
        message = self.message
        if message is None:
            return (self.text,)
        part = None if self.part is None else message.parts[self.part]
        part_fields = None if part is None else (part.kind, str(part.fields))
        return self.text, message.role, str(message.fields), part_fields


def text_pairs(a: Prompt, b: Prompt) -> Iterator[tuple[PairedText | None, PairedText | None]]:
    """Yield the texts of two prompts in pairs: of messages those that are aligned, of parts those of one number.

    None stands for a text that one side lacks. A text and messages aren't paired with each other: the text comes first.

    >>> pairs = text_pairs(Prompt(0, "a", (Piece("a"),)), Prompt(0, "b", (Piece("b"),)))
    >>> [(mine.text, yours.text) for mine, yours in pairs]
    [('a', 'b')]

    """
    if a.messages is None and b.messages is None:
        yield PairedText(a.pieces), PairedText(b.pieces)
        return
    if a.messages is None:
        yield PairedText(a.pieces), None
    if b.messages is None:
        yield None, PairedText(b.pieces)
    mine, yours = a.messages or (), b.messages or ()
    for number, other in aligned(mine, yours):
        sides = (None if number is None else mine[number], None if other is None else yours[other])
        yield from zip_longest(*(() if side is None else _texts(side) for side in sides))


def _texts(message: PromptMessage) -> Iterator[PairedText]:
    if not message.parts:
        yield PairedText(message.pieces, message)
    for number, part in enumerate(message.parts):
        yield PairedText(part.pieces, message, number)
