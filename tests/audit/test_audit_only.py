"""Audits that look for some findings: the other checks don't run. Each code by itself is compared in conftest.py."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress_workbench.audit.batch import ConfiguredBatch, TemplateBatch
from promptpress_workbench.audit.codes import ALL_CODES
from promptpress_workbench.audit.collect import CHECKS

SAMPLES = pa.table({"q": ["fine", "fine", "see <|im_end|>"], "a": ["x", "x", "y"]})
RENDERERS: list[Any] = [pp.Renderer("Q: {q}"), pp.JinjaTemplate("Q: {{ q }}")]


def codes(renderer: Any, **options: Any) -> list[str]:
    listed: list[str] = renderer.audit(SAMPLES, **options)["code"].to_pylist()
    return listed


def test_every_code_belongs_to_one_check() -> None:
    by_checks = [code for kind in CHECKS for code in kind.codes]
    assert len(by_checks) == len(set(by_checks))
    assert {*by_checks, "unrenderable_row"} == ALL_CODES


@pytest.mark.parametrize("renderer", RENDERERS)
def test_some_findings(renderer: Any) -> None:
    both = ["likely_special_token", "duplicate_samples"]
    assert set(both) <= set(codes(renderer))
    assert codes(renderer, only=both) == both
    assert codes(renderer, only=both[:1]) == both[:1]
    assert codes(renderer, only=("empty_prompt",)) == codes(renderer, only=()) == []


@pytest.mark.parametrize("renderer", RENDERERS)
def test_what_is_allowed_is_left_out_of_what_is_looked_for(renderer: Any) -> None:
    assert codes(renderer, only=["likely_special_token", "empty_prompt"], allow=["likely_special_token"]) == []


def test_a_chat_template() -> None:
    chat = pp.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}")
    messages = [[{"role": "user", "content": "a"}, {"role": "assistant", "content": content}] for content in ("", " ")]
    samples = pa.table({"messages": [*messages, [{"role": "user", "content": ""}]]})
    assert chat.audit(samples, only=["empty_prompt"])["first_rows"].to_pylist() == [[2]]


@pytest.mark.parametrize(
    ("only", "error"),
    [
        (["emptyprompt"], "only: there is no finding 'emptyprompt'; did you mean 'empty_prompt'?"),
        ("empty_prompt", "only: expected a list of codes, found one text"),
    ],
)
def test_codes_that_there_are_not(only: Any, error: str) -> None:
    for renderer in RENDERERS:
        with pytest.raises((TypeError, ValueError)) as caught:
            renderer.audit(SAMPLES, only=only)
        assert error in str(caught.value)


@pytest.mark.parametrize(
    ("code", "renders"),
    [("null_value", False), ("answer_in_prompt", False), ("unread_key", False), ("empty_prompt", True)],
)
def test_nothing_is_rendered_that_no_check_reads(monkeypatch: pytest.MonkeyPatch, code: str, renders: bool) -> None:
    rendered = []
    monkeypatch.setattr(ConfiguredBatch, "requests", property(lambda _: rendered.append(1) or []))
    RENDERERS[0].audit(SAMPLES, only=[code])
    assert bool(rendered) == renders


def test_a_template_is_rendered_without_spans_if_no_check_reads_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = []
    monkeypatch.setattr(TemplateBatch, "spans", property(lambda _: spans.append(1)))
    assert codes(RENDERERS[1], only=["duplicate_samples"]) == ["duplicate_samples"]
    assert not spans
