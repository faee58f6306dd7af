"""Rows that are found by going through every prompt, in a thread of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator

from promptpress._file_errors import reason


class RowFinder(ABC):
    """Goes through all prompts as they are rendered, and keeps the numbers of some samples; nothing rendered is kept.

    Attributes:
        found: the samples so far, ascending: 8 bytes each, whatever is found.
        seen: how many samples were looked at.
        error: why it ended early, in one line.

    """

    def __init__(self) -> None:
        self.found: array[int] = array("q")
        self.seen = 0
        self.error: str | None = None
        self._cancelled = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="promptpress-finder", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it was told to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the batch that is looked at; what was found stays."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; say whether it has come."""
        return self._done.wait(timeout)

    def _run(self) -> None:
        try:
            for samples, seen in self._steps():
                if self._cancelled.is_set():
                    return
                self._keep(samples)
                self.seen = max(self.seen, seen)
        except Exception as error:
            self.error = reason(error)
        finally:
            self._done.set()

    def _keep(self, samples: Iterable[int]) -> None:
        for sample in samples:
            if not self.found or sample > self.found[-1]:
                self.found.append(sample)

    @abstractmethod
    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        """Yield samples that are found, ascending, and how many samples were looked at so far."""
