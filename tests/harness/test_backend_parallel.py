"""Inferencers that ask a service by threads: what it receives and what is written, off and on."""

# ruff: noqa: ARG001 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import ast
import json

import pytest
from harness.both import MODELS, answers, once
from harness.scripted import plain
from harness.test_backend_opencompass import READER, RETRIEVERS, TEMPLATES, case, samples

pytestmark = pytest.mark.usefixtures("opencompass")


def in_order(answer):
    """What a run gave, in an order of its own: the harness writes answers as its threads have them."""
    found = dict(answer[1])
    files = {
        name: sorted(json.loads(ast.literal_eval(text)).items(), key=lambda item: item[0])
        for name, (_, text) in found["files"][1]
    }
    returned = found.get("returned", ("", []))[1]
    return {
        "files": files,
        "raised": found.get("raised"),
        "received": sorted(map(repr, found["received"][1])),
        "returned": sorted(map(repr, returned)),
    }


@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize("max_seq_len", [None, 30])
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("templates", TEMPLATES)
@pytest.mark.parametrize("model", MODELS)
def test_generation(model, templates, retriever, max_seq_len, workers, said):  # noqa: PLR0917
    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": workers, "max_seq_len": max_seq_len}
    one = case(TEMPLATES[templates], **MODELS[model], retriever=RETRIEVERS[retriever], inferencer=inferencer)
    one["inferencer"].pop("batch_size")
    off, on = answers(one)
    assert in_order(on) == in_order(off)
    assert said == []


@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize("mode", ["last", "every", "every_with_gt"])
@pytest.mark.parametrize("model", ["text", "messages"])
@pytest.mark.parametrize("templates", [{}, {"prompt_template": TEMPLATES["dialogue"]["prompt_template"]}])
def test_chats(templates, model, mode, workers, said):
    reader = {"input_columns": ["input"], "output_column": "target"} if not templates else READER
    inferencer = {"type": "ParallelChatInferencer", "infer_mode": mode, "max_infer_workers": workers}
    one = case(templates, **MODELS[model], reader=reader, inferencer=inferencer)
    one["inferencer"].pop("batch_size")
    off, on = answers(one)
    assert in_order(on) == in_order(off)
    assert said == []


def test_threads_do_not_render_a_block_again_and_again(said, rendered):
    count = 5000
    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": 16}
    one = case(TEMPLATES["string"], **MODELS["lines"], inferencer=inferencer, samples=samples(count))
    one["inferencer"].pop("batch_size")
    assert (
        "raised"
        not in repr(plain(once({**one, "inferencer": {**one["inferencer"], "save_every": None}}, on=True)))[:300]
    )
    assert said == []
    assert count <= sum(rendered) <= 1.3 * count


def test_an_error_of_the_model_comes_out_as_it_did(said):
    def before(inferencer, retriever, model):
        def generate(inputs, max_out_len):
            raise RuntimeError("refused")

        model.generate = generate

    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": 1}
    one = case(TEMPLATES["dialogue"], **MODELS["messages"], inferencer=inferencer, before=before)
    one["inferencer"].pop("batch_size")
    off, on = answers(one)
    assert on == off
    assert "refused" in repr(off)
