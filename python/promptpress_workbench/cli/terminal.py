"""Output to a terminal: messages on standard error, a progress bar, and prompts in colours.

Only SGR sequences are written, which set colours. Data can't control a terminal, because the layout has escaped all
characters that aren't plain.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from promptpress_workbench.prompts.escapes import ASCII, UNICODE, Glyphs, encodable, printable

if TYPE_CHECKING:
    from promptpress_workbench.cli.settings import Settings
    from promptpress_workbench.prompts.layout import Fragment, Line

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
_MARKS |= {"trained": "38;5;22;48;5;157", "padding": "2", "wrong": "97;41"}
_MIN_WIDTH = 20
_UPDATE_SECONDS = 0.5  # between two updates of the plain line of progress


def print_error_line(line: str) -> None:
    """Print a line to standard error, with all characters escaped that would control a terminal or can't be encoded."""
    print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a message of the program to standard error, in one line."""
    print_error_line(f"promptpress: {text.replace(chr(10), ' ')}")


def can_encode(text: str, encoding: str) -> bool:
    """Return true if an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class Terminal:
    """Writes lines to a stream, in colours if that is possible or asked for."""

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
            text = "".join(self._colored(part) if self.is_colored else part.text for part in line)
            self._stream.write(encodable(text, self._encoding) + "\n")

    def _colored(self, fragment: Fragment) -> str:
        codes = [STYLES.get(fragment.kind, ""), *(_MARKS[mark] for mark in sorted(fragment.marks) if mark in _MARKS)]
        code = ";".join(filter(None, codes))
        return f"\x1b[{code}m{fragment.text}\x1b[0m" if code else fragment.text


class Progress:
    """A progress bar over samples on standard error: tqdm's, or a plain line if tqdm isn't installed.

    The bar is shown on a terminal, always with `--progress`, and never with `--quiet`.
    """

    def __init__(self, settings: Settings, total: int | None) -> None:
        self._bar: Any = None
        self.rows = 0
        """The finished samples."""
        if not settings.progress and (settings.quiet or not sys.stderr.isatty()):
            return
        try:
            from tqdm import tqdm  # noqa: PLC0415 - an extra
        except ImportError:
            self._bar = _PlainLine(total, sys.stderr)
        else:
            options: dict[str, Any] = {"unit": " rows", "unit_scale": True, "desc": "promptpress", "leave": False}
            self._bar = tqdm(total=total, file=sys.stderr, **options)

    def advance(self, rows: int) -> None:
        self.rows += rows
        if self._bar is not None:
            self._bar.update(rows)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class _PlainLine:
    """A line that is overwritten, at most twice a second."""

    def __init__(self, total: int | None, stream: TextIO) -> None:
        self._total, self._stream = total, stream
        self._rows = 0
        self._start = self._last = time.monotonic()

    def update(self, rows: int) -> None:
        self._rows += rows
        now = time.monotonic()
        if now - self._last >= _UPDATE_SECONDS:
            self._last = now
            rate = self._rows / (now - self._start)
            of = f" of {self._total:,} ({self._rows / self._total:.0%})" if self._total else ""
            self._stream.write(f"\rpromptpress: {self._rows:,}{of} rows, {rate:,.0f} rows/s ")
            self._stream.flush()

    def close(self) -> None:
        if self._last > self._start:  # a line has been written
            self._stream.write("\r\x1b[K")
            self._stream.flush()
