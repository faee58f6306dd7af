"""One conversation that grows turn by turn, with the token ids of what is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from typing import Any

from promptpress._core import RenderError
from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import TableRenderer, engine_of
from promptpress._errors.errors import render_error
from promptpress._jinja.run import excerpt
from promptpress._tokens.encoder import Encoder

_EXCERPT = 40
"""The characters at the end of a text that an error shows."""


@dataclass(frozen=True, eq=False)
class Talk:
    """A conversation with its text and token ids, which `ChatTemplate.begin` and `extend` make; it never changes.

    `messages` are the messages, `text` is what the template makes of them, and `has_generation_prompt` is true if it
    ends where the assistant is to speak. `kept` is how many of the shorter talk's ids are the first ones of this one's:
    all of them, unless `extend` was allowed to rewrite them.
    """

    chat: TableRenderer[ChatEngine]
    encoder: Encoder
    columns: Mapping[str, Any]
    has_generation_prompt: bool
    messages: tuple[Any, ...] = ()
    text: str = ""
    kept: int = 0
    all_ids: tuple[int, ...] = ()
    cut: tuple[int, int, int] = (0, 0, 0)
    """The last token at which the text is surely cut: where it begins and ends, and the number of ids before it."""

    @property
    def ids(self) -> list[int]:
        """All token ids: those that `ChatTemplate.tokenize` gives for the whole conversation."""
        return list(self.all_ids)

    @property
    def new_ids(self) -> list[int]:
        """The ids after the `kept` ones of the shorter talk; all of them if there was none."""
        return list(self.all_ids[self.kept :])

    def extend(
        self, messages: Iterable[Any], *, add_generation_prompt: bool | None = None, allow_rewrite: bool = False
    ) -> Talk:
        """Return the talk with further messages, of which only the end of the text is encoded.

        Args:
            messages: The messages that follow, such as the model's answer, results of tools and the next question.
            add_generation_prompt: Whether the text ends where the assistant is to speak; None: as in this talk.
            allow_rewrite: Whether ids of this talk may change, as where a template leaves out the reasoning of earlier
                turns. `kept` of the result says how many stay: a cache has to drop what is after them.

        Returns:
            A new talk, whose `new_ids` follow the first `kept` ones of this talk's ids.

        Raises:
            RenderError: If ids of this talk change (`history_rewritten`), unless that is allowed. If the conversation
                can't be rendered, as `ChatTemplate.render`.
        """
        has_prompt = self.has_generation_prompt if add_generation_prompt is None else bool(add_generation_prompt)
        given = engine_of(self.chat)
        engine = given if bool(given.chat_settings.add_generation_prompt) is has_prompt else given.with_other_end
        whole = (*self.messages, *messages)
        row = {**self.columns, engine.column: list(whole)}
        text = str(engine.render([row], RenderOptions()).column(0)[0])
        given.take_counts(engine)
        start, end, before = self.cut if text.startswith(self.text[: self.cut[1]]) else (0, 0, 0)
        # Any text is cut at the last such token: see `pieces.py`.
        last, anchor = max(((text.rfind(token, end), token) for token in self.encoder.anchors), default=(-1, ""))
        head = [] if last < 0 else self._encoded(text[start:last])
        tail = self._encoded(text[max(last, start) :])
        cut = (start, end, before) if last < 0 else (last, last + len(anchor), before + len(head))
        ids = (*self.all_ids[:before], *head, *tail)
        kept = before + sum(takewhile(bool, map(eq, self.all_ids[before:], ids[before:])))
        if kept < len(self.all_ids) and not allow_rewrite:
            raise self._rewritten(text, kept)
        return replace(
            self, has_generation_prompt=has_prompt, messages=whole, text=text, kept=kept, all_ids=ids, cut=cut
        )

    def _encoded(self, text: str) -> list[int]:
        (ids,) = self.encoder.ids([text], special=False)
        if isinstance(ids, RenderError):
            raise ids
        return ids

    def _rewritten(self, text: str, kept: int) -> RenderError:
        """Make the error for a longer text whose ids don't begin with this talk's."""
        if text.startswith(self.text):
            what = f"a token reaches over the end of {excerpt(self.text[-_EXCERPT:])}"
        else:
            what = f"{excerpt(self.text, text)} becomes {excerpt(text, self.text)}"
        numbers = f"from number {kept:,} of {len(self.all_ids):,} on"
        message = f"the longer conversation changes the talk's ids {numbers}: {what}; allow_rewrite=True gives the talk"
        return render_error("history_rewritten", message, column=engine_of(self.chat).column)

    def __repr__(self) -> str:
        return f"<Talk of {len(self.messages)} messages and {len(self.all_ids)} tokens>"
