"""Log of the requests of one task: those built in bulk, and those left to the harness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from promptpress_harness.bulk.report import CallRecord, count, log_once


class TaskRecord(CallRecord):
    """Counts the requests of one task by the way they were made."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self.by_jinja2 = 0
        """Number of requests with a text that Jinja2 rendered for their document alone."""
        self._task = str(getattr(getattr(task, "config", None), "task", None) or type(task).__name__)

    def log_jinja2(self, text: str) -> None:
        """Log a part that is left to Jinja2, once for each text, which is a sentence without its full stop."""
        log_once("info", self.names, text)

    @property
    def names(self) -> str:
        """The task's name, in brackets."""
        return f" (task {self._task})"


@contextmanager
def record_task(task: Any) -> Iterator[TaskRecord]:
    """Record the building of a task's requests; requests that the task had before don't count."""
    record = TaskRecord(task)
    before = getattr(task, "_instances", None)
    yield record
    built = getattr(task, "_instances", None)
    if built is not before and built:
        by_harness = len(built) - record.in_bulk if record.reasons else record.by_jinja2
        count(record.in_bulk, by_harness)
