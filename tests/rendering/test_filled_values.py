"""Values that are filled in as templates, as harnesses do, are never changed in silence, whatever renders them."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress._engine.configured_engine import silent
from promptpress_workbench.cli import main

QUESTION = r"What is 6 times 7? Write it as \boxed{answer}."
SAMPLES = pa.table({"question": ["1+1?", QUESTION, "2+2?"], "answer": ["2", "42", "4"]})
HARNESS: dict[str, Any] = {"prompt_template": "Q: {question}", "substitution": "harness"}
MESSAGE = "in 1 of 3 rows, values were filled in as templates, first in row 1, column 'question'"

pytestmark = pytest.mark.filterwarnings("always::promptpress.PromptWarning")


def warnings_of(run: Callable[[], Any]) -> list[str]:
    """Return the warnings of a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [str(warning.message) for warning in caught]


WAYS: dict[str, Callable[[pp.Renderer], Any]] = {
    "render": lambda renderer: renderer.render(SAMPLES),
    "stream": lambda renderer: renderer.stream(SAMPLES.to_batches(max_chunksize=1)).read_all(),
    "call": lambda renderer: renderer(SAMPLES.to_batches()[0]),
    "call of a table": lambda renderer: renderer(SAMPLES),
    "hashes and spans": lambda renderer: renderer.render(SAMPLES, hashes=True, spans="detailed", index="n"),
    "errors": lambda renderer: renderer.render(SAMPLES, errors="column"),
    "a pickled renderer": lambda renderer: pickle.loads(pickle.dumps(renderer)).render(SAMPLES),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_tells_once(way: str) -> None:
    (message,) = warnings_of(lambda: WAYS[way](pp.Renderer(**HARNESS)))
    assert message == f'{MESSAGE}; substitution="single_pass" leaves values alone'
    assert warnings_of(lambda: WAYS[way](pp.Renderer("Q: {question}"))) == []
    assert warnings_of(lambda: WAYS[way](pp.Renderer(**{**HARNESS, "prompt_template": "{answer}"}))) == []


def test_a_renderer_of_many_batches_tells_once() -> None:
    renderer = pp.Renderer(**HARNESS)
    batch = SAMPLES.to_batches()[0]
    assert len(warnings_of(lambda: [renderer(batch) for _ in range(3)])) == 1
    assert len(warnings_of(lambda: [renderer.render(SAMPLES) for _ in range(3)])) == 3


def test_a_silent_renderer_counts_nothing() -> None:
    renderer = silent(pp.Renderer(**HARNESS))
    assert warnings_of(lambda: renderer.render(SAMPLES)) == []
    assert renderer.last_run is not None
    assert renderer.last_run.rows == 0


@pytest.mark.parametrize("batch_rows", [1, 2, 5, 100])
def test_rows_count_over_batches(batch_rows: int) -> None:
    samples = pa.concat_tables([SAMPLES] * 40)
    renderer = pp.Renderer(**HARNESS)
    table = renderer.stream(samples.to_batches(max_chunksize=batch_rows)).read_all()
    assert len(table) == 120
    assert renderer.last_run is not None
    assert (renderer.last_run.rows, renderer.last_run.first_row) == (40, 1)
    assert renderer.last_run.rows == len(renderer.divergence(samples))


@pytest.mark.parametrize("retriever", ["FixKRetriever", "RandomRetriever", "SlidingWindowRetriever"])
def test_values_of_examples_count(retriever: str) -> None:
    """An example that brings a value in does so in each row that shows it, wherever a stream is cut."""
    ids = {"fix_id_list": [1]} if retriever == "FixKRetriever" else {"ice_num": 2}
    ids = {"k": 2} if retriever == "SlidingWindowRetriever" else ids
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>Q: {question}", "ice_token": "</E>"},
        "Q: {question} {answer}",
        retriever={"type": retriever, **ids},
        examples=SAMPLES,
        reader={"input_columns": ["question"], "output_column": "answer"},
    )
    count = 3 if retriever == "SlidingWindowRetriever" else 50
    samples = pa.table({"question": [f"{n}?" for n in range(count)], "answer": ["x"] * count})
    divergent = renderer.divergence(samples)["row"].to_pylist()
    assert divergent
    for rows in (50, 7, 1):
        renderer.stream(samples.to_batches(max_chunksize=rows)).read_all()
        assert renderer.last_run is not None
        assert (renderer.last_run.rows, renderer.last_run.first_row) == (len(divergent), divergent[0])


@pytest.mark.parametrize("bad", [0, 3, 6, 99])
def test_a_bad_row_leaves_the_count_of_the_others(bad: int) -> None:
    """The only row that isn't compared is the bad one, which has an error in the place of a prompt."""
    moments = [2**60 if row == bad else row for row in range(100)]
    samples = pa.table({"q": ["see {a}", "b"] * 50, "a": ["x"] * 100, "d": pa.array(moments, pa.timestamp("s"))})
    renderer = pp.Renderer({"type": "PromptTemplate", "template": "{q} {d}"})
    for render in (
        lambda: renderer.render(samples, errors="column"),
        lambda: renderer.stream(samples.to_batches(max_chunksize=8), errors="column").read_all(),
    ):
        assert len(warnings_of(render)) == 1
        assert renderer.last_run is not None
        assert renderer.last_run.rows == 50 - (bad % 2 == 0)
        assert renderer.last_run.first_row == (2 if bad == 0 else 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SAMPLES.to_pylist()), encoding="utf-8")
    Path("harness.json").write_text(json.dumps(HARNESS), encoding="utf-8")
    Path("short.yaml").write_text('template: "Q: {question}"\n', encoding="utf-8")


COMMANDS = {
    "jsonl": ["render", "--out", "out.jsonl"],
    "parquet": ["render", "--out", "out.parquet"],
    "kept columns": ["render", "--keep", "all", "--out", "out.jsonl"],
    "export": ["export", "openai-batch", "--model-name", "m", "--out", "requests.jsonl"],
    "an export with columns": ["export", "sharegpt", "--answer", "answer", "--out", "talks.jsonl"],
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("config", [["harness.json"], ["--template", "Q: {question}", "--substitution", "harness"]])
def test_the_command_tells_once(command: str, config: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name, *options = COMMANDS[command]
    operands = [name, *options[:1]] if name == "export" else [name]
    rest = options[1:] if name == "export" else options
    assert main([*operands, *config, "--data", "data.jsonl", *rest]) == 0
    captured = capsys.readouterr().err
    lines = [line for line in captured.splitlines() if "filled in" in line]
    assert lines == [f"promptpress: warning: {MESSAGE}; --substitution single_pass leaves values alone"]
    assert main([*operands, *config, "--data", "data.jsonl", *rest, "--quiet"]) == 0
    assert "filled in" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("config", [["short.yaml"], ["--template", "Q: {question}"]])
def test_the_short_form_leaves_values_alone(
    command: str, config: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = COMMANDS[command]
    operands = [name, *options[:1]] if name == "export" else [name]
    rest = options[1:] if name == "export" else options
    assert main([*operands, *config, "--data", "data.jsonl", *rest]) == 0
    assert "filled in" not in capsys.readouterr().err
    out = Path(rest[-1])
    text = out.read_text(encoding="utf-8") if out.suffix == ".jsonl" else str(pp.to_pylist(_column(out)))
    assert r"\boxed{answer}" in text.replace("\\\\", "\\")


def _column(path: Path) -> pa.ChunkedArray:
    return pq.read_table(path)["prompt"]
