"""A progress bar on standard error."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Any, TextIO

_UPDATE_SECONDS = 0.5  # between two updates of the plain line


class Progress:
    """A progress bar over samples: tqdm's, or a plain line if tqdm isn't installed.

    The bar is shown on a terminal, always with `--progress`, and never with `--quiet`.
    """

    def __init__(self, arguments: Namespace, total: int | None) -> None:
        self._bar: Any = None
        self.rows = 0
        """The finished samples."""
        if not arguments.progress and (arguments.quiet or not sys.stderr.isatty()):
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
