"""Jinja templates over tables, each in the kind of step that makes it up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from texts import multiple_choice, repeated, word_problems
from workloads import ZERO

COLUMNS = ["input", "A", "B", "C", "D"]


@dataclass(frozen=True)
class JinjaWorkload:
    """One template; `renderer` makes the same texts by `promptpress.Renderer`, where that can be."""

    id: str
    source: str
    samples: Callable[[int], pa.Table]
    renderer: dict[str, Any] | None = None


def padded(count: int) -> pa.Table:
    """Word problems with blanks around the question."""
    table = word_problems("train")
    question = pc.binary_join_element_wise(pa.scalar(" "), table["question"], pa.scalar("\n"), "")
    return repeated(table.set_column(0, "question", question), count)


def listed(count: int) -> pa.Table:
    """Questions with a list of choices."""
    table = multiple_choice()
    choices = [list(row) for row in zip(*(table[name].to_pylist() for name in "ABCD"), strict=True)]
    return repeated(pa.table({"question": table["input"], "choices": pa.array(choices)}), count)


def hinted(count: int) -> pa.Table:
    """Word problems of which every third has a hint, and each says whether its answer is to be short."""
    table = word_problems("train")
    rows = range(table.num_rows)
    answers = table["answer"].to_pylist()
    hints = [answer[:40] if row % 3 == 0 else "" for row, answer in zip(rows, answers, strict=True)]
    table = table.append_column("hint", pa.array(hints)).append_column(
        "short", pa.array([row % 2 == 0 for row in rows])
    )
    return repeated(table.drop_columns(["answer"]), count)


JINJA_WORKLOADS = [
    JinjaWorkload(
        id="fields",
        source="A multiple choice question follows. Answer with one letter.\n\n"
        "{{input}}\nA. {{A}}\nB. {{B}}\nC. {{C}}\nD. {{D}}\nAnswer:",
        samples=lambda count: repeated(multiple_choice(), count, COLUMNS),
        renderer=ZERO,
    ),
    JinjaWorkload(id="strip", source="Question: {{ question.strip() }}\nAnswer:", samples=padded),
    JinjaWorkload(
        id="item",
        source="{{ question }}\nA. {{ choices[0] }}\nB. {{ choices[1] }}\n"
        "C. {{ choices[2] }}\nD. {{ choices[3] }}\nAnswer:",
        samples=listed,
    ),
    JinjaWorkload(
        id="condition",
        source="{% if hint %}Hint: {{ hint }}\n{% endif %}Question: {{ question }}\n"
        "{{ 'Answer with a number.' if short else 'Think step by step.' }}\nAnswer:",
        samples=hinted,
    ),
    JinjaWorkload(
        id="mmlu",
        source="{{ question.strip() }}\n"
        "{% for choice in choices %}{{ 'ABCD'[loop.index0] }}. {{ choice }}\n{% endfor %}Answer:",
        samples=listed,
    ),
]
JINJA_BY_ID = {workload.id: workload for workload in JINJA_WORKLOADS}

FILTERS = {
    "tojson": "{{ choices|tojson }}",
    "%": "{{ 'Question: %s' % question }}",
    "truncate": "{{ question|truncate(80) }}",
    "indent": "{{ question|indent(4) }}",
    "wordwrap": "{{ question|wordwrap(40) }}",
    "format": "{{ 'Question: {}'.format(question) }}",
    "center": "{{ question|center(200) }}",
}
"""Templates of everyday filters that are compiled."""

NOT_COMPILED = "{% macro line(text) %}{{ text|random|length }}: {{ text|upper }}{% endmacro %}{{ line(question) }}"
