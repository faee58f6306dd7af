"""The model of one prompt for people: its text in pieces, each with its origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from promptpress.typing import Request

Speaker: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The role of a turn in a chat, whatever the model's family calls it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that has one origin.

    Args:
        text: The text as the model gets it. It is empty if an answer was masked by an empty text.
        source: The origin as `Renderer.explain` names it, such as `prompt_template`, `field`, `masked`,
            `filled_field` or `role.begin`, or as the spans of a template name it: `template`, `field`, `computed` or
            `jinja2`. None if the origin isn't known.
        column: The column of a field, or of a masked answer.
        example: The number of the in-context example, counted within the prompt.
        role: The role as the template names it.
        path: The path of the text in a column of conversations, such as `[0].content`. None for other columns.
        is_control: True if the piece is a control token of a model family; `chats.with_speakers` sets it.
        speaker: The role of the turn in a chat that the piece is part of; `chats.with_speakers` sets it.

    """

    text: str
    source: str | None = None
    column: str | None = None
    example: int | None = None
    role: str | None = None
    path: str | None = None
    is_control: bool = field(default=False, repr=False)
    speaker: Speaker | None = field(default=None, repr=False)

    @property
    def masked(self) -> bool:
        """True if the piece replaces the answer, which generation hides."""
        return self.source in ("masked", "filled_masked")


@dataclass(frozen=True, slots=True)
class ContentPart:
    """One part of a message's content.

    Args:
        kind: The part's `type`, such as `text` or `image_url`. It is empty if the part has none.
        pieces: The part's text, or its payload's address or data.
        fields: The other fields of the part.

    """

    kind: str
    pieces: tuple[Piece, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt.

    Args:
        role: The role as the model gets it. None for a bare string among messages.
        pieces: The message's text. It is empty if the content consists of parts.
        parts: The parts of the content, if it isn't a text.
        fields: The fields other than role and content, such as `name`.
        key: The key of the content, such as `prompt` or `content`. None for a bare string.

    """

    role: str | None
    pieces: tuple[Piece, ...] = ()
    parts: tuple[ContentPart, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    key: str | None = None

    @property
    def text(self) -> str:
        """The text of all pieces, parts included."""
        return "".join(piece.text for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        """Yield the message's pieces, parts included."""
        yield from self.pieces
        for part in self.parts:
            yield from part.pieces


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the model gets it.

    Args:
        sample: The number of the sample, from 0.
        request: The request itself, as `promptpress.to_pylist` returns it. None if there is no request.
        pieces: The pieces of a text. Messages have none.
        messages: The messages. None for a text.
        label: The label (ppl) as the label column has it.
        turn: The turn of a conversation.
        error: The reason why there is no request, if it is known.

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
        """The text of all pieces: of messages without their roles."""
        return "".join(piece.text for piece in self.all_pieces())

    @property
    def characters(self) -> int:
        """The number of characters of `text`."""
        return sum(len(piece.text) for piece in self.all_pieces())

    @property
    def bytes(self) -> int:
        """The number of bytes of `text` in UTF-8."""
        return sum(len(piece.text.encode()) for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        """Yield the prompt's pieces, message by message."""
        yield from self.pieces
        for message in self.messages or ():
            yield from message.all_pieces()

    def texts(self) -> Iterator[tuple[int | None, int | None, tuple[Piece, ...]]]:
        """Yield the pieces of each text after the numbers of its message and its part, which are None for a text."""
        if self.messages is None:
            yield None, None, self.pieces
            return
        for number, message in enumerate(self.messages):
            if not message.parts:
                yield number, None, message.pieces
            for part_number, part in enumerate(message.parts):
                yield number, part_number, part.pieces


def heading(prompt: Prompt, *, tokens: int | None = None, separator: str = " · ") -> str:
    """Return one line that identifies a prompt and says how large it is.

    >>> heading(Prompt(3, "é", ()), tokens=7)
    'row 3 · 0 bytes · 0 characters · 7 tokens'

    """
    entries = [f"row {prompt.sample}"]
    if prompt.label is not None:
        entries.append(f"label {prompt.label}")
    if prompt.turn is not None:
        entries.append(f"turn {prompt.turn}")
    if prompt.request is None:
        return separator.join([*entries, "no prompt" if prompt.error is None else f"no prompt: {prompt.error}"])
    if prompt.messages is not None:
        entries.append(_counted(len(prompt.messages), "message"))
    entries += [_counted(prompt.bytes, "byte"), _counted(prompt.characters, "character")]
    if tokens is not None:
        entries.append(_counted(tokens, "token"))
    return separator.join(entries)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
