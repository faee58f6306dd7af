"""The options of a budget of tokens: `--tokenizer`, `--max-seq-len`, `--fit`, `--reserve`, `--fit-labels`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress._cli import main

pytestmark = UNWARNED

TRAIN = pa.table({"q": [f"{n}+{n}?" for n in range(6)], "a": [str(2 * n) for n in range(6)]})
SAMPLES = pa.table({"q": ["7?", "what is " * 5, "x" * 200, "8?"], "a": ["7", "5", "200", "8"]})
TEMPLATE = ("--template", "Q: {q} A: {a}", "--output-column", "a", "--shots", "5", "--examples", "train.parquet")
BUDGET = ("--tokenizer", "tokenizer.json", "--max-seq-len", "60")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_tokenizer().save("tokenizer.json")
    pq.write_table(TRAIN, "train.parquet")
    pq.write_table(SAMPLES, "data.parquet")
    return tmp_path


def run(command: str, *options: str) -> int:
    return main([command, *TEMPLATE, "--data", "data.parquet", *options])


def renderer(**options: Any) -> pp.Renderer:
    shots = {"shots": 5, "examples": TRAIN, "output_column": "a", "tokenizer": "tokenizer.json", "max_seq_len": 60}
    return pp.Renderer("Q: {q} A: {a}", **{**shots, **options})


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("more", [{}, {"fit": "first"}, {"fit": "last", "reserve": 9, "fit_labels": "jointly"}])
def test_files_hold_what_python_gives(suffix: str, more: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    options = [text for name, value in more.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    assert run("render", *BUDGET, *options, "--out", f"out.{suffix}", "--print-first", "--index", "row") == 0
    expected = renderer(**more).render(SAMPLES, index="row").to_pylist()
    if suffix == "parquet":
        assert pq.read_table("out.parquet").to_pylist() == expected
    else:
        assert [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()] == expected
    assert capsys.readouterr().out == expected[0]["prompt"] + "\n"
    assert run("tokenize", *BUDGET, *options, "--out", "tokens.parquet") == 0
    tokens = pq.read_table("tokens.parquet")
    assert tokens.to_pylist() == renderer(**more).tokenize(SAMPLES, small_tokenizer()).to_pylist()


def test_hashes_are_those_of_the_prompts() -> None:
    assert run("render", *BUDGET, "--out", "out.parquet", "--hashes", "--errors", "column") == 0
    table, expected = pq.read_table("out.parquet"), renderer().render(SAMPLES, hashes=True)
    assert table["hash"].to_pylist() == expected["hash"].to_pylist()
    assert (
        pq.read_metadata("out.parquet").metadata[b"promptpress.hash"] == expected.schema.metadata[b"promptpress.hash"]
    )
    assert table["n_shots"].to_pylist() == expected["n_shots"].to_pylist()


def test_a_run_with_a_budget_can_be_resumed() -> None:
    assert run("render", *BUDGET, "--out", "out.parquet", "--resume", "--batch-size", "2") == 0
    assert pq.read_table("out.parquet").to_pylist() == renderer().render(SAMPLES).to_pylist()


def test_statistics_audits_and_shown_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("stats", *BUDGET, "--json") == 0
    shots = json.loads(capsys.readouterr().out)["shots"]
    assert [(row["n_shots"], row["requests"], row["truncated"]) for row in shots] == [(3, 2, 0), (1, 1, 0), (0, 1, 1)]
    assert run("audit", *BUDGET, "--format", "json") == 0
    codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)]
    assert {"prompt_truncated", "examples_left_out"} <= set(codes)
    assert run("show", *BUDGET, "--row", "1", "--quiet") == 0
    assert renderer().render(SAMPLES)["prompt"][1].as_py() in capsys.readouterr().out


def test_the_configuration_says_how_many_tokens_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    infer = {
        "prompt_template": {"type": "PromptTemplate", "template": "</E>Q: {q} A: {a}", "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": "Q: {q} A: {a}"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3, 4]},
        "inferencer": {"type": "GenInferencer"},
    }
    reader = {"input_columns": ["q"], "output_column": "a"}
    models = [{"abbr": "m", "type": "HuggingFace", "max_seq_len": 60}]
    Path("job.json").write_text(
        json.dumps({"datasets": [{"abbr": "d", "reader_cfg": reader, "infer_cfg": infer}], "models": models})
    )
    data = ("job.json", "--data", "data.parquet", "--examples", "train.parquet", "--out", "out.parquet")
    assert main(["render", *data, "--tokenizer", "tokenizer.json"]) == 0
    assert pq.read_table("out.parquet")["n_shots"].to_pylist() == [3, 1, 0, 3]
    assert "max_seq_len" not in capsys.readouterr().err
    assert main(["render", *data]) == 0
    assert pq.read_table("out.parquet").column_names == ["prompt"]
    assert "render --tokenizer FILE applies it" in capsys.readouterr().err
    Path("short.yaml").write_text("template: 'Q: {q} A: {a}'\nshots: 5\noutput_column: a\nmax_seq_len: 60\nfit: last\n")
    assert main(["render", "short.yaml", *data[1:], "--tokenizer", "tokenizer.json"]) == 0
    assert pq.read_table("out.parquet").to_pylist() == renderer(fit="last").render(SAMPLES).to_pylist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-seq-len", "60"), "--max-seq-len: is of tokens; --tokenizer FILE counts them"),
        (("--fit", "last"), "--fit: is of tokens; --tokenizer FILE counts them"),
        ((*BUDGET, "--reserve", "9"), "--fit last leaves out the same examples"),
        (("--tokenizer", "nowhere.json", "--max-seq-len", "60"), "no such file"),
    ],
)
def test_wrong_options(options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("render", *options, "--out", "out.parquet") in {2, 3}
    assert message in capsys.readouterr().err


def test_templates_have_no_examples_to_leave_out(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--jinja", "Q: {{ q }}", "--data", "data.parquet", *BUDGET)
    for command in (("render", "--out", "out.parquet"), ("stats",), ("audit",)):
        assert main([command[0], *arguments, *command[1:]]) == 2
        assert "--max-seq-len: says how a configuration is rendered" in capsys.readouterr().err
