"""AISBench's real tasks over its shipped configurations: what the model receives and what is written, off and on."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from promptpress import aisbench as backend
from real.harness.scripted_aisbench import MODELS, RefusedError, dataset, results, run
from real.harness.shipped import datasets, files, table, tagged_table

pytestmark = pytest.mark.usefixtures("aisbench")

CONFIGS = {
    path.stem: dataset
    for path in files("ais_bench.benchmark", "configs/datasets", ("gen", "ppl"), each=2)
    for dataset in datasets(path)[:1]
}
TALKS = {"question": [["a", "{answer}"], ["c"], ["x", "y"]], "answer": [["1", "{question}"], ["{"], ["2", "3"]]}


def last(dotted: Any) -> str:
    return str(dotted).rpartition(".")[2]


def shipped(inferencer: str, template: str) -> dict[str, Any]:
    """The shipped configurations with an inferencer and a template, by the names of their files."""
    configs = {}
    for name, config in CONFIGS.items():
        infer = config["infer_cfg"]
        used = infer.get("prompt_template", infer.get("ice_template"))
        if (last(infer["inferencer"]["type"]), last(used["type"])) == (inferencer, template):
            configs[name] = config
    return configs


def task(configs: dict[str, Any]) -> list[dict[str, Any]]:
    """The datasets of a task that takes all of these configurations."""
    made = []
    for name, config in configs.items():
        template = config["infer_cfg"].get("prompt_template", {})
        if last(template.get("type")) == "MMPromptTemplate":
            samples = tagged_table(config)
        elif last(template.get("type")) == "MultiTurnPromptTemplate":
            samples = pa.table(TALKS)
        else:
            samples = table(config)
        shots = 1 + max([0, *config["infer_cfg"]["retriever"].get("fix_id_list", [])])
        made.append(dataset(name, config, samples, table(config, shots)))
    return made


def half(configs: dict[str, Any], model: str) -> dict[str, Any]:
    """Every other configuration: each has its turn with two models."""
    return dict(list(configs.items())[list(MODELS).index(model) // 2 :: 2])


def answers(tmp_path: Path, configs: dict[str, Any], model: str, **options: Any) -> tuple[Any, Any]:
    """Return the results of a task without the backend and with it."""
    off = run(task(configs), MODELS[model], tmp_path / "off", **options)
    with backend.backend():
        return off, run(task(configs), MODELS[model], tmp_path / "on", **options)


INFERENCER = {"type": "MultiTurnGenInferencer"}
GEN = shipped("GenInferencer", "PromptTemplate")
PPL = shipped("PPLInferencer", "PromptTemplate")
MEDIA = shipped("GenInferencer", "MMPromptTemplate")
TURNS = shipped("MultiTurnGenInferencer", "MultiTurnPromptTemplate")


def test_enough_is_compared():
    assert len(GEN) + len(PPL) + len(MEDIA) + len(TURNS) >= 100
    few_shot = [dataset for dataset in (*GEN.values(), *PPL.values()) if "ice_template" in dataset["infer_cfg"]]
    assert min(len(GEN), len(PPL), len(MEDIA), len(few_shot)) >= 10


# A local model is given batches, a service is asked by coroutines that read the prompts out of shared memory.
@pytest.mark.parametrize(
    ("model", "kind"), [("text", "local"), ("lines", "api"), ("messages", "local"), ("no messages", "api")]
)
def test_generation(tmp_path, logged, rendered, model, kind):
    configs = half(GEN, model)
    off, on = answers(tmp_path, configs, model, kind=kind, together=3)
    assert on == off
    assert "raised" not in off
    assert {line["data_abbr"] for line in results(off)} == configs.keys()
    assert logged == []
    # The first of each is rendered once more, to be compared.
    assert sum(rendered) == len(results(off)) + len(configs)


@pytest.mark.parametrize("model", ["text", "lines", "messages"])
def test_perplexity(tmp_path, logged, model):
    off, on = answers(tmp_path, PPL, model, kind="api", together=3)
    assert on == off
    assert "raised" not in off
    assert {line["data_abbr"] for line in results(off)} == PPL.keys()
    assert logged == []


@pytest.mark.parametrize(
    ("model", "kind"), [("messages", "api"), ("no messages", "api"), ("messages", "local"), ("lines", "local")]
)
def test_media(tmp_path, logged, rendered, model, kind):
    off, on = answers(tmp_path, MEDIA, model, kind=kind, together=3)
    assert on == off
    assert "raised" not in off
    assert {line["data_abbr"] for line in results(off)} == MEDIA.keys()
    assert logged == []
    assert sum(rendered) == len(results(off)) + len(MEDIA)


@pytest.mark.parametrize("mode", ["every", "every_with_gt", "last"])
@pytest.mark.parametrize("model", ["text", "messages"])
def test_turns(tmp_path, logged, model, mode):
    configs = {
        name: {**dataset, "infer_cfg": {**dataset["infer_cfg"], "inferencer": {**INFERENCER, "infer_mode": mode}}}
        for name, dataset in TURNS.items()
    }
    off, on = answers(tmp_path, configs, model, kind="api")
    assert on == off
    assert logged == []
    # The harness calls itself for ever where it takes the last turn alone.
    assert ("raised" in off) == (mode == "last")
    assert (len(off["received"]) > 3) == (mode != "last")


SOME = dict(list(GEN.items())[:2])


class StoppedError(Exception):
    """Someone stopped the run."""


def stopped_after(count: int, error: type[BaseException]) -> Any:
    """A hook that lets a model answer a number of requests, and then raises."""
    answered: list[Any] = []

    def hook(request: Any) -> None:
        if len(answered) == count:
            raise error("no more")
        answered.append(request)

    return hook


@pytest.mark.parametrize(
    ("kind", "error"),
    [("local", StoppedError), ("local", KeyboardInterrupt), ("api", KeyboardInterrupt), ("api", RefusedError)],
)
def test_interrupted_and_resumed(tmp_path, kind, error):
    def go(name: str, *backends: bool) -> list[Any]:
        answers_of_runs = []
        for is_on, hook in zip(backends, (stopped_after(5, error), None), strict=True):
            with backend.backend() if is_on else nullcontext():
                answers_of_runs.append(run(task(SOME), MODELS["text"], tmp_path / name, kind=kind, hook=hook))
        return answers_of_runs

    expected = go("off", False, False)
    assert go("on", True, True) == expected
    assert go("on at last", False, True) == expected
    assert go("on at first", True, False) == expected
    stopped, resumed = expected
    assert len(results(stopped)) < len(results(resumed)) == 2 * 7
    # A service's answers are kept: only what is missing is asked for, after one request to warm up.
    assert len(resumed["received"]) == (14 if kind == "local" else 1 + 14 - len(results(stopped)))
