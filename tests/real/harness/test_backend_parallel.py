"""Inferencers that ask a service by threads: what it receives and what is written, off and on."""

# ruff: noqa: ARG001 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import ast
import json

import pytest
from real.harness.both import MODELS, answers, once
from real.harness.scripted import plain
from real.harness.test_backend_opencompass import READER, RETRIEVERS, TEMPLATES, case, samples

pytestmark = pytest.mark.usefixtures("opencompass")


def in_order(answer):
    """Return the results of a run in a fixed order, because the harness writes answers as its threads finish."""
    results = dict(answer[1])
    files = {
        name: sorted(json.loads(ast.literal_eval(text)).items(), key=lambda item: item[0])
        for name, (_, text) in results["files"][1]
    }
    returned = results.get("returned", ("", []))[1]
    return {
        "files": files,
        "raised": results.get("raised"),
        "received": sorted(map(repr, results["received"][1])),
        "returned": sorted(map(repr, returned)),
    }


@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize("max_seq_len", [None, 30])
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("templates", TEMPLATES)
@pytest.mark.parametrize("model", MODELS)
def test_generation(model, templates, retriever, max_seq_len, workers, logged):  # noqa: PLR0917
    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": workers, "max_seq_len": max_seq_len}
    job = case(TEMPLATES[templates], **MODELS[model], retriever=RETRIEVERS[retriever], inferencer=inferencer)
    job["inferencer"].pop("batch_size")
    off, on = answers(job)
    assert in_order(on) == in_order(off)
    assert logged == []


@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize("mode", ["last", "every", "every_with_gt"])
@pytest.mark.parametrize("model", ["text", "messages"])
@pytest.mark.parametrize("templates", [{}, {"prompt_template": TEMPLATES["dialogue"]["prompt_template"]}])
def test_chats(templates, model, mode, workers, logged):
    reader = {"input_columns": ["input"], "output_column": "target"} if not templates else READER
    inferencer = {"type": "ParallelChatInferencer", "infer_mode": mode, "max_infer_workers": workers}
    job = case(templates, **MODELS[model], reader=reader, inferencer=inferencer)
    job["inferencer"].pop("batch_size")
    off, on = answers(job)
    assert in_order(on) == in_order(off)
    assert logged == []


def test_threads_do_not_render_a_block_again_and_again(logged, rendered):
    count = 5000
    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": 16}
    job = case(TEMPLATES["string"], **MODELS["lines"], inferencer=inferencer, samples=samples(count))
    job["inferencer"].pop("batch_size")
    assert (
        "raised"
        not in repr(plain(once({**job, "inferencer": {**job["inferencer"], "save_every": None}}, on=True)))[:300]
    )
    assert logged == []
    assert count <= sum(rendered) <= 1.3 * count


def test_an_error_of_the_model_comes_out_as_it_did(logged):
    def before(inferencer, retriever, model):
        def generate(inputs, max_out_len):
            raise RuntimeError("refused")

        model.generate = generate

    inferencer = {"type": "ParallelGenInferencer", "max_infer_workers": 1}
    job = case(TEMPLATES["dialogue"], **MODELS["messages"], inferencer=inferencer, before=before)
    job["inferencer"].pop("batch_size")
    off, on = answers(job)
    assert on == off
    assert "refused" in repr(off)
