"""A search through every prompt, as they are rendered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._list_items import parent_rows
from promptpress._view.prompt_source import PromptSource, RequestBatch
from promptpress._viewer.row_finder import RowFinder


class Search(RowFinder):
    """Finds the rows with a request that holds a text.

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
        self._source = source
        self._label = label
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for batch in self._source.requests():
            if len(batch):
                yield batch.samples.filter(self._matches(batch)).to_pylist(), batch.samples[-1].as_py() + 1

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
        yield from _texts(values.flatten(), rows.take(parent_rows(values)))
    elif types.is_struct(kind):
        for number, name in enumerate(field.name for field in kind):
            if name not in ("role", "type"):
                yield from _texts(values.field(number), rows)
