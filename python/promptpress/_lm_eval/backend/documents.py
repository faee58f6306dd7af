"""The documents that requests are built for, decoded in blocks.

The harness takes row after row out of a Hugging Face dataset; here it goes over their numbers, with the same code, and
the rows come out of Arrow many at a time.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from promptpress._backend.dataset import Rows
from promptpress._backend.monkeypatches import NotCoveredError

BLOCK = 1024
_METHODS = ("test_docs", "validation_docs")


class Documents:
    """The documents of one call of `build_all_requests`, in its order.

    Args:
        numbered: `(doc_id, row)`, as the harness's iterator gives them.
        dataset: What the rows are those of.

    Raises:
        NotCoveredError: If a row of the dataset isn't what Arrow gives.
    """

    def __init__(self, numbered: list[tuple[int, int]], dataset: Any) -> None:
        self._rows = Rows(dataset)
        self._dataset = dataset
        self.numbers = [row for _, row in numbered]
        first = self.numbers[0] if numbered else 0
        self._is_range = self.numbers == list(range(first, first + len(numbered)))
        self.docs: list[dict[str, Any]] = []
        for start in range(0, len(numbered), BLOCK):
            self.docs += self.table(start).to_pylist()
        self.pairs = [(doc_id, doc) for (doc_id, _), doc in zip(numbered, self.docs, strict=True)]

    def table(self, start: int) -> pa.Table:
        """A block of documents as a table.

        Args:
            start: The place of its first one.
        """
        numbers = self.numbers[start : start + BLOCK]
        if self._is_range:
            return self._rows.slice(numbers[0], numbers[-1] + 1)
        return self._rows.take(numbers)

    def by_harness(self, at: int) -> Any:
        """A document as the dataset itself gives it."""
        return self._dataset[self.numbers[at]]


def documents_of(task: Any, options: dict[str, Any]) -> tuple[list[tuple[int, Any]], Documents | None, str]:
    """What the harness's iterator gives, and why it isn't decoded in blocks.

    Args:
        task: The harness's task.
        options: The arguments of its `doc_iterator`.

    Returns:
        Pairs of a number and a document; the documents; or None and the reason.
    """
    found: list[Any] = []
    with _rows_in_place_of_docs(task, found):
        numbered = list(type(task).doc_iterator(task, **options))
    dataset = found[-1]
    if not _is_dataset(dataset):
        return numbered, None, f"a dataset of {type(dataset).__name__} isn't a Hugging Face dataset"
    try:
        documents = Documents(numbered, dataset)
    except NotCoveredError as reason:
        return _in_order(numbered, dataset), None, str(reason)
    return documents.pairs, documents, ""


def _in_order(numbered: list[tuple[int, int]], dataset: Any) -> list[tuple[int, Any]]:
    """The documents as the harness takes them: row after row, to the last that is wanted."""
    doc_ids = {row: doc_id for doc_id, row in numbered}
    last = max(doc_ids, default=-1)
    rows = enumerate(itertools.islice(dataset, last + 1))
    return [(doc_ids[row], doc) for row, doc in rows if row in doc_ids]


@contextmanager
def _rows_in_place_of_docs(task: Any, found: list[Any]) -> Iterator[None]:
    """Have a task's splits be ranges as long as they are, so that its own iterator tells which rows it takes."""

    def numbers(method: Callable[[], Any]) -> Callable[[], Any]:
        def docs() -> Any:
            dataset = method()
            found.append(dataset)
            return range(len(dataset)) if _is_dataset(dataset) else dataset

        return docs

    for name in _METHODS:
        vars(task)[name] = numbers(getattr(task, name))
    try:
        yield
    finally:
        for name in _METHODS:
            del vars(task)[name]


def _is_dataset(dataset: Any) -> bool:
    datasets = sys.modules.get("datasets")
    return datasets is not None and type(dataset) is datasets.Dataset
