"""Calls with a dict of lists, as functions over Python's rows give batches."""

from __future__ import annotations

import promptpress as pp
from marks import UNWARNED

pytestmark = UNWARNED

BATCH = {"q": ["1", "2"], "n": [1, 2], "odd": [{"a": 1}, {"b": "x"}]}


def test_a_dict_of_lists_gets_one_and_columns_stay_as_they_are() -> None:
    for renderer in (pp.Renderer("Q: {q}"), pp.JinjaTemplate("Q: {{ q }}")):
        out = renderer(BATCH)
        assert out == {**BATCH, "prompt": ["Q: 1", "Q: 2"]}
        assert out["odd"] is BATCH["odd"]


def test_several_requests_a_sample_repeat_the_columns() -> None:
    out = pp.Renderer({"A": "{q} A", "B": "{q} B"}, mode="ppl")({"q": ["1", "2"]})
    assert out == {
        "q": ["1", "1", "2", "2"],
        "label": ["A", "B", "A", "B"],
        "prompt": ["1 A", "1 B", "2 A", "2 B"],
    }


def test_messages_are_lists_of_dicts() -> None:
    out = pp.Renderer("Q: {q}", output="openai")({"q": ["1"]})
    assert out["prompt"] == [[{"role": "user", "content": "Q: 1"}]]
