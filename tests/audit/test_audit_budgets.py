"""The audit of a renderer with a budget of tokens: examples that are left out, and prompts that are too long still."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.audit_parts import findings_by_code, rows
from parts.small_tokenizers import small_tokenizer

pytestmark = UNWARNED

TRAIN = pa.table({"q": [f"{n}+{n}?" for n in range(6)], "a": [str(2 * n) for n in range(6)]})
SAMPLES = pa.table({"q": ["7?", "what is " * 5, "x" * 200, "8?"], "a": ["7", "5", "200", "8"]})


def renderer(most: int, **options: object) -> pp.Renderer:
    shots = {"shots": 5, "examples": TRAIN, "output_column": "a", "tokenizer": small_tokenizer(), "max_seq_len": most}
    return pp.Renderer("Q: {q}\nA: {a}", **{**shots, **options})  # type: ignore[arg-type]  # a dict of all kinds


@pytest.mark.parametrize("options", [{}, {"seed": 3}])
def test_what_would_be_cut(options: dict[str, int]) -> None:
    findings = findings_by_code(renderer(60, **options), SAMPLES)
    assert findings["examples_left_out"]["rows"] == 4
    assert findings["examples_left_out"]["severity"] == "info"
    assert "2 of 3, 1 of 1, 1 of 0" in findings["examples_left_out"]["message"]
    assert rows(findings, "prompt_truncated") == [2]
    assert findings["prompt_truncated"]["severity"] == "warning"
    in_batches = renderer(60, **options).audit(pa.Table.from_batches(SAMPLES.to_batches(max_chunksize=1)))
    assert in_batches == renderer(60, **options).audit(SAMPLES)


def test_nothing_is_cut_where_all_fit() -> None:
    assert not {"examples_left_out", "prompt_truncated"} & set(findings_by_code(renderer(10**6), SAMPLES))


def test_labels_of_a_sample_count_once() -> None:
    template = {"A": "{q} is A", "B": "{q} is B"}
    made = pp.Renderer(template, mode="ppl", tokenizer=small_tokenizer(), max_seq_len=20)
    findings = findings_by_code(made, SAMPLES)
    assert rows(findings, "prompt_truncated") == [1, 2]
    assert findings["prompt_truncated"]["rows"] == 2


@pytest.mark.parametrize("choices", [[[0], [9], [0, 1]], [[9], [0]], [[9], [9], [1, 2]], [[0], None, [1], [9], [0, 2]]])
@pytest.mark.parametrize("more", [{}, {"substitution": "harness"}, {"output": "messages_json"}])
def test_rows_keep_their_numbers_after_one_that_cant_be_rendered(choices: list[Any], more: dict[str, Any]) -> None:
    """The numbers are those of an audit in which the bad row shows no examples."""
    made = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        ice_template={"type": "PromptTemplate", "template": "{q}={a}"},
        examples=TRAIN,
        retriever={"type": "IndexColumn", "column": "ids"},
        reader={"input_columns": ["q"], "output_column": "a"},
        tokenizer=small_tokenizer(),
        max_seq_len=8,
        **more,
    )
    is_bad = [ids is None or 9 in ids for ids in choices]
    tables = []
    for ids in (choices, [[] if bad else ids for ids, bad in zip(choices, is_bad, strict=True)]):
        named = pa.array(ids, pa.list_(pa.int64()))
        tables.append(pa.table({"q": ["x"] * len(ids), "a": ["y"] * len(ids), "ids": named}))
    findings, expected = (made.audit(table).to_pylist() for table in tables)
    bad_rows = [row for finding in findings if finding["code"] == "unrenderable_row" for row in finding["first_rows"]]
    assert sorted(bad_rows) == [row for row, bad in enumerate(is_bad) if bad]
    left_out, wanted = (
        [finding["first_rows"] for finding in of_table if finding["code"] == "examples_left_out"]
        for of_table in (findings, expected)
    )
    assert left_out == wanted


def test_other_checks_look_at_all_examples() -> None:
    findings = findings_by_code(renderer(60), SAMPLES, limits={"bytes": 70})
    assert findings["prompt_too_long"]["rows"] == 4
