"""A backend doesn't do work twice, or sample by sample, as the objects of the harness would."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from promptpress_harness.bulk import call_renderer
from real.harness import scripted
from real.harness.both import MODELS, answers

READER = {"input_columns": ["q"], "output_column": "a"}
SAMPLES = pa.table({"q": [f"question {n}" for n in range(300)], "a": ["AB"[n % 2] for n in range(300)]})
TURNS = [{"role": "HUMAN", "prompt": "Q: {q}"}, {"role": "BOT", "prompt": "{a}"}]


def case(inferencer: dict[str, Any], model: str = "text", **others: Any) -> dict[str, Any]:
    return {"samples": SAMPLES, "reader": READER, "inferencer": inferencer, **MODELS[model], **others}


@pytest.mark.usefixtures("opencompass")
def test_messages_of_a_configuration_s_class_are_made_without_going_over_their_texts(monkeypatch, logged):
    from mmengine.config import ConfigDict

    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{q}"}]
    prompt = {"type": "RawPromptTemplate", "messages": messages}
    hooked: list[Any] = []
    hook = ConfigDict._hook

    def counted(_: Any, item: Any) -> Any:
        hooked.append(item)
        return hook(item)

    off, on = answers(case({"type": "GenInferencer", "batch_size": 16}, "list", prompt_template=prompt))
    assert on == off
    assert logged == []
    monkeypatch.setattr(ConfigDict, "_hook", classmethod(counted))
    kind = call_renderer.kind_of([ConfigDict(role="user", content="a")])
    hooked.clear()
    made = kind([{"role": "user", "content": "b"}])
    assert hooked == []
    assert vars(made[0]) == vars(ConfigDict(role="user", content="b"))
    (held,) = kind([{"role": "user", "content": [{"type": "text"}]}])
    assert type(held["content"][0]) is ConfigDict


@pytest.mark.usefixtures("opencompass")
def test_labels_of_examples_are_read_at_once(monkeypatch, logged):
    """If a retriever chooses other examples for each sample, all rows of the train split are examples."""
    from datasets import Dataset

    templates = {label: {"round": [TURNS[0], {"role": "BOT", "prompt": label}]} for label in "AB"}
    ice = {"type": "PromptTemplate", "template": templates}
    prompt = {
        "type": "PromptTemplate",
        "template": {label: {"begin": "</E>", **template} for label, template in templates.items()},
        "ice_token": "</E>",
    }
    retriever = {"type": "RandomRetriever", "ice_num": 3}
    of_kind = {"ice_template": ice, "prompt_template": prompt, "retriever": retriever}
    off, on = answers(case({"type": "PPLInferencer", "batch_size": 16}, **of_kind))
    assert on == off
    assert logged == []

    from promptpress_harness.opencompass.bulk_call import OpenCompassBulkCall

    data = scripted.dataset(SAMPLES, SAMPLES, READER)
    retriever = scripted.built(retriever, data)
    made = scripted.built(ice), scripted.built(prompt)
    shots = retriever.retrieve()
    read: list[Any] = []
    original = Dataset.__getitem__

    def counted(self: Any, key: Any) -> Any:
        read.append(key)
        return original(self, key)

    monkeypatch.setattr(Dataset, "__getitem__", counted)
    monkeypatch.setattr("promptpress_harness.bulk.dataset._READ_FUNCTIONS", {})
    OpenCompassBulkCall(retriever, shots, *made)
    assert read == []


@pytest.mark.usefixtures("opencompass")
def test_shortened_prompts_of_choices_come_from_blocks_too(monkeypatch, logged):
    from promptpress_harness.opencompass.bulk_call import OpenCompassBulkCall

    built: list[Any] = []
    original = OpenCompassBulkCall.generation_prompt

    def counted(self: Any, token: str, row: int, rows: Any) -> Any:
        built.append(row)
        return original(self, token, row, rows)

    monkeypatch.setattr(OpenCompassBulkCall, "generation_prompt", counted)
    samples = SAMPLES.append_column("choices", pa.array([["A", "B"]] * len(SAMPLES)))
    given = {
        "samples": samples,
        "ice_template": {"type": "PromptTemplate", "template": "{q} {a}"},
        "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}: {a}", "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3]},
    }
    off, on = answers(case({"type": "CLPInferencer", "batch_size": 16, "max_seq_len": 9}, **given))
    assert on == off
    assert logged == []
    # The first of each number of examples.
    assert len(built) <= 5 + 1


@pytest.mark.usefixtures("aisbench")
def test_a_loop_over_more_labels_than_there_is_room_for_largest_blocks(tmp_path, logged, rendered):
    from promptpress import aisbench as backend
    from real.harness.scripted_aisbench import MODELS, dataset, run

    labels = [f"label {n}" for n in range(80)]
    infer = {
        "prompt_template": {"type": "PromptTemplate", "template": {label: "{q} " + label for label in labels}},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "PPLInferencer"},
    }
    data = [dataset("many labels", {"reader_cfg": READER, "infer_cfg": infer}, SAMPLES[:100], SAMPLES)]
    off = run(data, MODELS["text"], tmp_path / "off", kind="api", together=3)
    with backend.backend():
        on = run(data, MODELS["text"], tmp_path / "on", kind="api", together=3)
    assert on == off
    assert "raised" not in off
    assert logged == []
    assert sum(rendered) == 80 * (100 + 1)


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("has_examples", [True, False])
def test_each_label_has_a_renderer_of_the_template_of_the_label(monkeypatch, logged, has_examples):
    """All labels in the renderer of each would make a call as slow as their number squared."""
    from promptpress_harness.bulk import call_renderer

    sizes: list[tuple[int, int]] = []
    original = call_renderer.Renderer

    def counted(*arguments: Any, **settings: Any) -> Any:
        templates = [settings.get(name) or {"template": {}} for name in ("prompt_template", "ice_template")]
        sizes.append(tuple(len(template["template"]) for template in templates))
        return original(*arguments, **settings)

    labels = ["A", "B", *(f"label {n}" for n in range(10))]
    turns = {label: {"round": [TURNS[0], {"role": "BOT", "prompt": label}]} for label in labels}
    given: dict[str, Any] = {
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {label: {"begin": "</E>", **template} for label, template in turns.items()},
            "ice_token": "</E>",
        }
    }
    if has_examples:
        given["ice_template"] = {"type": "PromptTemplate", "template": turns}
        given["retriever"] = {"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}
    monkeypatch.setattr(call_renderer, "Renderer", counted)
    off, on = answers(case({"type": "PPLInferencer", "batch_size": 16}, **given))
    assert on == off
    assert logged == []
    assert len(sizes) >= len(labels)
    assert max(sizes) <= (1, 3)


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("model", ["text", "lines", "messages"])
def test_samples_without_examples_among_others(logged, model):
    """No examples are a string, whatever the others' are; a batch is parsed as the harness does."""
    from promptpress_harness.bulk.rendering import Shots
    from promptpress_harness.bulk.retriever import Examples
    from promptpress_harness.opencompass.bulk_call import OpenCompassBulkCall

    ice = {"type": "PromptTemplate", "template": {"round": TURNS}}
    prompt = {"type": "PromptTemplate", "template": {"begin": "</E>", "round": TURNS}, "ice_token": "</E>"}
    data = scripted.dataset(SAMPLES, SAMPLES, READER)
    retriever = scripted.built({"type": "ZeroRetriever"}, data)
    call = OpenCompassBulkCall(retriever, [[] for _ in SAMPLES["q"]], scripted.built(ice), scripted.built(prompt))
    examples = Examples(call)
    parser = scripted.model(**MODELS[model]).template_parser
    for chosen in ([[], [0, 1]], [[0], [], [1, 2]], [[], []], [[3], [4]]):
        expected = parser.parse_template([call.ice(rows) for rows in chosen], mode="ppl")
        parsed = examples.parsed_batch(
            parser, type(parser).parse_template, [Shots(examples, rows) for rows in chosen], "ppl"
        )
        assert parsed == expected
        assert [type(item) for item in parsed] == [type(item) for item in expected]
    assert logged == []
