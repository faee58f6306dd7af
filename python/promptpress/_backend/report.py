"""Which prompts were rendered in bulk, which were left to the harness, and why.

Each call of an inferencer has a `CallRecord`. The log has a line for it as soon as it is known which way its prompts
go, with the model and the dataset; and a line with all figures when the run ends. A harness runs its tasks in processes
of their own, whose output goes to files. What they log they also tell the process that started the run (`Channel`),
which logs it on the console.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpress._backend.log import logger

VARIABLE = "PROMPTPRESS_BACKEND_REPORT"
"""Names the file by which the processes of one run tell the first of them what they did."""
_READ_INTERVAL_SECONDS = 0.5


@dataclass(eq=False)
class CallRecord:
    """What became of the prompts of one call of an inferencer.

    Args:
        model: The model's name, as the harness abbreviates it.
        dataset: The dataset's.
    """

    model: str = ""
    dataset: str = ""
    reasons: list[str] = field(default_factory=list)
    """Why prompts were left to the harness."""
    is_silent: bool = False
    """Whether the log hears nothing of it."""
    _marks: list[bytearray] = field(default_factory=list)
    _is_logged: bool = False
    _bulk: int = 0

    def marks(self, count: int) -> bytearray:
        """Room for a note on each of some prompts: 1 for one that was rendered in bulk, 2 for one by the harness."""
        made = bytearray(count)
        self._marks.append(made)
        return made

    def rendered(self, count: int = 0) -> None:
        """Say, once, that prompts are rendered in bulk.

        Args:
            count: How many, where they have no marks.
        """
        self._bulk += count
        if not self._is_logged and not self.is_silent:
            self._is_logged = True
            _report.log("info", "promptpress renders prompts in bulk%s", self.names)

    def left(self, reason: str) -> None:
        """Say, once for each reason, that prompts are left to the harness.

        Args:
            reason: What isn't covered, as a clause: "the inferencer is a subclass".
        """
        if reason not in self.reasons:
            self.reasons.append(reason)
            if not self.is_silent:
                log_once("warning", self.names, f"promptpress leaves prompts to the harness: {reason}")

    @property
    def names(self) -> str:
        """The model and the dataset, in brackets, as far as they are known."""
        known = {"model": self.model, "dataset": self.dataset}
        told = ", ".join(f"{kind} {name}" for kind, name in known.items() if name)
        return f" ({told})" if told else ""

    @property
    def in_bulk(self) -> int:
        """How many prompts were rendered in bulk."""
        return self._bulk + sum(marks.count(1) for marks in self._marks)

    @property
    def by_harness(self) -> int:
        """How many prompts with marks the harness made."""
        return sum(marks.count(2) for marks in self._marks)


_current: ContextVar[CallRecord | None] = ContextVar("promptpress_call", default=None)


def current_record() -> CallRecord:
    """The call that is under way, or one without names."""
    return _current.get() or CallRecord()


def fall_back(reason: str) -> None:
    """Say that the call that is under way is done by the harness's own code."""
    current_record().left(reason)


@contextmanager
def record_call(model: str, dataset: str, count: int) -> Iterator[CallRecord]:
    """What goes on within is one call, unless it is within one already.

    Args:
        model: The model's name.
        dataset: The dataset's.
        count: How many prompts the harness makes if it makes all of them.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    made = CallRecord(model, dataset)
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)
        left = made.by_harness
        if made.reasons and not made.in_bulk and not left:
            left = count
        _report.count(made.in_bulk, left)


@contextmanager
def silent_record() -> Iterator[CallRecord]:
    """A call that nothing is said of; its `reasons` tell which way it goes."""
    made = CallRecord()
    made.is_silent = True
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


class Channel:
    """A file that processes of a run append lines to.

    Args:
        path: The file. Where it isn't there, as on another machine, nothing is told.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._read = 0

    def append(self, line: dict[str, Any]) -> None:
        """Append a line."""
        try:
            # A short line that is appended by one call isn't mixed up with another process's.
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def new_lines(self) -> list[dict[str, Any]]:
        """The lines that were appended since the last look."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                text = file.read()
        except OSError:
            return []
        complete = text[: text.rfind(b"\n") + 1]
        self._read += len(complete)
        return [json.loads(line) for line in complete.splitlines()]


class Report:
    """What a process knows of a run."""

    def __init__(self) -> None:
        self.logged: set[tuple[str, str]] = set()
        self._bulk = self._left = self._calls = 0
        self._channel: Channel | None = None
        self._listens = False
        self._process = 0
        self._lock = threading.Lock()

    def start(self, *, has_children: bool, follows: bool = True) -> None:
        """Begin anew.

        Args:
            has_children: Whether the processes that this one starts have the backend on as well.
            follows: Whether what they say is passed on at once, not when the run ends.
        """
        self.logged.clear()
        self._bulk = self._left = self._calls = 0
        if not has_children or self._channel is not None:
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
        """Log a line, here and where the run was started."""
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
        """Say how many prompts went which way, if any did, and forget it."""
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
        stopped = threading.Event()
        while self._listens and not stopped.wait(_READ_INTERVAL_SECONDS):
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
    """Log a line, once in a run for each text and call.

    Args:
        level: The level's name.
        names: Whose line it is, in brackets.
        text: The line.
    """
    if (names, text) not in _report.logged:
        _report.logged.add((names, text))
        _report.log(level, "%s%s", text, names)


start = _report.start
count = _report.count
end = _report.end
