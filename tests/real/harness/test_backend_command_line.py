"""The harnesses' own command lines with their own partitioners: the same files, sooner, and a word about it."""

from __future__ import annotations

import json
import re

import pytest
from real.harness.command_line import aisbench
from real.harness.command_line import opencompass as command

pytestmark = pytest.mark.usefixtures("opencompass")

CONCURRENT = """
infer = dict(
    partitioner=dict(type="opencompass.partitioners.NaivePartitioner"),
    runner=dict(type="opencompass.runners.LocalRunner", max_num_workers=2, task=dict(
        type="opencompass.tasks.openicl_infer_concurrent.OpenICLInferConcurrentTask")),
)
"""


def both(folder, *arguments, **settings):
    return tuple(command(folder / name, *arguments, on=name == "on", **settings) for name in ("off", "on"))


def named(text):
    """AISBench's results without the random names of requests, in one order."""
    return sorted(re.sub(rb'"uuid": "[0-9a-f]+"', b"", text).splitlines())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataset_that_is_split(tmp_path, workers):
    off, on = both(tmp_path, "--max-num-workers", str(workers))
    assert on.predictions == off.predictions
    assert len(off.predictions) == workers
    assert sum(len(json.loads(prediction)) for prediction in off.predictions.values()) == 40
    for log in on.logs:
        assert "INFO - promptpress renders prompts in bulk (model echo, dataset questions" in log
    tasks = "1 task" if workers == 1 else "2 tasks"
    assert f"INFO - promptpress: 40 prompts in bulk, 0 by the harness, in {tasks}" in on.console
    assert "promptpress" not in off.console


def test_a_program_that_enables_it_before_the_command_reaches_the_tasks(tmp_path):
    off = command(tmp_path / "off", "--max-num-workers", "2", on=False)
    enabled = command(tmp_path / "enabled", "--max-num-workers", "2", on=False, is_enabled=True)
    assert enabled.predictions == off.predictions
    for log in enabled.logs:
        assert "INFO - promptpress: 20 prompts in bulk, 0 by the harness, in 1 task" in log
    assert "INFO - promptpress: 40 prompts in bulk, 0 by the harness, in 2 tasks" in enabled.console


def test_what_is_left_to_the_harness_is_printed_on_the_console(tmp_path):
    off, on = both(tmp_path, "--max-num-workers", "2", marker="changed")
    assert on.predictions == off.predictions
    why = "PromptList.format isn't that of opencompass.utils.prompt"
    for part in (0, 1):
        line = f"promptpress leaves prompts to the harness: {why} (model echo, dataset questions_{part})"
        assert f"WARNING - {line}" in on.console
        assert f"WARNING - {line}" in on.logs[part]
    assert "promptpress: 0 prompts in bulk, 40 by the harness, in 2 tasks" in on.console


def test_a_service_that_threads_call(tmp_path):
    off, on = both(tmp_path, model="EchoApi", more=CONCURRENT)
    assert {name: sorted(json.loads(prediction).items()) for name, prediction in on.predictions.items()} == {
        name: sorted(json.loads(prediction).items()) for name, prediction in off.predictions.items()
    }
    assert sum(len(json.loads(prediction)) for prediction in off.predictions.values()) == 40
    assert "promptpress: 40 prompts in bulk, 0 by the harness, in 1 task" in on.console


@pytest.mark.parametrize("model", ["Echo", pytest.param("EchoApi", marks=pytest.mark.full)])
@pytest.mark.usefixtures("aisbench")
def test_aisbench_with_a_local_model_and_with_a_service(tmp_path, model):
    off, on = (aisbench(tmp_path / name, on=name == "on", model=model, is_profiled=True) for name in ("off", "on"))
    lines = [named(run.predictions["predictions/echo/questions.jsonl"]) for run in (off, on)]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 40
    assert "promptpress: 40 prompts in bulk, 0 by the harness, in 1 task" in on.console
    # Where the time went is known, of all processes.
    assert "promptpress" in {part for process in on.cpu for part in process["parts"]}
    assert "promptpress" not in {part for process in off.cpu for part in process["parts"]}
    for process in on.cpu:
        assert sum(process["parts"].values()) <= process["cpu"]


@pytest.mark.full
def test_twenty_thousand_samples_on_two_workers(tmp_path):
    off, on = both(tmp_path, "--max-num-workers", "2", count=20_000)
    assert on.predictions == off.predictions
    assert "promptpress: 20,000 prompts in bulk, 0 by the harness, in 2 tasks" in on.console
