"""The backend's logger.

Harnesses set logging up in their own ways. OpenCompass and AISBench write with loggers of their own, leave the root
logger without a handler, and raise the level of handlers that it has to ERROR. So the backend's logger has a handler
for lines that no other handler writes. It writes to standard error: the console, or a task's log file.
"""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("promptpress.backend")
_FORMAT = "%(asctime)s - promptpress - %(levelname)s - %(message)s"


class _Console(logging.Handler):
    """A handler for lines that no handler of the root logger shows, which writes to the current `sys.stderr`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        if not any(_shows(handler, record.levelno) for handler in logging.getLogger().handlers):
            try:
                sys.stderr.write(self.format(record) + "\n")
                sys.stderr.flush()
            except Exception:
                self.handleError(record)


def _shows(handler: logging.Handler, level: int) -> bool:
    is_console = isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
    return is_console and handler.level <= level


_console = _Console()
_console.setFormatter(logging.Formatter(_FORMAT))


def listen() -> None:
    """Show lines from INFO on, unless the logger already has a level and a handler."""
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(_console)


def forget() -> None:
    """Undo what `listen` did."""
    if _console in logger.handlers:
        logger.removeHandler(_console)
        if logger.level == logging.INFO:
            logger.setLevel(logging.NOTSET)
