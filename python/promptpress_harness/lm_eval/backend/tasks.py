"""The tasks of a running harness: which are covered, their documents in blocks, and the log of their requests."""

from __future__ import annotations

import functools
import gc
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any

import pyarrow as pa
from promptpress.engine.tables import rows_of

from promptpress_harness.bulk.dataset import Rows, is_dataset
from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_no_shadows,
    check_unpatched,
    check_unpatched_class,
)
from promptpress_harness.bulk.report import CallRecord, count, log_once

TASK = "lm_eval.api.task"
SAMPLERS = "lm_eval.api.samplers"
_OUTPUT_TYPES = ("loglikelihood", "loglikelihood_rolling", "multiple_choice", "generate_until")
_BASE_METHODS = ("doc_iterator", "resolve_field")
_METHODS = (
    *("fewshot_context", "build_qa_turn", "multiple_input_context", "construct_requests"),
    *("doc_to_text", "doc_to_target", "doc_to_choice", "doc_to_prefix"),
    *("has_test_docs", "has_validation_docs", "test_docs", "validation_docs"),
)
_SAMPLERS = ("ContextSampler", "FirstNSampler")
_TYPES: dict[str, tuple[type, ...]] = {
    "doc_to_text": (str, int),
    "doc_to_target": (str, int, list),
    "doc_to_choice": (str, list, dict),
    "description": (str,),
    "gen_prefix": (str,),
    "target_delimiter": (str,),
    "fewshot_delimiter": (str,),
}
"""Types of the settings that aren't functions; a function would see every document."""
_CHANCE = re.compile(r"\|\s*random\b|\blipsum\b")
"""Matches what draws random numbers in a template: an example that is made once would draw fewer of them."""


def check_task(task: Any) -> None:
    """Raise NotCoveredError unless a task makes its requests as the harness's code does, from templates and columns."""
    module = sys.modules[TASK]
    if type(task) is not vars(module).get("ConfigurableTask"):
        raise NotCoveredError(f"{type(task).__name__} is a class of its own")
    check_no_shadows(task)
    for path in (*(f"Task.{name}" for name in _BASE_METHODS), *(f"ConfigurableTask.{name}" for name in _METHODS)):
        check_unpatched(TASK, path)
    if task.OUTPUT_TYPE not in _OUTPUT_TYPES:
        raise NotCoveredError(f"the output type {task.OUTPUT_TYPE!r} isn't known")
    if getattr(task, "prompt", None) is not None:
        raise NotCoveredError("use_prompt isn't covered")
    for name in ("doc_to_image", "doc_to_audio"):
        if getattr(task.config, name, None):
            raise NotCoveredError(f"{name} isn't covered")
    _check_settings(task.config, "", _TYPES)
    if task.config.num_fewshot:
        _check_settings(task.fewshot_cfg, "fewshot_config's ", [name for name in _TYPES if name != "description"])
        _check_sampler(getattr(task, "sampler", None))


def _check_settings(settings: Any, prefix: str, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is None or type(value) in _TYPES[name]:
            if "{" in str(value) and _CHANCE.search(str(value)):
                raise NotCoveredError(f"{prefix}{name} draws random numbers")
            continue
        what = "is a function" if callable(value) else f"is of the type {type(value).__name__}"
        raise NotCoveredError(f"{prefix}{name} {what}")


def _check_sampler(sampler: Any) -> None:
    module = sys.modules[SAMPLERS]
    kind = type(sampler)
    if not any(kind is vars(module).get(name) for name in _SAMPLERS):
        raise NotCoveredError(f"the sampler {kind.__name__} isn't covered")
    check_unpatched_class(kind)
    check_no_shadows(sampler)


_MAX_EXCERPT = 60


def difference(left: Any, right: Any) -> str:
    """Return the first difference of two values with its path, as text; an empty text if there is none.

    Lists, tuples, dicts and objects with attributes are compared part by part.
    """
    first = _difference(left, right)
    if first is None:
        return ""
    path, *values = first
    path = path.removeprefix(".")
    excerpts = [text if len(text := repr(value)) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "..." for value in values]
    return f" ({f'at {path}: ' if path else ''}{', '.join(excerpts)})"


def _difference(left: Any, right: Any) -> tuple[str, Any, Any] | None:
    """Return the path to the first difference with the two values there; None if there is none."""
    kind = type(left)
    if left is right or (kind in {str, int} and kind is type(right) and left == right):
        return None
    if kind is type(right):
        if not isinstance(left, (list, tuple, dict)) and hasattr(left, "__dict__"):
            left, right = dict(vars(left)), dict(vars(right))
        if isinstance(left, dict):
            keys, other_keys = list(left), list(right)
            return _first_part(left, right, keys, ".{}") if keys == other_keys else ("", keys, other_keys)
        if isinstance(left, (list, tuple)) and len(left) == len(right):
            return _first_part(left, right, range(len(left)), "[{}]")
        if _same_float(left, right) if isinstance(left, float) else left == right:
            return None
    return "", left, right


def _first_part(left: Any, right: Any, keys: Iterable[Any], form: str) -> tuple[str, Any, Any] | None:
    for key in keys:
        if (part := _difference(left[key], right[key])) is not None:
            path, *values = part
            return form.format(key) + path, *values
    return None


def _same_float(left: float, right: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


BLOCK = 1024


class Documents:
    """The documents of one call of `build_all_requests`, in its order, of pairs of `(doc_id, row)`.

    NotCoveredError is raised if Arrow doesn't return the rows as the dataset does.
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


_EXACT_TYPES = ({str}, {int}, {float}, {bool})
"""Types of values that Arrow returns unchanged."""
_NEVER = 1 << 30


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table | None:
    """Return a dataset's rows as a table from which the same rows can be read; None if there is no such table."""
    names = next(map(tuple, rows), ())
    if not names or any(tuple(row) != names for row in rows):
        return None
    try:
        columns = [_as_column([row[name] for row in rows]) for name in names]
        return None if any(column is None for column in columns) else pa.table(columns, list(names))
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
        return None


def _as_column(values: list[Any]) -> pa.Array | pa.ChunkedArray | None:
    column = pa.array(values)
    kinds = set(map(type, values))
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(values)))
    return column if kinds in _EXACT_TYPES or not difference(values, column.to_pylist()) else None


def replaced_by(
    check: Callable[[Any], None], methods_replaced: Callable[[Any, TaskRecord], AbstractContextManager[None]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a function that makes a replacement of the harness's `build_all_requests`.

    `check` raises NotCoveredError for a task that the harness has to build; `methods_replaced` replaces what the
    harness's loop calls, within a `with` block.
    """

    def replacement(harness: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(harness)
        def build_all_requests(self: Any, *arguments: Any, **options: Any) -> Any:
            with record_task(self) as record:
                try:
                    check(self)
                except NotCoveredError as reason:
                    record.left(str(reason))
                except Exception as error:
                    record.left(f"its objects are not as expected ({error!r})")
                else:
                    with methods_replaced(self, record), without_full_collections():
                        return harness(self, *arguments, **options)
                return harness(self, *arguments, **options)

        return build_all_requests

    return replacement


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Keep the garbage collector from full collections, which visit all objects.

    A full collection starts whenever the objects have grown by a quarter. With documents and requests, none of which
    can go, this takes half of the time. New objects are still collected.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        if gc.get_threshold() == (young, middle, _NEVER):
            gc.set_threshold(young, middle, old)
