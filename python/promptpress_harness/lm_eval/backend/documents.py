"""The documents that requests are built for, decoded in blocks.

The harness takes row after row out of a Hugging Face dataset. Here its own code goes over row numbers instead, and
Arrow decodes many rows at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from promptpress.engine.tables import rows_of

from promptpress_harness.bulk.dataset import Rows, is_dataset
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.lm_eval.backend.comparison import difference

BLOCK = 1024


class Documents:
    """The documents of one call of `build_all_requests`, in its order.

    Args:
        numbered: Pairs of `(doc_id, row)`, as the harness's iterator returns them.
        dataset: The Hugging Face dataset of the rows.

    Raises:
        NotCoveredError: If Arrow doesn't return the rows as the dataset does.
    """

    def __init__(self, numbered: list[tuple[int, int]], dataset: Any) -> None:
        self._rows = Rows(dataset)
        self._dataset = dataset
        self._numbers = [row for _, row in numbered]
        first = self._numbers[0] if numbered else 0
        self._is_range = self._numbers == list(range(first, first + len(numbered)))
        self.docs: list[dict[str, Any]] = []
        for start in range(0, len(numbered), BLOCK):
            self.docs += rows_of(self.table(start))
        self.pairs = [(doc_id, doc) for (doc_id, _), doc in zip(numbered, self.docs, strict=True)]

    def table(self, start: int) -> pa.Table:
        """Return the block of documents from index `start` on."""
        numbers = self._numbers[start : start + BLOCK]
        if self._is_range:
            return self._rows.slice(numbers[0], numbers[-1] + 1)
        return self._rows.take(numbers)

    def by_harness(self, index: int) -> Any:
        """Return a document as the dataset itself does."""
        return self._dataset[self._numbers[index]]


def documents_of(task: Any, options: dict[str, Any]) -> tuple[list[tuple[int, Any]], Documents | None, str]:
    """Return the pairs of number and document of the harness's `doc_iterator`, and the documents decoded in blocks.

    If they can't be decoded in blocks, or the first one differs then, return the pairs, None and the reason.
    """
    datasets: list[Any] = []
    with _row_numbers_as_docs(task, datasets):
        numbered = list(type(task).doc_iterator(task, **options))
    dataset = datasets[-1]
    if not is_dataset(dataset):
        return numbered, None, f"a dataset of {type(dataset).__name__} isn't a Hugging Face dataset"
    try:
        documents = Documents(numbered, dataset)
    except NotCoveredError as reason:
        # As the harness does, take row after row, to the last one that is needed.
        doc_ids = {row: doc_id for doc_id, row in numbered}
        rows = enumerate(itertools.islice(dataset, max(doc_ids, default=-1) + 1))
        return [(doc_ids[row], doc) for row, doc in rows if row in doc_ids], None, str(reason)
    if numbered and (path := difference(documents.docs[0], documents.by_harness(0))):
        pairs = [(doc_id, documents.by_harness(index)) for index, (doc_id, _) in enumerate(numbered)]
        return pairs, None, f"the first document is another{path}"
    return documents.pairs, documents, ""


@contextmanager
def _row_numbers_as_docs(task: Any, datasets: list[Any]) -> Iterator[None]:
    """Replace a task's datasets by ranges of the same lengths, so that its iterator returns row numbers.

    The list receives each dataset that the iterator reads.
    """

    def numbers(method: Callable[[], Any]) -> Callable[[], Any]:
        def docs() -> Any:
            dataset = method()
            datasets.append(dataset)
            return range(len(dataset)) if is_dataset(dataset) else dataset

        return docs

    replacements = {name: numbers(getattr(task, name)) for name in ("test_docs", "validation_docs")}
    vars(task).update(replacements)
    try:
        yield
    finally:
        for name in replacements:
            del vars(task)[name]
