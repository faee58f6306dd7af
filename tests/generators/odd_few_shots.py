"""Few-shot configurations of each retriever over values that bring in placeholders."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

TURNS = [{"role": "HUMAN", "prompt": "{q}?"}, {"role": "BOT", "prompt": "{a}"}]
RETRIEVERS: dict[str, dict[str, Any]] = {
    "FixKRetriever": {"fix_id_list": [1, 0]},
    "RandomRetriever": {"ice_num": 3, "seed": 7},
    "SlidingWindowRetriever": {"k": 2},
    "IndexColumn": {"column": "ids"},
}
WORDS = ["plain", "see {a}", "{", "q}", "{q}", "", "é😀", "{a}{a}"]
"""Half a placeholder, a whole one of the samples' own, and none."""

each_retriever = pytest.mark.parametrize("retriever", RETRIEVERS)
each_template = pytest.mark.parametrize("template", [{"round": ["</E>", *TURNS]}, "</E>\n{q}", {"round": ["{q}"]}])


def odd_few_shots(retriever: str, template: Any, rows: int, **more: Any) -> tuple[pp.Renderer, pa.Table]:
    """A renderer and its samples, which are its examples too."""
    table = pa.table(
        {
            "q": [WORDS[n % 8] for n in range(rows)],
            "a": [WORDS[n * 3 % 7] for n in range(rows)],
            "ids": [[n % 5, (n * 7) % 100] if n % 3 else [] for n in range(rows)],
        }
    )
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": template, "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": {"round": TURNS} if isinstance(template, dict) else "{q}={a}"},
        {"type": retriever, **RETRIEVERS[retriever]},
        table,
        {"input_columns": ["q"], "output_column": "a"},
        **more,
    )
    return renderer, table
