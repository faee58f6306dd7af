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
from promptpress_workbench.cli import main

pytestmark = UNWARNED

TRAIN = pa.table({"q": [f"{n}+{n}?" for n in range(6)], "a": [str(2 * n) for n in range(6)]})
SAMPLES = pa.table({"q": ["7?", "what is " * 5, "x" * 200, "8?"], "a": ["7", "5", "200", "8"]})
TEMPLATE = ("--template", "Q: {q} A: {a}", "--answer", "a", "--shots", "5", "--examples", "train.parquet")
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
    assert run("audit", *BUDGET, "--out-format", "json") == 0
    codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)]
    assert {"prompt_truncated", "examples_left_out"} <= set(codes)
    assert run("show", *BUDGET, "--row", "1", "--quiet") == 0
    assert renderer().render(SAMPLES)["prompt"][1].as_py() in capsys.readouterr().out


JOB: dict[str, Any] = {
    "datasets": [
        {
            "abbr": "d",
            "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
            "infer_cfg": {
                "prompt_template": {"type": "PromptTemplate", "template": "</E>Q: {q} A: {a}", "ice_token": "</E>"},
                "ice_template": {"type": "PromptTemplate", "template": "Q: {q} A: {a}"},
                "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3, 4]},
                "inferencer": {"type": "GenInferencer"},
            },
        }
    ],
    "models": [{"abbr": "m", "type": "HuggingFace", "max_seq_len": 60}],
}


@pytest.fixture
def job() -> tuple[str, ...]:
    Path("job.json").write_text(json.dumps(JOB))
    return ("job.json", "--data", "data.parquet", "--examples", "train.parquet")


def test_the_configuration_says_how_many_tokens_there_are(
    job: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    data = (*job, "--out", "out.parquet")
    assert main(["render", *data, "--tokenizer", "tokenizer.json"]) == 0
    assert pq.read_table("out.parquet")["n_shots"].to_pylist() == [3, 1, 0, 3]
    assert "max_seq_len" not in capsys.readouterr().err
    assert main(["render", *data]) == 0
    assert pq.read_table("out.parquet").column_names == ["prompt"]
    assert "--tokenizer FILE applies it" in capsys.readouterr().err
    Path("short.yaml").write_text("template: 'Q: {q} A: {a}'\nshots: 5\noutput_column: a\nmax_seq_len: 60\nfit: last\n")
    assert main(["render", "short.yaml", *data[1:], "--tokenizer", "tokenizer.json"]) == 0
    assert pq.read_table("out.parquet").to_pylist() == renderer(fit="last").render(SAMPLES).to_pylist()


COMMANDS = {
    "show": ("--row", "1"),
    "view": ("--html", "out.html"),
    "export": ("--out", "out.jsonl"),
    "export tokens": ("--out", "out.parquet"),
}


def requests_of(command: str, *options: str) -> str:
    """Return all that a command has written."""
    name, *form = command.split()
    if name == "export":
        form = ["vllm-tokens"] if form else ["openai-batch"]
        options += () if form == ["vllm-tokens"] else ("--model-name", "m")
    assert main([name, *form, *options, *COMMANDS[command]]) == 0
    out = Path(COMMANDS[command][1])
    if out.suffix == ".parquet":
        ids = pq.read_table(out)
        assert ids.column_names == ["prompt_token_ids"]
        return "\n".join(map(small_tokenizer().decode, ids["prompt_token_ids"].to_pylist()))
    if out.suffix == ".jsonl":
        bodies = [json.loads(line)["body"] for line in out.read_text(encoding="utf-8").splitlines()]
        return "\n".join(body["messages"][0]["content"] for body in bodies)
    return out.read_text(encoding="utf-8") if out.exists() else ""


@pytest.mark.parametrize("command", COMMANDS)
def test_all_commands_apply_the_budget_of_a_configuration(
    command: str, job: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Prompts are those of `render`: with a tokenizer they are fitted, and without one a note says that they aren't."""
    assert main(["render", *job, "--tokenizer", "tokenizer.json", "--out", "fitted.parquet"]) == 0
    fitted = pq.read_table("fitted.parquet")["prompt"].to_pylist()
    capsys.readouterr()
    written = requests_of(command, *job, "--tokenizer", "tokenizer.json")
    printed = capsys.readouterr()
    assert "max_seq_len" not in printed.err
    # The page marks up the pieces of prompts, so only what isn't there any more can be looked for.
    assert "4+4?" not in (written or printed.out)
    if command.startswith("export"):
        assert written == "\n".join(fitted)
    elif command == "show":
        assert fitted[1] in printed.out
    if command == "export tokens":
        return
    whole = requests_of(command, *job)
    printed = capsys.readouterr()
    assert "4+4?" in (whole or printed.out)
    assert "max_seq_len isn't applied" in printed.err


def test_two_budgets_are_compared(job: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    budget = ("--tokenizer", "tokenizer.json")
    assert main(["diff", *job, *budget, "--max-seq-len-b", "10000", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["different"] == 4
    assert main(["diff", *job, *budget, "--max-seq-len", "60", "--fit-b", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"] == 4
    assert main(["diff", *job, *budget, "--max-seq-len", "60", "--fit-b", "first", "--json"]) == 1
    capsys.readouterr()
    assert main(["render", *job, *budget, "--out", "fitted.parquet"]) == 0
    assert main(["diff", "fitted.parquet", *job, *budget]) == 0
    capsys.readouterr()
    assert main(["diff", "fitted.parquet", *job]) == 1
    assert "max_seq_len isn't applied" in capsys.readouterr().err
    assert main(["diff", "fitted.parquet", "fitted.parquet", "--max-seq-len", "9"]) == 2
    assert "--max-seq-len has nothing to add" in capsys.readouterr().err


def test_requests_of_an_api_in_prefix_order_are_those_of_render(job: tuple[str, ...]) -> None:
    export = ("export", "openai-batch", *job, *BUDGET, "--model-name", "m", "--out", "out.jsonl")
    assert main([*export, "--order", "prefix", "--cache-control", "auto", "--custom-id", "{sample}-{n_shots}"]) == 0
    lines = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(line["body"]["prompt_cache_key"] for line in lines)
    assert main(["render", *job, *BUDGET, "--out", "fitted.parquet"]) == 0
    rows = pq.read_table("fitted.parquet").to_pylist()
    expected = {f"{n}-{row['n_shots']}": row["prompt"] for n, row in enumerate(rows)}
    assert {line["custom_id"]: line["body"]["messages"][0]["content"] for line in lines} == expected


def test_other_exports_and_their_answers(job: tuple[str, ...]) -> None:
    """Tables say how many examples each prompt has, and `join` renders prompts as the export did."""
    assert main(["export", "ray", *job, *BUDGET, "--out", "ray.parquet"]) == 0
    table = pq.read_table("ray.parquet")
    assert table.select(["n_shots", "truncated"]).to_pylist() == [
        {"n_shots": shots, "truncated": shots == 0} for shots in (3, 1, 0, 3)
    ]
    answer = {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": "x"}}]}}}
    Path("results.jsonl").write_text("".join(json.dumps({"custom_id": str(n), **answer}) + "\n" for n in range(4)))
    config, *data = job
    assert main(["join", "results.jsonl", "--table", config, *data, *BUDGET, "--out", "joined.parquet"]) == 0
    assert main(["render", *job, *BUDGET, "--out", "fitted.parquet"]) == 0
    assert pq.read_table("joined.parquet")["prompt"] == pq.read_table("fitted.parquet")["prompt"]


def test_the_fingerprint_is_that_of_the_budget(job: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    config, _, _, *examples = job
    assert main(["fingerprint", config, *examples, *BUDGET, "--json"]) == 0
    fingerprint = json.loads(capsys.readouterr().out)["fingerprint"]
    assert main(["render", *job, *BUDGET, "--out", "fitted.parquet"]) == 0
    assert pq.read_metadata("fitted.parquet").metadata[b"promptpress.fingerprint"].decode() == fingerprint


def test_a_tokenizer_without_a_budget_is_refused_where_it_would_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out = ("--model-name", "m", "--out", "out.jsonl")
    template = ("--template", "Q: {q}", "--data", "data.parquet")
    assert main(["export", "openai-batch", *template, *BUDGET[:2], *out]) == 2
    assert "--tokenizer: counts the tokens of a budget, and there is none" in capsys.readouterr().err


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
    for command in (
        ("render", "--out", "out.parquet"),
        ("stats",),
        ("audit",),
        ("view", "--html", "x.html"),
        ("diff",),
    ):
        assert main([command[0], *arguments, *command[1:]]) == 2
        assert "--max-seq-len: says how a configuration is rendered" in capsys.readouterr().err
