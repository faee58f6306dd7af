"""How far the work is, on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO

_UPDATE_SECONDS = 0.5  # between two looks of the plain line


class Progress:
    """A progress bar over samples: tqdm's, or a plain line where tqdm isn't installed.

    Args:
        total: the number of samples, where it is known.
        shown: whether anything is shown at all.
        stream: where; standard error by default.

    Example:
        >>> with Progress(10, is_shown=False) as progress:
        ...     progress.advance(10)

    """

    def __init__(self, total: int | None, *, is_shown: bool, stream: TextIO | None = None) -> None:
        self._bar: Any = None
        if not is_shown:
            return
        stream = stream or sys.stderr
        try:
            from tqdm import tqdm  # noqa: PLC0415 - an extra
        except ImportError:
            self._bar = _PlainLine(total, stream)
        else:
            self._bar = tqdm(total=total, unit=" rows", unit_scale=True, file=stream, desc="promptpress", leave=False)

    def advance(self, rows: int) -> None:
        """Count samples that are done.

        Args:
            rows: how many more.

        """
        if self._bar is not None:
            self._bar.update(rows)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class _PlainLine:
    """One line that is written over, at most twice a second."""

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
        if self._last > self._start:  # something was shown
            self._stream.write("\r\x1b[K")
            self._stream.flush()
