"""The turns of conversations that have rows, and what is rendered of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from promptpress._jinja.chat.conversations import REASONING, json_texts
from promptpress._tokens.masks import ASSISTANTS, Span, is_trained
from promptpress._tokens.trained import Messages

if TYPE_CHECKING:
    # They need Jinja2.
    from promptpress._jinja.chat.beginnings import Beginning
    from promptpress._jinja.run import JinjaRun

_LAST_SPANS = 8
"""The spans at the end of a text that are read first to find those of the last message."""


def numbered_turns(messages: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the numbers of an assistant's turns, keyed by those of the messages; untrained messages are left out.

    >>> numbered_turns([{"role": "assistant", "weight": 0}, {"role": "user"}, {"role": "assistant"}])
    {2: 1}
    """
    spoken = [number for number, message in enumerate(messages) if message.get("role") in ASSISTANTS]
    return {number: turn for turn, number in enumerate(spoken) if is_trained(messages[number])}


def _shape(value: Any) -> Any:
    """Return what is equal for messages that templates mostly treat alike."""
    if isinstance(value, Mapping):
        return tuple((key, item if key == "role" else _shape(item)) for key, item in value.items())
    return tuple(map(_shape, value)) if isinstance(value, list) else type(value)


class Talk:
    """A conversation with the numbers of the messages that have a row, and the JSON of its messages as written."""

    def __init__(self, row: int, messages: Messages | None, written: Messages) -> None:
        self.row = row
        self.messages = messages or []
        self.is_read = messages is not None
        self.turns = numbered_turns(self.messages)
        self.has_reasoning = any(self.messages[number].get(key) for number in self.turns for key in REASONING)
        self._written = written
        (whole,) = json_texts([written]) or [None]
        is_plain = whole is not None and whole.startswith("[")
        self._items = [json.dumps(message) for message in json.loads(whole or "")] if is_plain else None
        self.bytes = len(whole or "") * (1 + len(self.turns))

    @cached_property
    def shapes(self) -> list[int]:
        """Numbers for the shapes of the first messages, and of one more each."""
        return list(accumulate((hash(_shape(message)) for message in self.messages), lambda *pair: hash(pair)))

    def json(self, count: int) -> str | None:
        """Return the first messages as JSON."""
        if self._items is not None:
            return f"[{', '.join(self._items[:count])}]"
        return (json_texts([self._written[:count]]) or [None])[0]


class TurnRequest(NamedTuple):
    """A turn of a conversation: the conversation, and the number of the assistant's message."""

    talk: Talk
    number: int

    @property
    def turn(self) -> int:
        """The number of the turn."""
        return self.talk.turns[self.number]

    @property
    def begun(self) -> Messages:
        """The conversation up to the turn, with it."""
        return self.talk.messages[: self.number + 1]


class RenderedTurns(NamedTuple):
    """The texts of requests, their spans if they were rendered with spans, and errors by the requests' numbers."""

    texts: list[str | None]
    spans: list[Any]
    errors: dict[int, str]
    counts: JinjaRun

    def all_spans(self, row: int) -> list[dict[str, Any]]:
        """Return the spans of a text."""
        spans = self.spans[row]
        return [] if spans is None or not spans.is_valid else list(spans.as_py())

    def last_spans(self, row: int, number: int) -> list[dict[str, Any]]:
        """Return the spans at the end of a text that begin after those of all messages but one."""
        of_row: Beginning | pa.Scalar = self.spans[row]
        if not isinstance(of_row, pa.Scalar):
            return of_row.last_spans(number)
        spans = of_row.values
        count = _LAST_SPANS
        while spans is not None:
            last: list[dict[str, Any]] = spans.slice(max(0, len(spans) - count)).to_pylist()
            others = [index for index, span in enumerate(last) if span["message"] not in (None, number)]
            if others or count >= len(spans):
                return last[others[-1] + 1 :] if others else last
            count *= 4
        return []


class TurnRow(NamedTuple):
    """A row of the output, by the number of its turn; its text is None if there is an error."""

    turn: int | None
    text: str | None
    trained: list[Span]
    spans: list[dict[str, Any]] | None = None
    error: str | None = None

    def after_prompt(self, prompt: bytes, begin: int, prompt_spans: Sequence[Mapping[str, Any]]) -> TurnRow:
        """Return the row with a prompt in the place of what its text has before a byte, which isn't trained."""
        moved, text = len(prompt) - begin, (self.text or "").encode()
        trained = [(start + moved, end + moved) for start, end in clipped(self.trained, begin)]
        spans = self.spans
        if spans is not None:
            of_turn = [
                {**span, "start": max(span["start"], begin) + moved, "end": span["end"] + moved}
                for span in spans
                if span["end"] > begin
            ]
            spans = [*map(dict, prompt_spans), *of_turn]
        return self._replace(text=(prompt + text[begin:]).decode(), trained=trained, spans=spans)


def clipped(spans: Sequence[Span], begin: int) -> list[Span]:
    """Return the parts of stretches from a byte on."""
    return [(max(start, begin), end) for start, end in spans if end > begin]


def add_row(rows: list[TurnRow], row: TurnRow) -> None:
    """Add a row to those of a sample; the last one that has a text goes if the new text begins with its text."""
    last = next((index for index in reversed(range(len(rows))) if rows[index].text is not None), None)
    if last is not None and row.text is not None and row.text.startswith(rows[last].text or ""):
        trained: list[Span] = []
        for start, end in sorted([*rows.pop(last).trained, *row.trained]):
            if trained and start < trained[-1][1]:
                start, end = trained[-1][0], max(end, trained.pop()[1])  # noqa: PLW2901 - the two overlap
            trained.append((start, end))
        row = row._replace(trained=trained)
    rows.append(row)
