"""What the log says of a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from promptpress._backend.report import CallRecord, count, log_once


class TaskRecord(CallRecord):
    """What became of the requests of one task.

    Args:
        task: The harness's task.
    """

    def __init__(self, task: Any) -> None:
        super().__init__()
        self.by_jinja2 = 0
        """How many requests have a text that Jinja2 rendered for their document alone."""
        self._task = str(getattr(getattr(task, "config", None), "task", None) or type(task).__name__)

    def noted(self, text: str) -> None:
        """Say something that is left to Jinja2, once for each text.

        Args:
            text: What, as a sentence without its end.
        """
        log_once("info", self.names, text)

    @property
    def names(self) -> str:
        """The task's name, in brackets."""
        return f" (task {self._task})"


@contextmanager
def record_task(task: Any) -> Iterator[TaskRecord]:
    """What goes on within is the building of one task's requests.

    Args:
        task: The harness's task. What it had been given before is forgotten if there is something new.
    """
    made = TaskRecord(task)
    before = getattr(task, "_instances", None)
    yield made
    built = getattr(task, "_instances", None)
    if built is not before and built:
        by_harness = len(built) - made.in_bulk if made.reasons else made.by_jinja2
        count(made.in_bulk, by_harness)
