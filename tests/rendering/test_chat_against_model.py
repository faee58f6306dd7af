"""ChatInferencer against the plain model: random chats, splits and replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
from amounts import part_of
from generators.strategies import Case, chat_cases
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.chat_model import ModelError, requests
from parts.chat_parts import prompts

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(300), deadline=None, database=None, suppress_health_check=CHECKS)


def of_model(case: Case, replies: list[list[str]] | None = None) -> list[tuple[int, int, Any]] | None:
    try:
        return requests(case.config, case.samples.to_pylist(), replies)
    except ModelError as error:
        note(f"the model refuses: {error}")
        assume(not str(error).startswith("a token has no text"))  # which no prompt may show
        return None


def tried(action: Callable[[], Any]) -> Any:
    """Return what the renderer gives, or None if it refuses."""
    try:
        return action()
    except (pp.TemplateError, pp.RenderError) as error:
        note(f"the renderer refuses: {error}")
        return None


def of_renderer(case: Case) -> tuple[pp.Renderer, pa.Table] | None:
    def both() -> tuple[pp.Renderer, pa.Table]:
        renderer = pp.Renderer(**case.config)
        return renderer, renderer.render(numbered(case.samples), keep=["row number"])

    return tried(both)


def numbered(samples: pa.Table) -> pa.Table:
    return samples.append_column("row number", pa.array(range(len(samples))))


def listed(table: pa.Table) -> list[tuple[int, int, Any]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@UNWARNED
@QUICK
@given(chat_cases())
def test_random_chats(case: Case) -> None:
    want, got = of_model(case), of_renderer(case)
    if want is None or got is None:
        assert want is None, "refused without need"
        assert got is None, "rendered what the model refuses"
        return
    assert listed(got[1]) == want
    assert got[1].schema == got[0].output_schema(numbered(case.samples).schema, ["row number"])


@UNWARNED
@settings(QUICK, max_examples=part_of(150))
@given(chat_cases(), st.integers(1, 3))
def test_splits_and_streams_change_nothing(case: Case, size: int) -> None:
    got = of_renderer(case)
    if got is None:
        return
    renderer, whole = got
    samples = numbered(case.samples)
    batches = samples.to_batches(max_chunksize=size)
    assert renderer.stream(batches, keep=["row number"]).read_all().equals(whole)
    calls = pa.Table.from_batches([renderer(batch) for batch in batches])
    assert calls.select(["row number", "turn", "prompt"]).equals(whole)
    if case.config["output"] == "messages":
        as_json = pp.Renderer(**{**case.config, "output": "messages_json"})
        assert [json.loads(text) for text in prompts(as_json, samples)] == whole["prompt"].to_pylist()
    pp.set_threads(1)
    try:
        assert renderer.render(samples, keep=["row number"]).equals(whole)
    finally:
        pp.set_threads(None)


@UNWARNED
@settings(QUICK, max_examples=part_of(150))
@given(chat_cases(), st.data())
def test_random_replies(case: Case, data: st.DataObject) -> None:
    case.config["inferencer"]["infer_mode"] = "every"
    answers: list[list[str]] = [[] for _ in range(len(case.samples))]
    talk = tried(lambda: pp.Renderer(**case.config).converse(case.samples))
    got = None if talk is None else listed(talk.requests)
    for _ in range(4):
        want = of_model(case, answers)
        assert got == want
        if not want:
            return
        reply = st.sampled_from(["", "{q}", "section", "fine"])
        replies = data.draw(st.lists(reply, min_size=len(want), max_size=len(want)))
        for (sample, _, _), text in zip(want, replies, strict=True):
            answers[sample].append(text)
        table = tried(lambda replies=replies: talk.reply(replies))
        got = None if table is None else listed(table)
