"""AISBench's real inferencers get odd templates and samples, with the backend off and on."""

from __future__ import annotations

import copy
import importlib
import sys
from collections import OrderedDict
from types import SimpleNamespace

import pyarrow as pa
import pytest
from generators.strategies import media_cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from promptpress import aisbench as backend
from promptpress_harness.aisbench import bulk as _bulk
from real.harness.scripted import plain
from real.harness.scripted_aisbench import MODELS

pytestmark = pytest.mark.usefixtures("aisbench")

OPENICL = "ais_bench.benchmark.openicl."
MODULES = {
    "GenInferencer": "icl_inferencer.icl_gen_inferencer",
    "LMMGenInferencer": "icl_inferencer.icl_lmm_gen_inferencer",
    "MultiTurnGenInferencer": "icl_inferencer.icl_multiturn_inferencer",
}


def data(config, kind, model, samples):
    """Return what the inferencer makes of a configuration, or what it raises."""
    from ais_bench.benchmark.models.api_models.base_api import APITemplateParser
    from ais_bench.benchmark.models.local_models.base import BaseModel, LMTemplateParser
    from ais_bench.benchmark.openicl.icl_dataset_reader import DatasetReader
    from ais_bench.benchmark.registry import ICL_RETRIEVERS
    from datasets import Dataset

    config = copy.deepcopy(config)
    try:
        reader = DatasetReader(Dataset(samples), **config["reader_cfg"])
        dataset = SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"], abbr="it")
        templates = {key: template for key, template in config["infer_cfg"].items() if key.endswith("template")}
        retriever = ICL_RETRIEVERS.build({"type": "ZeroRetriever", "dataset": dataset, **templates})
        built = BaseModel("none")
        parser = APITemplateParser if model["parser"] == "messages" else LMTemplateParser
        built.template_parser = parser(copy.deepcopy(model["meta_template"]))
        built.max_out_len = 5
        inferencer = object.__new__(getattr(sys.modules[OPENICL + MODULES[kind]], kind))
        inferencer.logger = retriever.logger
        inferencer.gen_field_replace_token = "X"
        inferencer.model = built
        return plain(inferencer.get_data_list(retriever))
    except Exception as error:
        return type(error), str(error)


def both(*arguments):
    """Return the results without the backend and with it."""
    off = data(*arguments)
    with backend.backend():
        return off, data(*arguments)


TURNS = [{"role": "HUMAN", "prompt": "Q: {question} {answer}"}, {"role": "BOT", "prompt": "{answer}", "end": "!"}]
TURN_TEMPLATES = [
    {"round": TURNS},
    {
        "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "{question}"}],
        "round": TURNS,
        "end": [TURNS[0]],
    },
    {"round": [*TURNS, "bare"]},
    "no dialogue",
]
TALKS = {
    "even": {"question": [["a", "{answer}"], ["c"]] * 300, "answer": [["1", "{question}"], ["{"]] * 300},
    "uneven": {"question": [["a", "b"], [], ["c"]], "answer": [["1"], [], ["2", "3"]]},
    "nulls": {"question": [["a", None], ["b"]], "answer": [["1", "2"], [None]]},
    "no list": {"question": [["a"], None], "answer": [["1"], ["2"]]},
    "strings": {"question": ["ab", "c"], "answer": ["1", "23"]},
}


def dialogue(template):
    """A configuration of dialogues."""
    infer = {"prompt_template": {"type": "MultiTurnPromptTemplate", "template": template}}
    return {"infer_cfg": infer, "reader_cfg": {"input_columns": ["question"], "output_column": "answer"}}


@pytest.mark.parametrize("template", TURN_TEMPLATES, ids=repr)
@pytest.mark.parametrize("talk", TALKS)
def test_turns(talk, template):
    off, on = both(dialogue(template), "MultiTurnGenInferencer", MODELS["text"], pa.table(TALKS[talk]))
    assert on == off


def test_turns_are_covered(logged):
    arguments = dialogue(TURN_TEMPLATES[1]), "MultiTurnGenInferencer", MODELS["text"], pa.table(TALKS["even"])
    assert "Q: a 1" in repr(both(*arguments))
    assert logged == []


@pytest.mark.parametrize(("where", "reasons"), [("begin", 1), ("end", 0)])
def test_a_message_of_the_configuration_s_class_is_left_to_the_harness(where, reasons, logged):
    """AISBench puts the dict at the beginning into each prompt, and a configuration's dicts are of their own class."""
    from mmengine.config import ConfigDict

    meta = ConfigDict({**MODELS["messages"]["meta_template"], where: {"role": "SYSTEM", "prompt": "Be brief."}})
    model = {"parser": "messages", "meta_template": meta}
    template = {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "{q}"}]}}
    config = {"infer_cfg": {"prompt_template": template}, "reader_cfg": {"input_columns": ["q"], "output_column": "a"}}
    off, on = both(config, "GenInferencer", model, pa.table({"q": ["1", "2"], "a": ["x", "y"]}))
    assert on == off
    assert len(logged) == reasons
    assert all("the harness's prompt is another" in line for line in logged)


ORDERED = {
    "text": {"type": "text", "text": "Q: {question}"},
    "image": {
        "image_url": {"url": "file://{image}", "detail": None, "scales": [0.1, 1e22, -0.0, 2, True]},
        "type": "image_url",
    },
}
TAGGED = {
    "text": "<AIS_TEXT_START>What?<AIS_CONTENT_TAG>",
    "image": "<AIS_IMAGE_START>a.png<AIS_CONTENT_TAG>",
    "video": "<AIS_VIDEO_START>b.mp4<AIS_CONTENT_TAG>",
}
SAMPLES = [TAGGED["text"], TAGGED["image"], TAGGED["text"] + TAGGED["image"], "", "no tags"] * 20


def media(template, **more):
    """A multimodal configuration."""
    infer = {"prompt_template": {"type": "MMPromptTemplate", "template": template, **more}}
    return {"infer_cfg": infer, "reader_cfg": {"input_columns": ["content"], "output_column": "answer"}}


def media_both(template, contents, model="messages", **more):
    samples = pa.table({"content": contents, "answer": ["{content}"] * len(contents)})
    return both(media(template, **more), "GenInferencer", MODELS[model], samples)


@pytest.mark.parametrize("model", MODELS)
def test_parts_that_the_first_sample_does_not_show(logged, model):
    turn = {"role": "HUMAN", "prompt_mm": ORDERED}
    off, on = media_both({"begin": "{answer}", "round": [turn, {**turn, "role": "BOT"}]}, SAMPLES, model)
    assert on == off
    assert logged == []
    assert isinstance(off[1], list)
    if model == "messages":
        assert off[1][1] != off[1][0]
        assert "image_url" in repr(off)


@pytest.mark.parametrize("content", [TAGGED["video"], None])
@pytest.mark.parametrize("row", [0, 1, 40, -1])
def test_a_sample_that_the_harness_refuses(content, row):
    samples = list(SAMPLES)
    samples[row] = content
    off, on = media_both({"round": [{"role": "HUMAN", "prompt_mm": ORDERED}]}, samples)
    assert on == off
    assert off[0] in {KeyError, AttributeError}


LEFT = {
    "entries of another class": [{"role": "HUMAN", "prompt_mm": OrderedDict(ORDERED)}],
    "a part that isn't JSON": [{"role": "HUMAN", "prompt_mm": {"text": {"type": ("text",), "text": "{question}"}}}],
    "a number that isn't one": [{"role": "HUMAN", "prompt_mm": {"text": {"n": float("nan"), "text": "{question}"}}}],
}


@pytest.mark.parametrize("name", LEFT)
def test_media_that_are_left_to_the_harness(logged, name):
    off, on = media_both({"round": LEFT[name]}, [TAGGED["text"]] * 3)
    assert on == off
    assert len(logged) == 1


def test_media_next_to_tokens_and_columns_of_another_kind(logged):
    turns = {"round": [{"role": "HUMAN", "prompt_mm": ORDERED}]}
    for contents, more in ((SAMPLES, {"sep_token": "</S>"}), ([1, 2], {})):
        logged.clear()
        off, on = media_both(turns, contents, **more)
        assert on == off
        assert len(logged) == 1


def test_large_media_come_in_small_blocks(monkeypatch, rendered):
    monkeypatch.setattr(_bulk, "_MAX_BLOCK_BYTES", 10 * len(TAGGED["image"]))
    off, on = media_both({"round": [{"role": "HUMAN", "prompt_mm": ORDERED}]}, [TAGGED["image"]] * 50)
    assert on == off
    assert max(rendered) == 9
    assert sum(rendered) == 1 + 50


def test_a_subclass_that_has_the_list_of_the_harness(logged):
    importlib.import_module(OPENICL + MODULES["LMMGenInferencer"])
    samples = pa.table({"content": SAMPLES, "answer": SAMPLES})
    turns = {"round": [{"role": "HUMAN", "prompt_mm": ORDERED}]}
    off, on = both(media(turns), "LMMGenInferencer", MODELS["messages"], samples)
    assert on == off
    assert isinstance(off[1], list)
    assert logged == []


@settings(max_examples=120, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(media_cases(content=True), st.sampled_from(["messages", "text"]), st.booleans())
def test_random_media(case, parser, is_configured):
    from mmengine.config import ConfigDict

    template = case.config["prompt_template"]["template"]
    meta = case.config.get("meta_template")
    samples = pa.table({name: case.samples[name].to_pylist() for name in case.samples.schema.names})
    config = media(ConfigDict(template) if is_configured else template)
    off, on = both(
        {**config, "reader_cfg": {"input_columns": ["content"], "output_column": "note"}},
        "GenInferencer",
        {"parser": parser, "meta_template": meta},
        pa.concat_tables([samples] * 3),
    )
    assert on == off
