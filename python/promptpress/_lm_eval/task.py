"""A task and its documents: what the harness's constructor finds out, and each field where it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

import pyarrow as pa

from promptpress._errors import template_error
from promptpress._lm_eval.columns import Column, values
from promptpress._lm_eval.documents import Documents, TableDocuments, raised
from promptpress._lm_eval.draws import draw, first
from promptpress._lm_eval.equal_rows import equal_rows
from promptpress._lm_eval.fields import Fields
from promptpress._lm_eval.task_config import TaskConfig

__all__ = ["Task", "chosen"]


class Task:
    """A task with its documents.

    Args:
        config: The task's configuration.
        documents: All documents of the evaluated split.
        pool: What shots are drawn from; None where there are none.

    Raises:
        RenderError: If the first document can't be read as the configuration says.

    """

    def __init__(self, config: TaskConfig, documents: TableDocuments, pool: Documents | None) -> None:
        self.config = config
        self.documents = documents
        self.pool = pool
        self.has_choices = config.doc_to_choice is not None
        self.fields = Fields(documents.names, self.has_choices)
        self.several_inputs = self._has_several_inputs()

    def _has_several_inputs(self) -> bool:
        """Look at the first document, as the harness does: it decides for all of them."""
        if not len(self.documents):
            raise raised(IndexError("there are no documents"), "row", 0)
        one = self.documents.take(range(1))
        config = self.config
        (text,) = values(self.fields.text(config.doc_to_text, one))
        (target,) = values(self.fields.target(config.doc_to_target, one))
        if not self.has_choices:
            return False
        (choices,) = values(self.fields.choices(config.doc_to_choice, one))
        try:
            number = isinstance(text, int) and _number_of(choices)
            if isinstance(target, int) and not isinstance(target, list):
                target = choices[target]
            for choice in choices:
                bool(choice[0].isspace())
        except Exception as error:
            raise one.raised(error, 0) from error
        return bool(number)

    def drawn(self, random: Random, documents: Documents) -> pa.Array:
        """Return the rows (int32) of the pool that stand before each document, one document's after the other's.

        Raises:
            TemplateError: If the pool has too few.

        """
        shots, pool = self.config.num_fewshot, self.pool
        assert pool is not None
        groups = None
        if self.config.keeps_own_document_out:
            same = isinstance(pool, TableDocuments) and pool.table is self.documents.table
            groups = equal_rows(documents, pool, same)
        try:
            if self.config.shots.sampler == "first_n":
                return first(len(pool), shots, groups, len(documents))
            if not len(pool):
                raise AssertionError("there are no few-shot documents")
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


def _number_of(choices: Any) -> int:
    if not isinstance(choices, list):
        raise UnboundLocalError("the choices are no list")
    return len(choices)


def chosen(
    count: int, limit: Any = None, samples: Sequence[int] | None = None, rank: int = 0, world_size: int = 1
) -> tuple[Sequence[int], Sequence[int]]:
    """Say which documents are evaluated.

    Args:
        count: How many there are.
        limit: How many of them at the most.
        samples: Only these.
        rank: Which process this is of several.
        world_size: How many processes there are.

    Returns:
        The documents' numbers as the harness counts them, and their rows.

    Raises:
        TemplateError: If a number makes no sense.

    >>> chosen(9, samples=[7, 2, 4], rank=1, world_size=2)
    ([1], [4])

    """
    try:
        if samples:
            if not all(row < count for row in samples):
                message = f"a number is past the {count} documents"
                raise AssertionError(message)
            wanted = set(samples)
            rows = [row for row in range(count) if row in wanted]
            picked = list(islice(enumerate(rows), int(rank), None, int(world_size)))
            return [number for number, _ in picked], [row for _, row in picked]
        own = range(count)[: int(limit)] if limit and int(limit) >= 0 else range(count)
        if limit and int(limit) < 0:
            raise ValueError("limit is negative")
        if rank < 0 or world_size < 1:
            raise ValueError("rank is at least 0 and world_size at least 1")
        own = own[int(rank) :: int(world_size)]
        return own, own
    except (AssertionError, TypeError, ValueError, OverflowError) as error:
        place = "samples" if samples else "limit"
        raise template_error("invalid_number", place, f"{type(error).__name__}: {error}") from error
