"""What shows prompts: a terminal with its colours and width, or a file or pipe without.

Only SGR sequences are written, which set colours; nothing that comes from data can steer a terminal, for the layout has
made visible whatever isn't a plain character.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Literal, TextIO, TypeAlias

from promptpress._view.layout import Line
from promptpress._view.lines import Fragment, plain
from promptpress._view.visible import ASCII, UNICODE, Glyphs, encodable

ColorChoice: TypeAlias = Literal["auto", "always", "never"]
"""Whether there are colours; `auto` asks where it is written, and the environment."""

_SGR = {
    "template": "34",
    "column": "32",
    "example": "35",
    "example_column": "95",
    "meta": "33",
    "separator": "90",
    "masked": "7;31",
    "head": "1",
    "role": "1;36",
    "text": "90",
}
_MARKS = {"match": "7", "removed": "41;97", "added": "42;30", "escape": "2", "trailing": "4"}
_MIN_WIDTH = 20


class Terminal:
    r"""Where lines are shown.

    Args:
        stream: Where they are written.
        color: Whether there are colours.
        environment: The variables that `auto` asks: `NO_COLOR` and `TERM`.
        is_terminal: Whether it is a terminal, where the stream itself doesn't know.

    >>> import io
    >>> stream = io.StringIO()
    >>> Terminal(stream, "always", {}).write([[Fragment("x", "column")]])
    >>> stream.getvalue()
    '\x1b[32mx\x1b[0m\n'

    """

    def __init__(
        self,
        stream: TextIO,
        color: ColorChoice = "auto",
        environment: Mapping[str, str] | None = None,
        *,
        is_terminal: bool | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self._stream = stream
        self._encoding = stream.encoding or "utf-8"
        is_terminal = stream.isatty() if is_terminal is None else is_terminal
        dull = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        self.is_colored = color == "always" or (color == "auto" and is_terminal and not dull)
        self.width = max(shutil.get_terminal_size().columns, _MIN_WIDTH) if is_terminal else None
        """Cells of a line; None where lines aren't broken."""

    @property
    def glyphs(self) -> Glyphs:
        """What is drawn: of ASCII where the encoding has no more."""
        try:
            "".join((UNICODE.space, UNICODE.tab, UNICODE.newline, UNICODE.line, UNICODE.ellipsis)).encode(
                self._encoding
            )
        except (UnicodeEncodeError, LookupError):
            return ASCII
        return UNICODE

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines.

        Args:
            lines: As a layout gives them.

        """
        for line in lines:
            text = "".join(map(self._colored, line)) if self.is_colored else plain(line)
            shown = encodable(text, self._encoding)
            self._stream.write(shown + "\n")

    def _colored(self, fragment: Fragment) -> str:
        codes = [_SGR.get(fragment.kind, ""), *(_MARKS[mark] for mark in sorted(fragment.marks) if mark in _MARKS)]
        code = ";".join(filter(None, codes))
        return f"\x1b[{code}m{fragment.text}\x1b[0m" if code else fragment.text
