"""Searches through all prompts, each in a thread of its own: for a text, or for rows that differ."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator

import pyarrow as pa
from promptpress.engine.errors import reason
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.diff.comparison import unequal
from promptpress_workbench.diff.pairs import Pairs, paired
from promptpress_workbench.prompts.prompt_source import PromptSource, parent_rows
from promptpress_workbench.prompts.search import RequestFilter


class RowFinder(ABC):
    """Renders all prompts in a background thread and keeps the numbers of some samples, but no prompts.

    Attributes:
        rows: The samples found so far, ascending, 8 bytes each.
        seen: The number of samples that were looked at.
        error: The reason of an early end, in one line.

    """

    def __init__(self) -> None:
        self.rows: array[int] = array("q")
        self.seen = 0
        self.error: str | None = None
        self._cancelled = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="promptpress-finder", daemon=True).start()

    @property
    def done(self) -> bool:
        """True if the search has ended for any reason."""
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        """True if the search was asked to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the current batch; the rows found so far stay."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; return true if it has come."""
        return self._done.wait(timeout)

    def _run(self) -> None:
        try:
            for samples, seen in self._steps():
                if self._cancelled.is_set():
                    return
                self.seen = max(self.seen, seen)  # before the rows, so that no more are found than were seen
                for sample in samples:
                    if not self.rows or sample > self.rows[-1]:
                        self.rows.append(sample)
        except Exception as error:
            self.error = reason(error)
        finally:
            self._done.set()

    @abstractmethod
    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        """Yield the samples that a step found, ascending, and how many samples were looked at so far."""


class TextSearch(RowFinder):
    """Finds the rows with a request that holds a text: of one label, or of all if that is None."""

    def __init__(
        self, source: PromptSource, wanted: str, *, ignore_case: bool = False, label: str | None = None
    ) -> None:
        self.wanted = wanted
        self.ignore_case = ignore_case
        self._source = source
        self._filter = RequestFilter(label)
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for batch in self._source.requests():
            if len(batch):
                kept = self._filter.apply(batch)
                matches = _matches(kept.prompts, self.wanted, ignore_case=self.ignore_case)
                yield kept.samples.filter(matches).to_pylist(), batch.samples[-1].as_py() + 1


class DifferenceSearch(RowFinder):
    """Finds the rows for which two sources of the same samples give different requests, or one lacks a request."""

    def __init__(self, a: PromptSource, b: PromptSource) -> None:
        self._a, self._b = a, b
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for step in paired(self._a.requests(), self._b.requests()):
            if isinstance(step, Pairs):
                samples = step.a.samples
                yield samples.take(unequal(self._a, self._b, step)).to_pylist(), samples[-1].as_py() + 1
            else:
                yield [step.sample], step.sample + 1


def _matches(prompts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    """Return a mask of the requests of which a text holds `wanted`."""
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        # Within JSON a text is escaped, in any other request it isn't.
        texts = [wanted, json.dumps(wanted, ensure_ascii=False)[1:-1]]
        masks = [_match(prompts, text, ignore_case=ignore_case) for text in dict.fromkeys(texts)]
        return masks[0] if len(masks) == 1 else pc.or_(*masks)
    numbers = pa.array(range(len(prompts)), pa.int64())
    matches = pa.array([], pa.int64())
    for texts, rows in _texts(prompts, numbers):
        matches = pa.concat_arrays([matches, rows.filter(_match(texts, wanted, ignore_case=ignore_case))])
    return pc.is_in(numbers, value_set=matches)


def _match(texts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    return pc.fill_null(pc.match_substring(without_views(texts), wanted, ignore_case=ignore_case), False)


def _texts(values: pa.Array, rows: pa.Array) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the texts in messages, without roles, each with the number of its request."""
    kind = values.type
    if is_text(kind):
        yield values, rows
    elif types.is_list(kind) or types.is_large_list(kind):
        yield from _texts(values.flatten(), rows.take(parent_rows(values)))
    elif types.is_struct(kind):
        for number, field in enumerate(kind):
            if field.name not in ("role", "type"):
                yield from _texts(values.field(number), rows)
