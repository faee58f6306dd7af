"""A search through every prompt, as they are rendered."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._file_errors import reason
from promptpress._view.prompt_source import PromptSource, RequestBatch


class Search:
    """Looks for a text in the requests of a source, in a thread of its own; nothing rendered is kept.

    Args:
        source: what is searched.
        wanted: the text.
        ignore_case: whether upper and lower case are one.
        label: only requests of this label; None: all.

    Example:
        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> from promptpress._view.renderer_source import RendererSource
        >>> from promptpress._view.sample_rows import TableRows
        >>> rows = TableRows(pa.table({"q": ["one", "two", "three"]}))
        >>> search = Search(RendererSource(Renderer("Q: {q}"), rows), "T", ignore_case=True)
        >>> search.wait(), list(search.found), search.seen, search.error
        (True, [1, 2], 3, None)

    """

    def __init__(
        self, source: PromptSource, wanted: str, *, ignore_case: bool = False, label: str | None = None
    ) -> None:
        self.wanted = wanted
        self.ignore_case = ignore_case
        self.found: array[int] = array("q")  # 8 bytes each, whatever is found
        self.seen = 0
        self.error: str | None = None
        self._source = source
        self._label = label
        self._cancelled = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="promptpress-search", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it was told to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the batch that is being searched; what was found stays."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; say whether it has come."""
        return self._done.wait(timeout)

    def _run(self) -> None:
        try:
            for batch in self._source.requests():
                if self._cancelled.is_set():
                    return
                rows = batch.samples.filter(self._matches(batch)).to_pylist()
                last = self.found[-1] if self.found else None
                self.found.extend(row for row, _ in groupby(rows) if row != last)
                if len(batch):
                    self.seen = batch.samples[-1].as_py() + 1
        except Exception as error:
            self.error = reason(error)
        finally:
            self._done.set()

    def _matches(self, batch: RequestBatch) -> pa.Array:
        matches = _found(batch.prompts, self.wanted, ignore_case=self.ignore_case)
        if self._label is not None and batch.labels is not None:
            matches = pc.and_(matches, pc.fill_null(pc.equal(batch.labels.cast(pa.string()), self._label), False))
        return matches


def _found(prompts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    """Say of each request whether one of its texts holds `wanted`."""
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        # Within JSON a text stands as JSON has it; in any other it is itself.
        texts = [wanted, json.dumps(wanted, ensure_ascii=False)[1:-1]]
        matches = [_match(prompts, text, ignore_case=ignore_case) for text in dict.fromkeys(texts)]
        return matches[0] if len(matches) == 1 else pc.or_(*matches)
    found = pa.array([], pa.int64())
    for texts, rows in _texts(prompts, pa.array(range(len(prompts)), pa.int64())):
        found = pa.concat_arrays([found, rows.filter(_match(texts, wanted, ignore_case=ignore_case))])
    return pc.is_in(pa.array(range(len(prompts)), pa.int64()), value_set=found)


def _match(texts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    if texts.type == pa.string_view():
        texts = texts.cast(pa.large_string())
    return pc.fill_null(pc.match_substring(texts, wanted, ignore_case=ignore_case), False)


def _texts(values: pa.Array, rows: pa.Array) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Give the texts in messages, each with the number of its request; a role is no text."""
    kind = values.type
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        yield values, rows
    elif types.is_list(kind) or types.is_large_list(kind):
        yield from _texts(values.flatten(), rows.take(pc.list_parent_indices(values)))
    elif types.is_struct(kind):
        for number, name in enumerate(field.name for field in kind):
            if name not in ("role", "type"):
                yield from _texts(values.field(number), rows)
