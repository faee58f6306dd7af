"""A task with its documents, as the harness's constructor reads them, and the choice of evaluated documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import template_error

from promptpress_harness.lm_eval.columns import Column, values
from promptpress_harness.lm_eval.documents import Documents, TableDocuments, document_error
from promptpress_harness.lm_eval.equal_rows import equal_rows
from promptpress_harness.lm_eval.fewshot_sampling import draw, draw_once, first_n
from promptpress_harness.lm_eval.fields import Fields, FormatRules
from promptpress_harness.lm_eval.task_config import TaskConfig


class Task:
    """A task with its documents.

    Args:
        config: The task's configuration.
        documents: All documents of the evaluated split.
        pool: The documents that shots are drawn from; None if there are no shots.
    """

    def __init__(self, config: TaskConfig, documents: TableDocuments, pool: Documents | None) -> None:
        self.config = config
        self.documents = documents
        self.pool = pool
        rules = None
        if config.by_format:
            is_choice = config.output_type == "multiple_choice"
            rules = FormatRules(config.doc_to_choice if is_choice else None, config.several_targets)
        self.fields = Fields(documents.names, config.doc_to_choice is not None, rules)
        self.several_inputs = not config.by_format and self._has_several_inputs()
        prefix = config.fewshot.gen_prefix
        if config.by_format and pool is not None and prefix and (prefix in documents.names or "{" in prefix):
            message = "in a task with a format, examples begin with the same gen_prefix; found one of each document"
            raise template_error("unsupported_class", "gen_prefix", message)

    def _has_several_inputs(self) -> bool:
        """Look at the first document, which decides for all of them in the harness."""
        if not len(self.documents):
            raise document_error(IndexError("there are no documents"), "row", 0)
        first = self.documents.take(range(1))
        (text,), (target,) = values(self.text(first)), values(self.target(first))
        if self.config.doc_to_choice is None:
            return False
        (choices,) = values(self.choices(first))
        try:
            if isinstance(text, int) and not isinstance(choices, list):
                raise UnboundLocalError("the choices are no list")
            if isinstance(target, int):
                target = choices[target]
            for choice in choices:
                bool(choice[0].isspace())
        except Exception as error:
            raise first.raised_at(error, 0) from error
        return isinstance(text, int) and bool(choices)

    def draw_shots(self, random: Random, documents: Documents) -> pa.Array:
        """Return the rows (int32) of the pool that are the first document's shots, then those of the second, and so on.

        Raises:
            TemplateError: If the pool has too few documents.
        """
        shots, pool = self.config.num_fewshot, self.pool
        assert pool is not None
        groups = None
        if self.config.excludes_evaluated_document:
            same = isinstance(pool, TableDocuments) and pool.table is self.documents.table
            groups = equal_rows(documents, pool, same)
        try:
            if self.config.fewshot.sampler == "first_n":
                return first_n(len(pool), shots, None if self.config.by_format else groups, len(documents))
            if not len(pool):
                raise AssertionError("there are no few-shot documents")
            if self.config.by_format and groups is not None:
                return draw_once(random, len(pool), shots, groups, len(documents))
            return draw(random, len(pool), shots, groups, len(documents))
        except (AssertionError, ValueError) as error:
            raise template_error("too_few_examples", "num_fewshot", f"{type(error).__name__}: {error}") from error

    def text(self, documents: Documents) -> Column:
        """Return the documents' texts."""
        return self.fields.text(self.config.doc_to_text, documents)

    def target(self, documents: Documents) -> Column:
        """Return the documents' targets."""
        return self.fields.target(self.config.doc_to_target, documents)

    def choices(self, documents: Documents) -> Column:
        """Return the documents' choices."""
        return self.fields.choices(self.config.doc_to_choice, documents)


def choose_documents(
    count: int,
    limit: Any = None,
    samples: Sequence[int] | None = None,
    rank: int = 0,
    world_size: int = 1,
    *,
    numbers_are_rows: bool = False,
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the numbers of the evaluated documents, as the harness counts them, and their rows.

    The options are those of `requests`. If one makes no sense, TemplateError is raised. With `numbers_are_rows`, as in
    the harness from 0.5 on, samples have the numbers of their rows.

    >>> choose_documents(9, samples=[7, 2, 4], rank=1, world_size=2)
    ([1], [4])
    """
    try:
        if samples:
            if not all(row < count for row in samples):
                message = f"a number is past the {count} documents"
                raise AssertionError(message)
            chosen = set(samples)
            rows = [row for row in range(count) if row in chosen]
            pairs = list(islice(enumerate(rows), int(rank), None, int(world_size)))
            chosen_rows = [row for _, row in pairs]
            return chosen_rows if numbers_are_rows else [number for number, _ in pairs], chosen_rows
        if limit and int(limit) < 0:
            raise ValueError("limit is negative")
        if rank < 0 or world_size < 1:
            raise ValueError("rank is at least 0 and world_size at least 1")
        numbers = range(count)[: int(limit) if limit else None][int(rank) :: int(world_size)]
        return numbers, numbers
    except (AssertionError, TypeError, ValueError, OverflowError) as error:
        location = "samples" if samples else "limit"
        raise template_error("invalid_number", location, f"{type(error).__name__}: {error}") from error
