"""Answers that `join` brought back to rows, as a harness is given them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import render_error


def answered(table: pa.Table, unanswered: str | None, prefix: str = "", row_name: str = "row") -> list[Any]:
    """Return each row's text, or list of choices; `unanswered` stands for those of rows without, else an error.

    `prefix` is that of `join`; the error names rows by the column `row_name`, or else by their numbers.
    """
    response, status = f"{prefix}response", f"{prefix}status"
    if response not in table.column_names:
        raise render_error("missing_column", "the rows have no such column; promptpress join adds it", column=response)
    answers = table[response].to_pylist()
    states = table[status].to_pylist() if status in table.column_names else ["ok"] * len(answers)
    for row, answer in enumerate(answers):
        if states[row] == "ok" and (answer is None or answer == [] or (isinstance(answer, list) and None in answer)):
            states[row] = "without a text"
    lacking = [row for row, state in enumerate(states) if state != "ok"]
    if lacking and unanswered is None:
        counts = ", ".join(f"{count:,} {state}" for state, count in Counter(states).items() if state != "ok")
        numbers = table[row_name].to_pylist() if row_name in table.column_names else range(len(answers))
        first = ", ".join([*(str(numbers[row]) for row in lacking[:3]), *(["..."] if len(lacking) > 3 else [])])
        message = (
            f"{len(lacking):,} of {len(answers):,} rows have no answer ({counts}): {row_name} {first}; join results "
            "of a second try, or say by unanswered= what stands for them, such as an empty text"
        )
        raise render_error("invalid_result", message)
    return [answer if state == "ok" else unanswered for answer, state in zip(answers, states, strict=True)]
