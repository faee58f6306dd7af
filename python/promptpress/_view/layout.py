"""A prompt laid out for a terminal or a page of text: headings, roles, texts, origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from promptpress._view.heading import heading
from promptpress._view.lines import Fragment, Mark, fragments, trailing, wrapped
from promptpress._view.origins import described, kind_of, legend
from promptpress._view.prompt import Piece, Prompt, PromptMessage
from promptpress._view.visible import UNICODE, Glyphs, one_line

__all__ = ["Layout", "Line", "TextMark"]

Line = list[Fragment]

TextMark = tuple[int | None, int | None, Mark]
"""The numbers of a message and a part, None and None for a bare text, and a mark in that text."""

_EXCERPT = 60


@dataclass(frozen=True)
class Layout:
    """How prompts are laid out.

    Args:
        width: Cells of a line; None doesn't break lines.
        glyphs: What is drawn and shown for white space.
        whitespace: Whether white space is shown.
        show_masked: Whether the place of a hidden answer is shown, which isn't part of the prompt.

    >>> prompt = Prompt(0, "Q: x", (Piece("Q: ", "prompt_template"), Piece("x", "field", "q")))
    >>> ["".join(part.text for part in line) for line in Layout().prompt(prompt)]
    ['── row 0 · 4 bytes · 4 characters', 'Q: x']

    """

    width: int | None = None
    glyphs: Glyphs = UNICODE
    whitespace: bool = False
    show_masked: bool = False

    def prompt(self, prompt: Prompt, *, marks: Sequence[TextMark] = (), tokens: int | None = None) -> Iterator[Line]:
        """Lay a prompt out.

        Args:
            prompt: The prompt.
            marks: What is marked in it.
            tokens: How many tokens it has, where they were counted.

        Yields:
            Lines: a heading, then its text, or for each message its role and its text.

        """
        yield from self.said(f"{self.glyphs.line * 2} {heading(prompt, tokens=tokens, between=self._between)}", "head")
        if prompt.request is None:
            return
        for number, part, pieces in prompt.texts():
            own = [mark for message, at, mark in marks if (message, at) == (number, part)]
            if number is not None:
                yield from self.message_head((prompt.messages or ())[number], part)
            yield from self.text(pieces, own)

    @property
    def _between(self) -> str:
        return f" {self.glyphs.middle} "

    def message_head(self, message: PromptMessage, part: int | None = None) -> Iterator[Line]:
        """Lay out who says a message, and what kind a part of it is.

        Args:
            message: The message.
            part: The number of the part whose text follows; its first has the message's role above.

        """
        if not part:
            role = "(no role)" if message.role is None else message.role
            fields = "".join(f" {name}={value}" for name, value in message.fields)
            yield from self.said(f"[{role}]{fields}", "role")
        if part is not None:
            shown = message.parts[part]
            fields = "".join(f" {name}={value}" for name, value in shown.fields)
            yield from self.said(f"({shown.kind or 'part'}){fields}", "role")

    def text(self, pieces: Iterable[Piece], marks: Sequence[Mark] = ()) -> Iterator[Line]:
        """Lay a text out.

        Args:
            pieces: Its pieces.
            marks: What is marked in it.

        """
        own = list(pieces)
        every = [*marks, *trailing(own)] if self.whitespace else marks
        shown = fragments(
            own, whitespace=self.glyphs if self.whitespace else None, marks=every, show_masked=self.show_masked
        )
        yield from wrapped(shown, self.width)

    def said(self, text: str, kind: str) -> Iterator[Line]:
        """Lay out what is said about a prompt.

        Args:
            text: What is said; what can't be seen in it is shown.
            kind: The kind of the fragments.

        """
        yield from wrapped([Fragment(one_line(text), kind)], self.width)

    def origins(self, prompt: Prompt) -> Iterator[Line]:
        """List a prompt's pieces with where they come from, which says in words what colours say.

        Args:
            prompt: The prompt.

        Yields:
            A line a piece: the bytes, where it comes from, and its text, or how it begins.

        """
        for number, part, pieces in prompt.texts():
            at = 0
            if number is not None:
                yield from self.message_head((prompt.messages or ())[number], part)
            for piece in pieces:
                end = at + len(piece.text.encode("utf-8", "surrogatepass"))
                quoted = one_line(piece.text[: _EXCERPT + 1]).replace('"', '\\"')
                text = f'"{quoted[:_EXCERPT]}{self.glyphs.ellipsis if len(quoted) > _EXCERPT else ""}"'
                said = [Fragment(f"  {at}-{end}  ", "head"), Fragment(one_line(described(piece)), kind_of(piece))]
                yield from wrapped([*said, Fragment(f"  {text}", "text")], self.width)
                at = end

    def legend(self, prompts: Iterable[Prompt]) -> Iterator[Line]:
        """Say what colours mean.

        Args:
            prompts: Those that are shown.

        Yields:
            A line with the kinds that stand in them; none where no origin is known.

        """
        entries = legend(piece for prompt in prompts for piece in prompt.all_pieces())
        parts = []
        for kind, name in entries:
            parts += [Fragment("  ", "head"), Fragment(one_line(name), kind)]
        if parts:
            yield from wrapped(parts[1:], self.width)
