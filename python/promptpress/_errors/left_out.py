"""Counts of what chat templates leave out of prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa

from promptpress._core import RenderError
from promptpress._errors.errors import counted, render_error

NOTES = frozenset({"reasoning_left_out", "name_left_out", "role_unknown_to_template"})
"""Codes of what templates leave out by design, or of why they leave something out: nobody is warned of these."""

MAX_FIRST_ROWS = 10
"""The first rows that are kept of each kind."""

CODES = frozenset({"message_left_out", "tool_call_left_out", "tools_left_out", "documents_left_out", *NOTES})
"""All codes of what templates leave out."""

_MAX_SHOWN = 5
_WORDS = {
    "message_left_out": "a message",
    "tool_call_left_out": "a tool call",
    "tools_left_out": "the tools",
    "documents_left_out": "the documents",
    "reasoning_left_out": "reasoning",
    "name_left_out": "a name",
}
_SCHEMA = pa.schema([("code", pa.string()), ("rows", pa.int64()), ("first_row", pa.int64()), ("place", pa.string())])

Kind = tuple[str, str]
"""A code, and the place of what is left out."""

OF_ASSISTANTS = "role 'assistant'"
"""The end of the places of what assistants say."""

LAST_TURN = "last turn, "
"""The beginning of the places of what is part of a conversation's last message."""


class Refusal(NamedTuple):
    """The codes of what no prompt may lack, and of what it may not lack of an assistant."""

    codes: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    """The codes of what is refused at some places, and how these places end."""

    def refuses(self, kind: Kind) -> bool:
        """Return true if no prompt may lack what is of this kind."""
        return kind[0] in self.codes or any(kind[0] == code and kind[1].endswith(end) for code, end in self.kinds)

    def error(self, kind: Kind, row: int, column: str) -> RenderError:
        """Make the error of a row whose prompt lacks what is refused."""
        why = f"which so isn't trained; --allow {kind[0]} trains the rest"
        why = "which refuse= names" if kind[0] in self.codes else why
        return render_error("left_out", f"the template leaves out {_words(kind)}, {why}", row, column)


class LeftOut:
    """Counts the conversations whose prompts lack something, by what it is and where."""

    def __init__(self) -> None:
        self._rows: dict[Kind, tuple[int, list[int]]] = {}

    def add(self, kind: Kind, rows: int, first_rows: Iterable[int]) -> None:
        """Count rows that lack something; `first_rows` are the numbers of the first of them."""
        before, first = self._rows.get(kind, (0, []))
        self._rows[kind] = (before + rows, sorted([*first, *first_rows])[:MAX_FIRST_ROWS])

    def add_all(self, other: LeftOut) -> None:
        """Add the counts of other rows."""
        for kind, (rows, first_rows) in other._rows.items():
            self.add(kind, rows, first_rows)

    def renumbered(self, row_number: Callable[[int], int]) -> LeftOut:
        """Return the same counts with other numbers of rows."""
        out = LeftOut()
        for kind, (rows, first_rows) in self._rows.items():
            out.add(kind, rows, map(row_number, first_rows))
        return out

    def of_last_turns(self) -> LeftOut:
        """Return the same counts without those of what assistants have said in earlier turns."""
        out = LeftOut()
        for kind, (rows, first_rows) in self._rows.items():
            if not kind[1].endswith(OF_ASSISTANTS) or kind[1].startswith(LAST_TURN):
                out.add(kind, rows, first_rows)
        return out

    def items(self) -> list[tuple[Kind, int, list[int]]]:
        """Return each kind with its number of rows and the first of them: notes last, what is frequent first."""
        items = [(kind, rows, first_rows) for kind, (rows, first_rows) in self._rows.items()]
        return sorted(items, key=lambda item: (item[0][0] in NOTES, -item[1], item[2], item[0]))

    def lines(self) -> list[str]:
        """Return what is left out in words, for who looks at one conversation."""
        return [_words(kind) for kind, _, _ in self.items() if kind[0] in _WORDS]

    def warning(self, conversations: int) -> str:
        """Return the text of a warning; it is empty if nothing is left out, or only what is no more than a note."""
        lines = [
            f"in {rows:,} of {counted(conversations, 'conversation')} the template leaves out {_words(kind)}, first in "
            f"row {first_rows[0]}"
            for kind, rows, first_rows in self.items()
            if kind[0] not in NOTES
        ]
        if len(lines) > _MAX_SHOWN:
            lines[_MAX_SHOWN:] = [f"and {len(lines) - _MAX_SHOWN} more (last_run.left_out)"]
        return ";\n".join(lines)

    def table(self) -> pa.Table:
        """Return the counts as a table of `code`, `rows`, `first_row` and `place`."""
        rows = [
            {"code": kind[0], "rows": rows, "first_row": first_rows[0], "place": kind[1]}
            for kind, rows, first_rows in self.items()
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LeftOut) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]  # it changes


def _words(kind: Kind) -> str:
    code, location = kind
    return _WORDS[code] if _WORDS[code] == f"the {location}" else f"{_WORDS[code]}: {location}"
