"""What the backend says in the log.

Harnesses set logging up in their own ways. OpenCompass and AISBench write with loggers of their own, leave the root
logger without a handler and raise the level of those that it has to ERROR. So the backend's logger has a handler too,
which writes to standard error what no other would write: to the console, and in a task's process to its log file.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

logger = logging.getLogger("promptpress.backend")
_FORMAT = "%(asctime)s - promptpress - %(levelname)s - %(message)s"


class _Console(logging.StreamHandler[TextIO]):
    """Writes what isn't shown by a handler of the root logger."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(_FORMAT))

    @property
    def stream(self) -> TextIO:
        return sys.stderr  # whatever it is by now

    def filter(self, record: logging.LogRecord) -> bool | logging.LogRecord:
        if any(map(_shows(record), logging.getLogger().handlers)):
            return False
        return super().filter(record)


def _shows(record: logging.LogRecord):  # type: ignore[no-untyped-def]
    def shows(handler: logging.Handler) -> bool:
        is_console = isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
        return is_console and handler.level <= record.levelno

    return shows


_console = _Console()


def listen() -> None:
    """Have what is said shown, from INFO on, unless the logger has a level and a handler of its own."""
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(_console)


def forget() -> None:
    """Take back what `listen` did."""
    if _console in logger.handlers:
        logger.removeHandler(_console)
        if logger.level == logging.INFO:
            logger.setLevel(logging.NOTSET)
