"""OpenCompass's shipped configurations through its real inferencers, with the backend off and on."""

from __future__ import annotations

import logging

import pytest
from harness.both import MODELS, answers
from harness.shipped import datasets, files, table

pytestmark = pytest.mark.usefixtures("opencompass")

COVERED = {
    "inferencer": {"GenInferencer", "PPLInferencer", "LLInferencer", "CLPInferencer", "ChatInferencer"},
    "retriever": {"ZeroRetriever", "FixKRetriever", "RandomRetriever"},
    "prompt_template": {"PromptTemplate", "RawPromptTemplate", ""},
    "ice_template": {"PromptTemplate", "RawPromptTemplate", ""},
}
FILES = list(files("opencompass", "configs/datasets", ("gen", "ppl", "clp", "ll")))


def shipped(path):
    """The first dataset of a file that has inferencer, retriever and templates of these kinds."""
    for config in datasets(path)[:1]:
        kinds = {key: str(config["infer_cfg"].get(key, {}).get("type", "")).rpartition(".")[2] for key in COVERED}
        if all(kinds[key] in COVERED[key] for key in COVERED):
            return config, kinds
    return None


def case_of(config, kinds, model):
    infer = config["infer_cfg"]
    shots = 1 + max([0, *infer["retriever"].get("fix_id_list", [])])
    case = {name: infer.get(name) for name in ("ice_template", "prompt_template", "retriever")}
    options = {key: value for key, value in infer["inferencer"].items() if key != "max_out_len"}
    samples = table(config)
    if kinds["inferencer"] == "LLInferencer":
        samples = samples.append_column("cont", samples[0])
    return {
        **case,
        **MODELS[model],
        "samples": samples,
        "examples": table(config, shots),
        "reader": {key: value for key, value in config["reader_cfg"].items() if key.endswith(("columns", "column"))},
        "inferencer": {**options, "type": kinds["inferencer"], "batch_size": 2},
    }


# One model after the other: each configuration with one of them, each kind of configuration with all.
PAIRS = [(path, list(MODELS)[place % len(MODELS)]) for place, path in enumerate(FILES)]


@pytest.mark.parametrize(("path", "model"), PAIRS, ids=lambda value: getattr(value, "stem", value))
def test_a_shipped_configuration(path, model):
    found = shipped(path)
    if found is None:
        pytest.skip("not read as data, or of classes that are left to the harness")
    off, on = answers(case_of(*found, model))
    assert on == off


def test_many_are_compared_and_few_are_left_to_the_harness(caplog):
    found = [one for one in map(shipped, FILES) if one is not None]
    assert len(found) >= 40
    assert {kinds["inferencer"] for _, kinds in found} >= {"GenInferencer", "PPLInferencer"}
    assert any(kinds["prompt_template"] == "RawPromptTemplate" for _, kinds in found)
    left = []
    for config, kinds in found:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "promptpress.backend"):
            _, on = answers(case_of(config, kinds, "messages" if "Raw" in kinds["prompt_template"] else "text"))
        if "leaves prompts" in caplog.text and "raised" not in repr(on)[:200]:
            left.append((caplog.text, kinds))
    assert len(left) < len(found) / 10, left
