"""Answers of a batch as predictions: the harnesses' evaluators score them as their inferencers' files."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

# The evaluation imports them, and its summary.
pytest.importorskip("orjson")
pytest.importorskip("tabulate")

from marks import heavy
from promptpress_workbench.cli import main
from real.harness.command_line import HERE, Run, aisbench
from real.harness.command_line import opencompass as command

sys.path.insert(0, str(HERE / "command"))
from made_up import rows

pytestmark = pytest.mark.usefixtures("opencompass")

EVALUATION = """datasets[0]["eval_cfg"] = dict(
    evaluator=dict(type="{}"), pred_postprocessor=dict(type="first-capital"))
"""
HARNESSES = {
    "opencompass": (command, EVALUATION.format("AccwithDetailsEvaluator")),
    "aisbench": (aisbench, EVALUATION.format("ais_bench.benchmark.datasets.Gsm8kEvaluator")),
}


def written(path: Path, lines: list[dict]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def predicted(run: Run, harness: str) -> list[dict]:
    """The entries of a harness's file, in the order of the rows."""
    (text,) = run.predictions.values()
    if harness == "opencompass":
        return list(json.loads(text).values())
    return sorted(map(json.loads, text.splitlines()), key=lambda entry: entry["id"])


def scores(folder: Path) -> dict[str, dict]:
    return {path.name: json.loads(path.read_text("utf-8")) for path in folder.glob("out/*/results/**/*.json")}


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("model", ["EchoApi", *heavy("Echo")])
def test_scores_are_those_of_the_harness(harness: str, model: str, tmp_path: Path) -> None:
    run_command, more = HARNESSES[harness]
    folder = tmp_path / "run"
    run = run_command(folder, on=False, model=model, more=more)
    entries = predicted(run, harness)
    results = [
        {"custom_id": str(row), "response": {"body": {"choices": [{"message": {"content": entry["prediction"]}}]}}}
        for row, entry in reversed(list(enumerate(entries)))
    ]
    (of_run,) = folder.glob("out/*")
    theirs = next(iter(run.predictions))
    data = [
        "--data",
        written(tmp_path / "test.jsonl", rows(40)),
        "--examples",
        written(tmp_path / "dev.jsonl", rows(5)),
    ]
    words = ["join", written(tmp_path / "results.jsonl", results), "--table", str(folder / "eval.py"), *data, "--quiet"]
    # Nobody knows of these classes which form their prompts have.
    words += ["--dialect", harness, *(["--output", "text"] if model == "Echo" else [])]
    other = tmp_path / "other" / "out" / of_run.name
    assert main([*words, "--out", str(tmp_path / "joined.parquet"), "--predictions", str(other)]) == 0
    have, want = (other / theirs).read_bytes(), run.predictions[theirs]
    if harness == "opencompass":
        assert have == want
    else:
        without_names = [sorted(re.sub(rb'"uuid": "[0-9a-f]+"', b"", text).splitlines()) for text in (have, want)]
        assert without_names[0] == without_names[1]
    shutil.copytree(of_run / "configs", other / "configs")
    reuse = "-r" if harness == "opencompass" else "--reuse"
    for name in ("run", "other"):
        run_command(tmp_path / name, "--mode", "eval", reuse, of_run.name, on=False, model=model, more=more)
    want_scores = scores(tmp_path / "run")
    assert scores(tmp_path / "other") == want_scores
    ((_, score),) = want_scores.items()
    assert 0 < score["accuracy"] < 100
