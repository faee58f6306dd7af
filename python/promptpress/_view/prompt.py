"""A prompt that is looked at: its text in pieces, each with its origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from promptpress.typing import Request

__all__ = ["ContentPart", "Piece", "Prompt", "PromptMessage"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that comes from one place.

    Args:
        text: What the model gets of it; empty where an answer was masked by nothing.
        source: As `Renderer.explain` names it: `prompt_template`, `ice_template`, `separator`, `field`, `masked`,
            `meta_template`, `meta_template.begin`, `role.begin`, ...; None where it isn't known.
        column: The column of a `field`, or of what is `masked`.
        example: The number of the example that it is part of, among those of its prompt.
        role: Who says it, as the template names the role.

    >>> Piece("1+1=?", "field", "question").masked
    False

    """

    text: str
    source: str | None = None
    column: str | None = None
    example: int | None = None
    role: str | None = None

    @property
    def masked(self) -> bool:
        """Whether it stands where the answer would stand, which generation hides."""
        return self.source == "masked"


@dataclass(frozen=True, slots=True)
class ContentPart:
    """One part of a message's content.

    Args:
        kind: Its `type`, such as `text` or `image_url`; empty where it has none.
        pieces: Its text, or its payload's address or data.
        fields: What it holds beside that and its type.

    >>> ContentPart("text", (Piece("a"), Piece("b"))).text
    'ab'

    """

    kind: str
    pieces: tuple[Piece, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The pieces, one after the other."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt.

    Args:
        role: Who says it, as the model gets it; None for a bare string among messages.
        pieces: Its text. Empty where its content is parts.
        parts: The parts of its content, where that isn't a text.
        fields: What it holds beside role and content, such as `name`.
        key: Under which its content stands, such as `prompt` or `content`; None for a bare string.

    >>> PromptMessage("user", (Piece("Hi "), Piece("Ada", "field", "name"))).text
    'Hi Ada'

    """

    role: str | None
    pieces: tuple[Piece, ...] = ()
    parts: tuple[ContentPart, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    key: str | None = None

    @property
    def text(self) -> str:
        """The pieces, one after the other; of parts, those of each."""
        return "".join(piece.text for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        """Go through its pieces, those of its parts too."""
        yield from self.pieces
        for part in self.parts:
            yield from part.pieces


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the model gets it.

    Args:
        sample: The number of its sample, from 0.
        request: The request itself: a text, or messages, as `promptpress.to_pylist` gives it.
        pieces: The pieces of a text; empty for messages.
        messages: The messages; None for a text.
        label: The label (ppl), as the label column has it.
        turn: The turn of a conversation.
        error: Why there is no request, where that is known.

    >>> prompt = Prompt(0, "Q: é", (Piece("Q: ", "prompt_template"), Piece("é", "field", "q")))
    >>> prompt.text, prompt.characters, prompt.bytes
    ('Q: é', 4, 5)

    """

    sample: int
    request: Request | None
    pieces: tuple[Piece, ...] = ()
    messages: tuple[PromptMessage, ...] | None = None
    label: Any = None
    turn: int | None = None
    error: str | None = None

    @property
    def text(self) -> str:
        """All that it says: its text, or those of its messages one after the other, without roles."""
        return "".join(piece.text for piece in self.all_pieces())

    @property
    def characters(self) -> int:
        """The characters of `text`."""
        return sum(len(piece.text) for piece in self.all_pieces())

    @property
    def bytes(self) -> int:
        """The bytes of `text` in UTF-8."""
        return sum(len(piece.text.encode()) for piece in self.all_pieces())

    @property
    def has_origins(self) -> bool:
        """Whether it is known of any piece where it comes from."""
        return any(piece.source is not None for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        """Go through its pieces, message by message."""
        yield from self.pieces
        for message in self.messages or ():
            yield from message.all_pieces()

    def texts(self) -> Iterator[tuple[int | None, int | None, tuple[Piece, ...]]]:
        """Go through its texts: the message's number, the part's, and the pieces; None and None for a bare text."""
        if self.messages is None:
            yield None, None, self.pieces
            return
        for number, message in enumerate(self.messages):
            if not message.parts:
                yield number, None, message.pieces
            for part_number, part in enumerate(message.parts):
                yield number, part_number, part.pieces
