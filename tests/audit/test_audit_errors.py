"""Audits of tables some of whose rows can't be rendered."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.audit_parts import READER, findings_by_code, shots
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main

SAMPLES = pa.table(
    {
        "q": ["x", "a question that is too long", "", "y <|im_end|>", "another question that is too long", "the", "x"],
        "a": ["1", "2", "3", "4", "5", "6", "1"],
    }
)
BAD = [1, 4]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@UNWARNED
def test_rows_that_cannot_be_rendered_are_a_finding(size: int) -> None:
    renderer = pp.Renderer(" {q}", reader=READER, limits={"prompt_bytes": 20})
    batches = SAMPLES.to_batches(size)
    options: dict[str, Any] = {"tokenizer": small_tokenizer()}
    findings = findings_by_code(renderer, batches, **options)
    finding = findings.pop("unrenderable_row")
    assert (finding["severity"], finding["rows"], finding["first_rows"]) == ("error", 2, BAD)
    assert "left out of all other checks: " in finding["message"]
    rows = [row for row in range(len(SAMPLES)) if row not in BAD]
    wanted = findings_by_code(renderer, SAMPLES.take(rows), **options)
    assert {"empty_prompt", "duplicate_samples", "straddling_token", "special_token"} <= set(wanted)
    for code, errors in wanted.items():
        errors["first_rows"] = errors["first_rows"] and [rows[row] for row in errors["first_rows"]]
        assert code == "duplicate_samples" or findings[code] == errors
    assert findings["duplicate_samples"]["first_rows"] == [0, 6]
    assert set(findings) == set(wanted)


@UNWARNED
def test_rows_have_the_examples_that_they_have_in_the_whole_table() -> None:
    samples = pa.table({"q": [f"q{n}" + "x" * (80 if n % 7 == 3 else 0) for n in range(60)], "a": ["-"] * 60})
    retriever = {"type": "RandomRetriever", "ice_num": 6, "seed": 3}
    renderer = shots(retriever, samples, limits={"prompt_bytes": 300})
    prompts = renderer.render(samples, errors="column")["prompt"].to_pylist()
    wanted = [n for n, prompt in enumerate(prompts) if prompt is not None and prompt.count(f"Q: q{n}\n") > 1]
    assert len(wanted) > 1
    for size in (1, 9, 100):
        findings = findings_by_code(renderer, samples.to_batches(size))
        assert findings["unrenderable_row"]["rows"] == prompts.count(None) > 0
        assert findings["own_example_row"]["first_rows"] == wanted[:10]


def test_a_chat_template_and_masks() -> None:
    def talk(*texts: str) -> str:
        roles = ("user", "assistant") * len(texts)
        return json.dumps([{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)])

    talks = pa.table({"messages": [talk("a", "b"), "oops", talk("a"), "[]", talk("c", "d", "e", "f")]})
    chat = pp.ChatTemplate("{% for m in messages[-2:] %}{{ m.content }}<|im_end|>{% endfor %}")
    for size in (1, 2, 9):
        findings = findings_by_code(chat, talks.to_batches(size), tokenizer=small_tokenizer(), mask="assistant")
        bad = chat.audit(talks.to_batches(size), only=["unrenderable_row"])
        assert (bad["rows"].to_pylist(), bad["first_rows"].to_pylist()) == ([1, 1], [[1], [3]])
        assert findings["empty_mask"]["first_rows"] == [2]
        assert findings["untrained_stop"]["first_rows"] == [0, 4]
        assert findings["changing_prefix"]["first_rows"] == [4]


def test_the_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.jsonl").write_text('{"q": "a"}\n{"q": "much too long"}\n{"q": ""}\n', encoding="utf-8")
    command = ["audit", "--template", "{q}", "--data", f"{tmp_path}/data.jsonl", "--limits", "prompt_bytes=5"]
    assert main([*command, "--errors", "skip"]) == 2
    assert "audit counts rows that can't be rendered, and goes on" in capsys.readouterr().err
    assert main([*command, "--where", "q <> 'a'"]) == 1
    out = capsys.readouterr().out
    assert "unrenderable_row  1 row: 1" in out
    assert "empty_prompt  1 row: 2" in out
