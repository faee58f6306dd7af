"""OpenCompass's shipped configurations through its real inferencers, with the backend off and on."""

from __future__ import annotations

import logging

import pytest
from real.harness.both import MODELS, answers
from real.harness.shipped import datasets, files, folder, table

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
PAIRS = [(path, list(MODELS)[index % len(MODELS)]) for index, path in enumerate(FILES)]


@pytest.mark.parametrize(("path", "model"), PAIRS, ids=lambda value: getattr(value, "stem", value))
def test_a_shipped_configuration(path, model):
    config_and_kinds = shipped(path)
    if config_and_kinds is None:
        pytest.skip("not read as data, or of classes that are left to the harness")
    off, on = answers(case_of(*config_and_kinds, model))
    assert on == off


def test_many_are_compared_and_few_are_left_to_the_harness(caplog):
    compared = [pair for pair in map(shipped, FILES) if pair is not None]
    assert len(compared) >= 40
    assert {kinds["inferencer"] for _, kinds in compared} >= {"GenInferencer", "PPLInferencer"}
    assert any(kinds["prompt_template"] == "RawPromptTemplate" for _, kinds in compared)
    left = []
    for config, kinds in compared:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "promptpress.backend"):
            _, on = answers(case_of(config, kinds, "messages" if "Raw" in kinds["prompt_template"] else "text"))
        if "leaves prompts" in caplog.text and "raised" not in repr(on)[:200]:
            left.append((caplog.text, kinds))
    assert len(left) < len(compared) / 10, left


CHAT = [{"role": "user", "content": "{dialogue}?"}, {"role": "assistant", "content": "Yes."}]
CHAT_AND_QUESTION = [*CHAT, {"role": "user", "content": "\u4e2d"}]
MESSAGES = {
    # the file below configs/datasets: the column of messages, or of lists of strings
    "CLBench/clbench_llmjudge_rawprompt_gen_84a8f0": ("messages", [CHAT_AND_QUESTION, CHAT[:1], CHAT_AND_QUESTION]),
    "advancedIF/advancedIF_rawprompt_gen": ("conversation_history", [CHAT_AND_QUESTION, CHAT[:1], CHAT_AND_QUESTION]),
    "subjective/wildbench/wildbench_pair_judge_rawprompt": (
        "dialogue",
        [CHAT_AND_QUESTION, CHAT[:1], CHAT_AND_QUESTION],
    ),
    "subjective/wildbench/wildbench_pair_judge_new": ("dialogue", [CHAT_AND_QUESTION + CHAT[1:], CHAT, CHAT * 2]),
    "subjective/multiround/mtbench101_judge_new": ("dialogue", [CHAT_AND_QUESTION + CHAT[1:], CHAT, CHAT * 2]),
    "subjective/multiround/mtbench101_judge_new_rawprompt": (
        "dialogue",
        [CHAT_AND_QUESTION, CHAT[:1], CHAT_AND_QUESTION],
    ),
    "HealthBench/healthbench_gen_831613": ("prompt_trans", [CHAT_AND_QUESTION + CHAT[1:], CHAT, CHAT * 2]),
    "teval/teval_en_gen_1ac254": ("prompt", [CHAT_AND_QUESTION + CHAT[1:], CHAT, CHAT * 2]),
    "scicode/scicode_gen_085b98": ("prompt", [["one", "{prompt}"], ["two"], ["", "x"]]),
}


@pytest.mark.parametrize("model", ["text", "messages"])
@pytest.mark.parametrize("name", MESSAGES)
def test_a_shipped_configuration_of_messages(name, model, caplog):
    config = datasets(folder("opencompass") / "configs" / "datasets" / f"{name}.py")[0]
    infer = config["infer_cfg"]
    column, values = MESSAGES[name]
    samples = table({**config, "infer_cfg": {}}, len(values))
    if column in samples.column_names:
        samples = samples.drop_columns([column])
    kinds = {"inferencer": str(infer["inferencer"]["type"]).rpartition(".")[2]}
    job = case_of({**config, "infer_cfg": {**infer, "retriever": {"type": "ZeroRetriever"}}}, kinds, model)
    with caplog.at_level(logging.WARNING, "promptpress.backend"):
        off, on = answers({**job, "samples": samples.append_column(column, [values])})
    assert on == off
    if kinds["inferencer"] == "ChatInferencer" or model == "messages":
        assert "leaves prompts" not in caplog.text
        assert "raised" not in repr(off)
