"""Runs put together by chance, off and on: ranges, formats, choices, inferencers, models and changed methods."""

from __future__ import annotations

import builtins
import importlib
import random

import pytest
from real.harness import test_backend_monkeypatches as monkeypatches
from real.harness import test_backend_reader as reader
from real.harness import test_backend_retrieved_rows as choice
from real.harness.both import MODELS, answers
from real.harness.test_backend_opencompass import LABELLED, READER, RETRIEVERS, TEMPLATES, case, samples
from real.harness.test_backend_parallel import in_order

pytestmark = pytest.mark.usefixtures("opencompass")

INFERENCERS = [
    "GenInferencer",
    "ParallelGenInferencer",
    "PPLInferencer",
    "LLInferencer",
    "CLPInferencer",
    "ChatInferencer",
]
# The harness's own loops never end with it.
ENDLESS = ("an array of objects",)


def drawn(chance):
    """A case, and the function that is changed while it runs, if any."""
    inferencer = chance.choice(INFERENCERS)
    labelled = inferencer in {"PPLInferencer", "LLInferencer"}
    templates = chance.choice(list((LABELLED if labelled else TEMPLATES).values()))
    model = MODELS[chance.choice(["text", "lines"] if inferencer == "CLPInferencer" else list(MODELS))]
    test_change = chance.choice(list({**reader.SEEN, **reader.OTHERS}.values())) if chance.random() < 0.5 else None
    train_change = chance.choice(list({**reader.SEEN, **reader.OTHERS}.values())) if chance.random() < 0.3 else None
    kinds = [name for name in choice.KINDS if name not in ENDLESS]
    kind = chance.choice(kinds) if chance.random() < 0.3 else None
    hidden = chance.choice(monkeypatches.OBJECTS) if chance.random() < 0.2 else None

    def before(inferencer, retriever, model):
        if test_change is not None:
            retriever.test_ds = retriever.dataset_reader.dataset["test"] = test_change(retriever.test_ds)
        if train_change is not None:
            retriever.index_ds = train_change(retriever.index_ds)
        if kind is not None:
            retriever.retrieve = choice.KINDS[kind]
        if hidden is not None:
            monkeypatches.instance(hidden)(inferencer, retriever, model)

    options = {
        "type": inferencer,
        "max_seq_len": chance.choice([None, None, 30]),
        "save_every": chance.choice([1, 7, None]),
    }
    if inferencer == "ParallelGenInferencer":
        options["max_infer_workers"] = chance.choice([1, 5])
    elif labelled or inferencer in {"CLPInferencer", "ChatInferencer"}:
        options.pop("save_every")
    ranges = {name: chance.choice([None, *reader.RANGES]) for name in ("test_range", "train_range")}
    table = samples(45, chance.randrange(9))
    table = table.append_column("cont", table["input"]).append_column("choices", [[["A", "B"]] * len(table)])
    job = case(
        templates,
        **model,
        retriever=RETRIEVERS[chance.choice(list(RETRIEVERS))],
        reader={**READER, **{name: value for name, value in ranges.items() if value is not None}},
        samples=table,
        examples=table,
        inferencer=options,
        before=before,
    )
    if inferencer == "ParallelGenInferencer":
        del job["inferencer"]["batch_size"]
    return job, chance.choice(monkeypatches.FUNCTIONS)[:2] if chance.random() < 0.2 else None


def check(seed):
    job, changed = drawn(random.Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        if changed is not None:
            owner, name = monkeypatches.owner_of(*changed)
            patch.setattr(
                owner, name, monkeypatches.wrapped(getattr(owner, name, None) or getattr(builtins, name)), raising=False
            )
        off, on = answers(job)
    if job["inferencer"]["type"] == "ParallelGenInferencer":
        off, on = in_order(off), in_order(on)
    assert on == off, f"seed {seed}"


@pytest.mark.parametrize("seed", range(40))
def test_a_run_put_together_by_chance(seed):
    check(seed)


@pytest.mark.full
@pytest.mark.parametrize("start", range(1000, 1400, 100))
def test_many_runs_put_together_by_chance(start):
    for seed in range(start, start + 100):
        check(seed)


def test_the_parts_are_there():
    assert all(importlib.import_module(module) for module, *_ in monkeypatches.FUNCTIONS)
