"""The stretches of prompts that are trained, for the masks of their tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress._core import RenderError
from promptpress._engine.rendering import Part
from promptpress._engine.table_engine import TableEngine
from promptpress._errors.errors import render_error
from promptpress._tokens.masks import (
    Span,
    UnknownOriginError,
    assistant_spans,
    calls_tools,
    generation_spans,
    hidden_turns,
    marked_conversation,
    place_in_beginning,
    place_of_turn,
)
from promptpress._tokens.settings import TokenSettings

Messages = list[dict[str, Any]]
Texts = Sequence[str | None]
Request = tuple[int, int]
"""The number of a prompt, and that of a message."""


@dataclass(frozen=True)
class TurnsPart(Part):
    """The rows of turns, with the stretches of each that are trained; None: there is no mask."""

    trained: list[list[Span]] | None = None


class TrainedStretches:
    """Finds the stretches of prompts that are trained, of an engine's texts for a tokenizer with some added tokens."""

    def __init__(self, engine: TableEngine, settings: TokenSettings, added: Collection[str]) -> None:
        self._engine = engine
        self._settings = settings
        self._added = added

    def of_marked(
        self, texts: Texts, marked: Texts, errors: dict[int, RenderError], prompts: Texts | None = None
    ) -> list[list[Span]]:
        """Return the stretches of texts in `{% generation %}` blocks, around which the marked texts have marks.

        Blocks within the texts' beginnings `prompts` aren't trained.
        """
        out: list[list[Span]] = []
        for row, text in enumerate(texts):
            out.append([])
            if text is not None and row not in errors:
                try:
                    out[-1] = generation_spans(marked[row] or "", text)
                    if prompts is not None and (prompt := prompts[row]):
                        if not text.startswith(prompt):
                            raise UnknownOriginError("the template writes the prompt otherwise before its completion")
                        done = len(prompt.encode())
                        out[-1] = [(max(start, done), end) for start, end in out[-1] if end > done]
                except UnknownOriginError as error:
                    errors[row] = self._without_mask(error)
        return out

    def of_prompts(
        self,
        texts: Texts,
        spans: Sequence[Any],
        messages: Sequence[Messages | None] | None,
        hidden: Sequence[Mapping[int, Span]] | None,
        errors: dict[int, RenderError],
        *,
        is_closed: bool | None = None,
    ) -> list[list[Span]]:
        """Return what assistants say in each prompt; prompts of which that isn't known get an error.

        `messages` is None if a configuration made the prompts. If `is_closed`, all that stands after a conversation's
        last turn is its end; None: as the engine says.
        """
        is_closed = self._engine.closes_conversations if is_closed is None else is_closed
        out: list[list[Span]] = []
        for row, text in enumerate(texts):
            out.append([])
            if text is None or row in errors:
                continue
            of_messages = None if messages is None else messages[row]
            of_row = None if hidden is None else hidden[row]
            try:
                out[-1] = assistant_spans(
                    text.encode(),
                    spans[row] if spans else (),
                    self._settings,
                    self._added,
                    of_messages,
                    hidden=of_row,
                    is_closed=is_closed,
                )
            except UnknownOriginError as error:
                errors[row] = self._without_mask(error)
        return out

    def hidden(
        self,
        texts: Texts,
        spans: Sequence[Any],
        messages: Sequence[Messages | None],
        samples: pa.Table,
        errors: dict[int, RenderError],
        *,
        rows: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
        with_last: Callable[[int, dict[str, Any]], str | None] = lambda *_: None,
    ) -> list[dict[int, Span]]:
        """Return the places of the messages that origins don't show, by their numbers; a request without has an error.

        `rows` are the samples of the prompts, unless each has its own, and `numbers` the only message of each prompt
        whose place is asked for. `with_last` returns the text of a prompt with another last message, if there is one.
        """
        rows = range(len(texts)) if rows is None else rows
        out: list[dict[int, Span]] = [{} for _ in texts]
        talks: dict[int, Messages] = {}
        wanted: list[Request] = []
        for row, (text, of_row) in enumerate(zip(texts, messages, strict=False)):
            if text is None or of_row is None:
                continue
            talks[row] = of_row
            only = None if numbers is None else [numbers[row]]
            wanted += [(row, number) for number in hidden_turns(of_row, spans[row], self._settings, only)]
        unknown: dict[Request, RenderError] = {}

        def texts_of(requests: list[Request], conversations: list[Messages]) -> list[str | None]:
            chats: Any = self._engine  # others have no conversations
            return chats.texts_of(samples, [rows[row] for row, _ in requests], conversations) if requests else []

        marked: dict[Request, str | None] = {}
        for row, number in wanted if numbers is not None else ():
            text = with_last(row, marked_conversation(talks[row][number:], 0)[0])
            if text is not None:
                marked[row, number] = text
        rest = [request for request in wanted if request not in marked]
        of_rest = texts_of(rest, [marked_conversation(talks[row], number) for row, number in rest])
        marked |= zip(rest, of_rest, strict=True)
        for row, number in wanted:
            text = marked[row, number]
            try:
                stretch = place_of_turn(texts[row] or "", text, number, talks[row][number])
            except UnknownOriginError as error:
                unknown[row, number] = self._without_mask(error)
            else:
                if stretch is not None:
                    out[row][number] = stretch
        for (row, number), refusal in unknown.items():
            begun = talks[row][: number + 1]
            beginnings = texts_of([(row, number)] * 2, [begun, marked_conversation(begun, number)])
            stretch = place_in_beginning(texts[row] or "", *beginnings)
            if stretch is not None:
                out[row][number] = stretch
                continue
            others = [*talks[row][:number], *talks[row][number + 1 :]]
            # An empty message that the template leaves out has no turn.
            if calls_tools(talks[row][number]) or texts_of([(row, number)], [others]) != [texts[row]]:
                errors.setdefault(row, refusal)
        return out

    def _without_mask(self, error: UnknownOriginError) -> RenderError:
        return render_error("unknown_origin", f'{error}; mask="{self._settings.mask}" can\'t be made')


def stretches_array(stretches: Sequence[Sequence[Span]]) -> pa.Array:
    """Return the stretches of each prompt as Arrow's lists of structs."""
    starts, stops, ends = array("q"), array("q"), array("i", [0])
    for of_prompt in stretches:
        starts.extend(start for start, _ in of_prompt)
        stops.extend(stop for _, stop in of_prompt)
        ends.append(len(starts))
    numbers = [pa.Array.from_buffers(pa.int64(), len(of), [None, pa.py_buffer(of)]) for of in (starts, stops)]
    lists = pa.Array.from_buffers(pa.int32(), len(ends), [None, pa.py_buffer(ends)])
    return pa.ListArray.from_arrays(lists, pa.StructArray.from_arrays(numbers, ["start", "end"]))
