"""ChatInferencer against the plain model: random chats, splits and replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import promptpress as pp
import pyarrow as pa
from amounts import part_of
from generators.strategies import NAMES, ODD_NAMES, World, meta_templates, optional, prompt_templates
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.chat_model import ModelError, requests
from parts.chat_parts import MESSAGES, prompts

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(300), deadline=None, database=None, suppress_health_check=CHECKS)


@dataclass
class Case:
    config: dict[str, Any]
    samples: pa.Table


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A chat's configuration and samples. Most are valid; the rest are refused by some rule."""
    single_pass = draw(st.booleans())
    names = draw(
        st.lists(st.sampled_from(NAMES if single_pass else NAMES + ODD_NAMES), min_size=1, max_size=3, unique=True)
    )
    world = World(names, "</E>", draw(st.sampled_from([None, "<SEP>"])), single_pass)
    text = st.one_of(world.values(), world.values(), st.sampled_from(["section", "a section of {q}", "sec"]))
    answer = draw(st.sampled_from([*names, None, "gone"]))
    columns = [name for name in names if name != answer or draw(st.integers(0, 5)) == 0] or [names[0]]
    shape = draw(st.sampled_from(["strings", "strings", "lists", "lists", "messages", "dialogue"]))
    if shape == "messages" and len(columns) > 1:
        shape = "dialogue"
    rows = draw(st.integers(1, 4))
    rare = draw(st.integers(0, 14)) == 0  # nulls, which are refused
    value = optional(text) if rare else text
    role = st.sampled_from(["user", "assistant", "user", "assistant", "system", "tool", None])
    message = st.fixed_dictionaries({"role": role, "content": optional(text)})
    if rare:
        message = optional(message)
    gold_turn = st.just([{"role": "assistant", "content": "gold"}])
    talk = st.lists(message, max_size=6)
    if draw(st.integers(0, 4)):  # else there may be nobody to ask
        talk = st.tuples(st.just([{"role": "user", "content": "{q}"}]), talk, gold_turn).map(
            lambda parts: [*parts[0], *parts[1], *parts[2]]
        )
    kinds: dict[str, tuple[pa.DataType, Any]] = {}
    for name in names:
        if shape == "strings":
            kinds[name] = (draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])), value)
        elif shape == "lists":
            lists = st.lists(value, min_size=draw(st.sampled_from([0, 1, 1])), max_size=4)
            kinds[name] = (pa.list_(pa.string()), optional(lists) if rare else lists)
        elif shape == "messages" and name == columns[0]:
            kinds[name] = (MESSAGES, talk)
        else:
            kinds[name] = draw(st.sampled_from([(pa.int64(), st.integers(0, 9)), (pa.string(), text)]))
    if shape == "dialogue":
        columns = draw(st.permutations([*columns, "dialogue"]))
        strings = draw(st.integers(0, 9)) == 0 and all(kind == pa.string() for kind, _ in kinds.values())
        kinds["dialogue"] = (pa.string(), text) if strings else (MESSAGES, talk)
    kinds["unread"] = (pa.int64(), st.just(0))
    order = draw(st.permutations(list(kinds)))
    samples = pa.table({name: pa.array([draw(kinds[name][1]) for _ in range(rows)], kinds[name][0]) for name in order})
    config: dict[str, Any] = {
        "reader": {"input_columns": list(columns), "output_column": answer},
        "inferencer": {"type": "ChatInferencer"},
        "output": draw(st.sampled_from(["text", "messages", "prompt_list"])),
        "substitution": "single_pass" if single_pass else "harness",
    }
    if draw(st.booleans()):
        config["inferencer"]["infer_mode"] = draw(st.sampled_from(["last", "every_with_gt", "every_with_gt"]))
    if len(columns) > 1 or draw(st.booleans()):
        config["prompt_template"] = draw(prompt_templates(world, with_ice=draw(st.booleans())))
    if draw(st.integers(0, 3)):
        metas = [{"round": []}, {"round": [{"role": "HUMAN", "begin": "?"}]}, {"round": [], "reserved_roles": ["x"]}]
        odd = draw(st.integers(0, 9)) == 0
        config["meta_template"] = draw(st.sampled_from(metas) if odd else meta_templates(world, raw=False))
    return Case(config, samples)


def of_model(case: Case, replies: list[list[str]] | None = None) -> list[tuple[int, int, Any]] | None:
    try:
        return requests(case.config, case.samples.to_pylist(), replies)
    except ModelError as error:
        note(f"the model refuses: {error}")
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
@given(cases())
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
@given(cases(), st.integers(1, 3))
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
@given(cases(), st.data())
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
