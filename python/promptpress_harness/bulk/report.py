"""Reports in the log which prompts were rendered in bulk, and which were left to the harness for which reason.

Each call of an inferencer has a `CallRecord`. As soon as it is clear which way its prompts go, the log has a line for
it, with the model and the dataset; and a line with all figures when the run ends. A harness runs its tasks in processes
of their own, whose output goes to files. They send their lines to the process that started the run too (`Channel`),
which logs them on the console.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "PROMPTPRESS_BACKEND_REPORT"
"""The environment variable with the path of the file to which a run's processes write their lines."""
_READ_INTERVAL_SECONDS = 0.5
logger = logging.getLogger("promptpress.backend")


@dataclass(eq=False)
class CallRecord:
    """The record of the prompts of one call of an inferencer; the names are the harness's abbreviations."""

    model: str = ""
    dataset: str = ""
    reasons: list[str] = field(default_factory=list)
    """The reasons why prompts were left to the harness."""
    is_silent: bool = False
    """True if nothing is logged."""
    _marks: list[bytearray] = field(default_factory=list)
    _is_logged: bool = False
    _bulk: int = 0

    def marks(self, count: int) -> bytearray:
        """Return new marks, one for each prompt: 1 is set for a prompt in bulk, 2 for one by the harness."""
        marks = bytearray(count)
        self._marks.append(marks)
        return marks

    def rendered(self, count: int = 0) -> None:
        """Log, once, that prompts are rendered in bulk, and count those that have no marks."""
        self._bulk += count
        if not self._is_logged and not self.is_silent:
            self._is_logged = True
            _report.log("info", "promptpress renders prompts in bulk%s", self.names)

    def left(self, reason: str) -> None:
        """Log, once for each reason, that prompts are left to the harness; the reason is a clause."""
        if reason not in self.reasons:
            self.reasons.append(reason)
            if not self.is_silent:
                log_once("warning", self.names, f"promptpress leaves prompts to the harness: {reason}")

    @property
    def names(self) -> str:
        """The model's and the dataset's name, in brackets."""
        names = {"model": self.model, "dataset": self.dataset}
        text = ", ".join(f"{kind} {name}" for kind, name in names.items() if name)
        return f" ({text})" if text else ""

    @property
    def in_bulk(self) -> int:
        """The number of prompts that were rendered in bulk."""
        return self._bulk + sum(marks.count(1) for marks in self._marks)

    @property
    def by_harness(self) -> int:
        """The number of prompts with marks that the harness made."""
        return sum(marks.count(2) for marks in self._marks)


_current: ContextVar[CallRecord | None] = ContextVar("promptpress_call", default=None)


def current_record() -> CallRecord:
    """Return the record of the call that is running, or a new one without names."""
    return _current.get() or CallRecord()


def fall_back(reason: str) -> None:
    """Log the reason why the harness's own code runs the current call."""
    current_record().left(reason)


@contextmanager
def record_call(model: str, dataset: str, count: int) -> Iterator[CallRecord]:
    """Record the block as one call of `count` prompts, unless it is part of another call."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    record = CallRecord(model, dataset)
    try:
        with _recorded_as(record):
            yield record
    finally:
        left = record.by_harness
        if record.reasons and not record.in_bulk and not left:
            left = count
        _report.count(record.in_bulk, left)


@contextmanager
def silent_record() -> Iterator[CallRecord]:
    """Record the block as one call, without a line in the log; the record's `reasons` say which way its prompts go."""
    with _recorded_as(CallRecord(is_silent=True)) as record:
        yield record


@contextmanager
def _recorded_as(record: CallRecord) -> Iterator[CallRecord]:
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)


class Channel:
    """A file to which a run's processes append lines, unless it doesn't exist, as on another machine."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._offset = 0

    def append(self, line: dict[str, Any]) -> None:
        """Append a line."""
        try:
            # A short line that one call appends isn't mixed with another process's.
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def new_lines(self) -> list[dict[str, Any]]:
        """Return the lines that were appended since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return []
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [json.loads(line) for line in complete.splitlines()]


class Report:
    """The figures of a run that this process has, and the lines that it logged."""

    def __init__(self) -> None:
        self.logged: set[tuple[str, str]] = set()
        self._bulk = self._left = self._calls = 0
        self._channel: Channel | None = None
        self._listens = False
        self._process = 0
        self._lock = threading.Lock()

    def start(self, *, follows: bool) -> None:
        """Begin a new report; `follows` is true if the lines of other processes are logged at once, not in the end."""
        self.logged.clear()
        self._bulk = self._left = self._calls = 0
        if self._channel is not None:
            return
        if VARIABLE in os.environ:
            self._channel = Channel(os.environ[VARIABLE])
        else:
            handle, path = tempfile.mkstemp(prefix="promptpress-", suffix=".jsonl")
            os.close(handle)
            os.environ[VARIABLE] = path
            self._channel = Channel(path)
            self._listens = True
            if follows:
                threading.Thread(target=self._follow, name="promptpress report", daemon=True).start()
        self._process = os.getpid()
        atexit.register(self.end)

    def log(self, level: str, text: str, *parts: Any) -> None:
        """Log a line, here and in the process that started the run."""
        getattr(logger, level)(text, *parts)
        if self._channel is not None and not self._listens:
            self._channel.append({"level": level, "text": text % parts})

    def count(self, in_bulk: int, by_harness: int) -> None:
        """Add a call's figures."""
        if not in_bulk and not by_harness:
            return
        with self._lock:
            self._bulk += in_bulk
            self._left += by_harness
            self._calls += 1
        if self._channel is not None and not self._listens:
            self._channel.append({"bulk": in_bulk, "left": by_harness})

    def end(self) -> None:
        """Log the figures, if there are any, and reset them."""
        if self._listens and self._process == os.getpid():
            self._read_lines()
            self._listens = False
            if self._channel is not None:
                self._channel.path.unlink(missing_ok=True)
                os.environ.pop(VARIABLE, None)
                self._channel = None
        if self._calls and self._process in {0, os.getpid()}:
            tasks = "1 task" if self._calls == 1 else f"{self._calls:,} tasks"
            logger.info(
                "promptpress: %s prompts in bulk, %s by the harness, in %s", f"{self._bulk:,}", f"{self._left:,}", tasks
            )
        self._bulk = self._left = self._calls = 0

    def _follow(self) -> None:
        while self._listens:
            time.sleep(_READ_INTERVAL_SECONDS)
            self._read_lines()

    def _read_lines(self) -> None:
        with self._lock:
            lines = self._channel.new_lines() if self._channel is not None else []
            for line in lines:
                if "text" in line:
                    getattr(logger, line["level"])("%s", line["text"])
                else:
                    self._bulk += line["bulk"]
                    self._left += line["left"]
                    self._calls += 1


_report = Report()


def log_once(level: str, names: str, text: str) -> None:
    """Log a text with the names of a call, once in a run for each text and call."""
    if (names, text) not in _report.logged:
        _report.logged.add((names, text))
        _report.log(level, "%s%s", text, names)


start = _report.start
count = _report.count
end = _report.end


class _Console(logging.Handler):
    """A handler for lines that no handler of the root logger shows, which writes to the current `sys.stderr`.

    That is the console, or a task's log file. OpenCompass and AISBench write with loggers of their own, leave the root
    logger without a handler, and raise the level of handlers that it has to ERROR.
    """

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
_console.setFormatter(logging.Formatter("%(asctime)s - promptpress - %(levelname)s - %(message)s"))


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
