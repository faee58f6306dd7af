"""Words that stand where they can't: the message names the option that they belong to. And what small runs say."""

from __future__ import annotations

from pathlib import Path

import pytest
from promptpress_workbench.cli import main

TEMPLATE = "Q: {question} A:"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my.csv").write_text("question,answer\n1+1?,2\n2+2?,4\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["render", TEMPLATE, "--data", "my.csv", "--out", "out.jsonl"],
        ["show", TEMPLATE, "--data", "my.csv"],
        ["stats", TEMPLATE, "--data", "my.csv"],
        ["view", TEMPLATE, "--data", "my.csv"],
        ["diff", TEMPLATE, "{question}", "--data", "my.csv"],
        ["diff", "my.yaml", TEMPLATE, "--data", "my.csv"],
        ["export", "openai-batch", TEMPLATE, "--data", "my.csv", "--model-name", "m", "--out", "out.jsonl"],
    ],
    ids=" ".join,
)
def test_a_template_in_the_place_of_a_configuration(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert f"'{TEMPLATE}': this looks like a template, which --template TEXT gives" in errors
    assert ("--template-b TEXT for B" in errors) == (words[0] == "diff")


def test_a_file_whose_name_has_braces_is_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "{q}.json").write_text('{"prompt_template": "Q: {question}"}', encoding="utf-8")
    assert main(["show", "{q}.json", "--data", "my.csv"]) == 0
    assert "Q: 1+1?" in capsys.readouterr().out


def test_a_number_in_the_place_of_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "17", "--data", "my.csv"]) == 2
    assert "17: this looks like a row, which --row 17 shows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["export", "openai-batch", "--template", TEMPLATE, "--model", "gpt-3.5-turbo"], "--model-name NAME"),
        (["show", "--template", TEMPLATE, "--data", "my.csv", "--model", "org/gpt-4o"], "how a model's roles speak"),
        (["view", "--template", TEMPLATE, "--data", "my.csv", "--model", "gpt-4o"], "how a model's roles speak"),
        (["export", "vllm"], "did you mean 'vllm-batch'?"),
        (["help"], "promptpress COMMAND --help"),
        (["export", "openai-batch", "--temperature", "0"], "--params '{\"temperature\": ...}'"),
        (["export", "openai-batch", "--max-tokens=9"], "--params '{\"max_tokens\": ...}'"),
        (["join", "out.jsonl", "--template", TEMPLATE], "--table FILE takes the samples' own file"),
        (["show", "--temperature", "0"], "did you mean --template?"),
        (["show", "--html", "page.html"], "promptpress view --html FILE writes a page"),
        (["show", "--limit", "5"], "--row 0-9 shows the first ten rows"),
        (["diff", "--limit", "5"], "--where chooses rows, and --max says how many differences are shown"),
        (["diff", "--max-tokens", "512"], "`promptpress export trl-tokens --max-tokens 512 --out b.parquet` truncates"),
        (["tokenize", "--order", "prefix"], "token ids stay in the order of the samples"),
        (["stats", "--out", "stats.json"], "stats prints to standard output; > FILE keeps it"),
        (
            ["show", "--failed", "--out", "f.txt"],
            "; show prints to standard output; > FILE keeps it (see",
        ),
        (["stats", "--grep", "x"], "no such option; it is for show (see"),
        (["show", "--max-file-size", "1GB"], "no such option; it is for export (see"),
        *(
            ([command, "--errors", "skip"], "render, tokenize and export have it")
            for command in ("view", "show", "diff")
        ),
    ],
)
def test_what_others_call_otherwise(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    if words[0] == "export":
        words = [*words, "--data", "my.csv", "--out", "out.jsonl"]
    assert main(words) == 2
    assert hint in capsys.readouterr().err


def test_a_small_run_has_no_rate(capsys: pytest.CaptureFixture[str]) -> None:
    for limit, rows in ((1, "1 row,"), (2, "2 rows,")):
        words = ["--template", TEMPLATE, "--data", "my.csv", "--out", "out.csv", "--limit", str(limit)]
        assert main(["render", *words]) == 0
        errors = capsys.readouterr().err
        assert errors.startswith(f"promptpress: {rows}")
        assert "/s" not in errors


def test_one_request_is_singular(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--template", TEMPLATE, "--data", "my.csv", "--model-name", "m", "--out", "out.jsonl"]
    for limit, beginning in (("1", "promptpress: 1 request, "), ("2", "promptpress: 2 requests, ")):
        assert main(["export", "openai-batch", *words, "--limit", limit]) == 0
        assert capsys.readouterr().err.startswith(beginning)


def test_the_size_of_a_page_of_rows_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["view", "--template", TEMPLATE, "--data", "my.csv", "--html", "rows.html"]
    assert main(words) == 0
    assert capsys.readouterr().err == "promptpress: 2 rows in rows.html\n"
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
