"""Output of prompts to a terminal with its colours and width, or to a file or pipe without them.

Only SGR sequences are written, which set colours. Data can't control a terminal, because the layout has escaped all
characters that aren't plain.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Literal, TextIO, TypeAlias

from promptpress_workbench.cli.shell.errors import can_encode
from promptpress_workbench.prompts.escapes import ASCII, UNICODE, Glyphs, encodable
from promptpress_workbench.prompts.layout import Fragment, Line, plain

ColorChoice: TypeAlias = Literal["auto", "always", "never"]
"""The values of `--color`; `auto` depends on the stream and the environment."""

STYLES = {
    "template": "38;5;63",
    "column": "38;5;29",
    "example": "38;5;163",
    "example_column": "38;5;98",
    "meta": "38;5;130",
    "separator": "38;5;243",
    "masked": "7;38;5;131",
    "filled": "1;97;41",
    "control": "1;38;5;163",
    "system": "38;5;130",
    "user": "38;5;29",
    "assistant": "38;5;98",
    "tool": "38;5;30",
    "head": "1",
    "role": "1;38;5;30",
    "text": "38;5;243",
}
"""The style of each kind. These colours of the palette of 256 can be read on black and on white: a terminal's own blue
is too dark on black, its yellow too bright on white.
"""

_MARKS = {"match": "7", "removed": "41;97", "added": "42;30", "escape": "2", "trailing": "4"}
_MIN_WIDTH = 20


class Terminal:
    r"""Writes lines to a stream, in colours if that is possible or asked for.

    >>> import io
    >>> stream = io.StringIO()
    >>> Terminal(stream, "always", {}).write([[Fragment("x", "column")]])
    >>> stream.getvalue()
    '\x1b[38;5;29mx\x1b[0m\n'

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
        is_dull = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        self.is_colored = color == "always" or (color == "auto" and is_terminal and not is_dull)
        self.width = max(shutil.get_terminal_size().columns, _MIN_WIDTH) if is_terminal else None
        """Cells of a line; None if lines aren't broken."""

    @property
    def glyphs(self) -> Glyphs:
        """The characters to draw with: ASCII if the encoding has no others."""
        glyphs = (UNICODE.space, UNICODE.tab, UNICODE.newline, UNICODE.line, UNICODE.ellipsis)
        return UNICODE if can_encode("".join(glyphs), self._encoding) else ASCII

    def write(self, lines: Iterable[Line]) -> None:
        for line in lines:
            text = "".join(map(self._colored, line)) if self.is_colored else plain(line)
            self._stream.write(encodable(text, self._encoding) + "\n")

    def _colored(self, fragment: Fragment) -> str:
        codes = [STYLES.get(fragment.kind, ""), *(_MARKS[mark] for mark in sorted(fragment.marks) if mark in _MARKS)]
        code = ";".join(filter(None, codes))
        return f"\x1b[{code}m{fragment.text}\x1b[0m" if code else fragment.text
