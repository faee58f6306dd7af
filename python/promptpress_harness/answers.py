"""Answers that `join` brought back to rows, as a harness is given them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import render_error

_ROWS = 3
"""The largest number of rows that a message lists."""


def answered(table: pa.Table, unanswered: str | None = None, prefix: str = "", place: str = "row") -> list[Any]:
    """Return the answer of each row: its text, or a list of texts if all choices were joined.

    Args:
        table: Rows with `response`, and with `status` if some may have no answer.
        unanswered: What stands for an answer that is missing, failed, refused or null; None: such rows are an error.
        prefix: The beginning of these columns' names.
        place: The column that numbers the rows for the message, if there is one; else the row's own number counts.

    Raises:
        RenderError: If the table has no answers, or rows have none and nothing stands for them.
    """
    response, status = f"{prefix}response", f"{prefix}status"
    if response not in table.column_names:
        message = f"the rows have no such column; promptpress join adds it: {', '.join(table.column_names)}"
        raise render_error("missing_column", message, column=response)
    answers = table[response].to_pylist()
    states = table[status].to_pylist() if status in table.column_names else ["ok"] * len(answers)
    lacking: dict[int, str] = {}
    for row, (answer, state) in enumerate(zip(answers, states, strict=True)):
        if state != "ok":
            lacking[row] = state
        elif answer is None or (isinstance(answer, list) and (not answer or None in answer)):
            lacking[row] = "without a text"
    if lacking and unanswered is None:
        counts = ", ".join(f"{count:,} {state}" for state, count in Counter(lacking.values()).items())
        numbers = table[place].to_pylist() if place in table.column_names else range(len(answers))
        listed = [str(numbers[row]) for row in lacking]
        first = ", ".join(listed[:_ROWS]) + (", ..." if len(listed) > _ROWS else "")
        message = (
            f"{len(lacking):,} of {len(answers):,} rows have no answer ({counts}): {place} {first}; join results of "
            "a second try, or say by unanswered= what stands for them, such as an empty text"
        )
        raise render_error("invalid_result", message)
    return [unanswered if row in lacking else answer for row, answer in enumerate(answers)]
