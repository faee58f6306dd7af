"""A prompt laid out for a terminal or a page of text: heading, roles, texts, origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from promptpress_workbench.prompts.chats import shown_legend, with_speakers
from promptpress_workbench.prompts.escapes import UNICODE, Glyphs, one_line
from promptpress_workbench.prompts.lines import Fragment, Mark, TextMark, fragments, marks_of_text, trailing, wrapped
from promptpress_workbench.prompts.origins import described, kind_of
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage, heading

Line = list[Fragment]

_EXCERPT = 60


@dataclass(frozen=True)
class Layout:
    """Lays out prompts in lines.

    Args:
        width: Cells of a line. None breaks no lines.
        glyphs: Glyphs for rules and for white space.
        whitespace: True to show white space.
        show_masked: True to show where an answer is hidden, which isn't part of the prompt.

    """

    width: int | None = None
    glyphs: Glyphs = UNICODE
    whitespace: bool = False
    show_masked: bool = False

    def prompt(self, prompt: Prompt, *, marks: Sequence[TextMark] = (), tokens: int | None = None) -> Iterator[Line]:
        """Yield the lines of a prompt: a heading, then its text, or the role and the text of each message."""
        above = heading(prompt, tokens=tokens, separator=f" {self.glyphs.middle} ")
        yield from self.caption(f"{self.glyphs.line * 2} {above}", "head")
        if prompt.request is None:
            return
        for number, part, pieces in with_speakers(prompt).texts():
            if number is not None:
                yield from self.message_head((prompt.messages or ())[number], part)
            yield from self.text(pieces, marks_of_text(marks, number, part))

    def message_head(self, message: PromptMessage, part: int | None = None) -> Iterator[Line]:
        """Yield the role of a message and the kind of a part, by its number; only the first part has the role."""
        if not part:
            yield from self._head(f"[{'(no role)' if message.role is None else message.role}]", message.fields)
        if part is not None:
            content_part = message.parts[part]
            yield from self._head(f"({content_part.kind or 'part'})", content_part.fields)

    def _head(self, name: str, fields: Iterable[tuple[str, object]]) -> Iterator[Line]:
        return self.caption(name + "".join(f" {key}={value}" for key, value in fields), "role")

    def text(self, pieces: Iterable[Piece], marks: Sequence[Mark] = ()) -> Iterator[Line]:
        """Yield the lines of a text with its marks."""
        pieces = list(pieces)
        glyphs = self.glyphs if self.whitespace else None
        marks = [*marks, *trailing(pieces)] if self.whitespace else marks
        yield from wrapped(fragments(pieces, whitespace=glyphs, marks=marks, show_masked=self.show_masked), self.width)

    def caption(self, text: str, kind: str) -> Iterator[Line]:
        """Yield a text about a prompt, such as its heading, in fragments of one kind; hidden characters are escaped."""
        yield from wrapped([Fragment(one_line(text), kind)], self.width)

    def origins(self, prompt: Prompt) -> Iterator[Line]:
        """Yield a line for each piece: its bytes, its origin in words, and how its text begins."""
        for number, part, pieces in prompt.texts():
            start = 0
            if number is not None:
                yield from self.message_head((prompt.messages or ())[number], part)
            for piece in pieces:
                end = start + len(piece.text.encode("utf-8", "surrogatepass"))
                quoted = one_line(piece.text[: _EXCERPT + 1]).replace('"', '\\"')
                text = f'"{quoted[:_EXCERPT]}{self.glyphs.ellipsis if len(quoted) > _EXCERPT else ""}"'
                origin = Fragment(one_line(described(piece)), kind_of(piece))
                yield from wrapped(
                    [Fragment(f"  {start}-{end}  ", "head"), origin, Fragment(f"  {text}", "text")], self.width
                )
                start = end

    def legend(self, prompts: Iterable[Prompt]) -> Iterator[Line]:
        """Yield a line that explains the colours of some prompts; none if nothing is known."""
        parts = []
        for kind, name in shown_legend(map(with_speakers, prompts)):
            parts += [Fragment("  ", "head"), Fragment(one_line(name), kind)]
        if parts:
            yield from wrapped(parts[1:], self.width)
