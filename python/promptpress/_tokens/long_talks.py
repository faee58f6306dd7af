"""Beginnings of long conversations, for a row for each turn: each of their turns is rendered once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from promptpress._arrow.take import take_rows
from promptpress._engine.chat_engine import ChatEngine
from promptpress._errors.left_out import LeftOut, Refusal
from promptpress._jinja.chat.beginnings import Beginning, Beginnings
from promptpress._jinja.chat.conversations import conversation_of
from promptpress._jinja.run import JinjaRun
from promptpress._tokens.turn_requests import Talk, TurnRequest

_LONG = 12
"""Messages of a conversation whose turns are rendered once; shorter ones cost little."""

_USUAL, _LONGEST = 64, 64
"""Beginnings of one shape after which it is compiled, if it has no more messages: both cost about the same by then."""

_MAX_SHAPES = 100_000
"""The shapes of beginnings that are counted."""

_REASON = "a beginning of a long conversation, whose turns are rendered once"


class LongTalks:
    """Renders beginnings of samples by an engine of texts; `met` counts the shapes of beginnings so far."""

    def __init__(self, engine: ChatEngine, met: Counter[tuple[int, bool]]) -> None:
        self._engine = engine
        self._met = met
        self._samples = pa.table({})
        self._made: dict[int, Beginnings | None] = {}
        settings, renderer = engine.chat_settings, engine.renderer
        is_plain = settings.environment == "transformers" and not renderer.merges_system
        self._is_able = is_plain and not settings.refuse and settings.fallback != "refuse"

    def begin(self, samples: pa.Table) -> None:
        """Take other samples, and forget the conversations before."""
        self._samples = samples
        self._made.clear()

    def rendered(self, request: TurnRequest, row: int, counts: JinjaRun, *, is_prompt: bool) -> Beginning | None:
        """Render the text of a turn, or what asks for it, and count it under a number of its row.

        The result is None if it has to be rendered as any conversation is.
        """
        talk, count = request.talk, request.number + (not is_prompt)
        if (
            not self._is_able
            or len(talk.messages) < _LONG
            or self._is_usual((talk.shapes[count - 1], is_prompt), count)
        ):
            return None
        if talk.row not in self._made:
            self._made[talk.row] = None
            try:
                self._made[talk.row] = self._beginnings(talk)
            except Exception:  # what is wrong is said where the whole conversation is rendered
                return None
        beginnings = self._made[talk.row]
        if beginnings is None:
            return None
        try:
            made = beginnings.rendered(count, asks=is_prompt)
            made.text.encode()
        except Exception:  # as above
            return None
        lacking = LeftOut()
        refusal = Refusal(kinds=self._engine.refused or frozenset())
        for kind in () if is_prompt else made.lacking_kinds():
            if refusal.refuses(kind):
                return None
            lacking.add(kind, 1, [row])
        counts.add(JinjaRun(1, 0, 1, reasons={_REASON: 1}, lacking=lacking))
        return made

    def _is_usual(self, shape: tuple[int, bool], count: int) -> bool:
        """Count a beginning with so many messages; return true if others of its shape have been met often."""
        if len(self._met) >= _MAX_SHAPES:
            self._met.clear()
        self._met[shape] += 1
        return count <= _LONGEST and self._met[shape] > _USUAL

    def with_last(self, request: TurnRequest, message: dict[str, Any]) -> str | None:
        """Render a beginning with another last message; None if it isn't known as one of a long conversation."""
        beginnings = self._made.get(request.talk.row)
        if beginnings is None:
            return None
        try:
            return beginnings.rendered(request.number + 1, asks=False, last=message).text
        except Exception:  # as above
            return None

    def with_columns(self, table: pa.Table, rows: Sequence[int]) -> pa.Table:
        """Return conversations of samples with the other columns that the template reads."""
        names = self._samples.column_names
        for name in self._engine.columns_read(names):
            if name in names and name != self._engine.column:
                column = self._samples.column(name)
                of_rows = pa.chunked_array(take_rows(column, pa.array(rows, pa.int64())), column.type)
                table = table.append_column(self._samples.schema.field(name), of_rows)
        return table

    def _beginnings(self, talk: Talk) -> Beginnings | None:
        """Make what renders the beginnings of a conversation, if some of them are what Jinja2 renders."""
        renderer, column = self._engine.renderer, self._engine.column
        text = talk.json(len(talk.messages))
        table = self.with_columns(pa.table({column: pa.array([text], pa.large_string())}), [talk.row])
        arguments = renderer.arguments_of(table, column) if renderer.reference.remembering is not None else None
        if arguments is None:
            return None
        columns = renderer.argument_columns([name for name in table.column_names if name != column])
        made = Beginnings(renderer, conversation_of(text), column, arguments, columns)
        return made if made.are_plain_texts(list(talk.turns)) else None
