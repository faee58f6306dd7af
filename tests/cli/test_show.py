"""`promptpress show`: at a terminal of 80 columns, without colours, piped, where nothing but ASCII can be written."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from marks import UNWARNED
from parts.pseudo_terminal import in_terminal
from promptpress_workbench.cli import main
from promptpress_workbench.prompts.escapes import cells

pytestmark = UNWARNED

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \r over \x9b2J \u202egnp\u202c \u2066x\u2069 a\u200bb\ufeff \x00 \x7f"
ROWS: dict[str, list[Any]] = {
    "question": [
        "1+1=?",
        HOSTILE,
        "日本語の文章" * 20,
        "a \t\xa0b  ",
        "word " * 40,
        *(f"number {n}" for n in range(95)),
    ],
    "answer": ["2", "x", "y", "z", "w", *map(str, range(95))],
}
SAMPLES = pa.table(ROWS)
TEMPLATE = "Q: {question}\nA: {answer}"
READER = {"input_columns": ["question"], "output_column": "answer"}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet", row_group_size=10)
    config: dict[str, Any] = {"prompt_template": TEMPLATE, "reader": READER}
    Path("text.json").write_text(json.dumps(config))
    turns = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "It is {answer}"}]
    Path("list.json").write_text(json.dumps({**config, "prompt_template": {"round": turns}, "output": "prompt_list"}))
    Path("ppl.json").write_text(json.dumps({**config, "mode": "ppl", "labels": ["A", "B"]}))


def output_of_show(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["show", *arguments]) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def piped(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        warm.command("show", *arguments), capture_output=True, check=False, env={**os.environ, **environment}
    )


# ---------------------------------------------------------------------------------------------------------------------
# What is shown.


def test_a_prompt_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of_show(capsys, "text.json", "--data", "data.parquet")
    assert out == "── row 0 · 12 bytes · 12 characters\nQ: 1+1=?\nA: \n"


def test_rows_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of_show(capsys, "text.json", "--data", "data.parquet", "--row", "99,5-7,5")
    assert re.findall(r"row (\d+)", out) == ["99", "5", "6", "7", "5"]
    assert "Q: number 94\n" in out


@pytest.mark.parametrize("row", ["a", "1-", "-1", "3-2", "1,,2", "\u0663"])
def test_what_is_no_row_is_refused(capsys: pytest.CaptureFixture[str], row: str) -> None:
    assert "row" in output_of_show(capsys, "text.json", "--data", "data.parquet", f"--row={row}", code=2)


def test_a_row_that_isnt_there(capsys: pytest.CaptureFixture[str]) -> None:
    err = output_of_show(capsys, "text.json", "--data", "data.parquet", "--row", "100", code=4)
    assert "there is no such row: rows count from 0, and the table has 100" in err


def test_origins_are_written_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of_show(capsys, "list.json", "--data", "data.parquet", "--origins")
    assert out.splitlines()[1:] == [
        "[HUMAN]",
        "1+1=?",
        "[BOT]",
        "It is ",
        "origins, in bytes:",
        "[HUMAN]",
        '  0-5  column question, role HUMAN  "1+1=?"',
        "[BOT]",
        '  0-6  prompt template, role BOT  "It is "',
        '  6-6  masked answer, column answer, role BOT  ""',
    ]


def test_labels_and_turns(capsys: pytest.CaptureFixture[str]) -> None:
    ppl = ("ppl.json", "--data", "data.parquet", "--row", "5")
    assert re.findall(r"label (\w)", output_of_show(capsys, *ppl)) == ["A", "B"]
    assert re.findall(r"label (\w)", output_of_show(capsys, *ppl, "--label", "B")) == ["B"]
    assert "no label 'C'; there are 'A', 'B'" in output_of_show(capsys, *ppl, "--label", "C", code=4)
    assert "no labels: only ppl" in output_of_show(
        capsys, "text.json", "--data", "data.parquet", "--label", "A", code=4
    )
    assert "no turns" in output_of_show(capsys, *ppl, "--turn", "0", code=4)


def test_a_rendered_file_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for out in ("r.parquet", "r.jsonl", "r.arrow"):
        assert main(["render", "ppl.json", "--data", "data.parquet", "--out", out, "--quiet"]) == 0
        capsys.readouterr()
        want = output_of_show(capsys, "ppl.json", "--data", "data.parquet", "--row", "7")
        assert output_of_show(capsys, out, "--row", "7") == want
        assert "its configuration does" in output_of_show(capsys, out, "--row", "7", "--origins")
    assert "samples come with --data, and a file of prompts without" in output_of_show(
        capsys, out, "--data", "data.parquet", code=2
    )
    assert "--model has nothing to add" in output_of_show(capsys, out, "--model", "x.py", code=2)
    assert "--column says which has the prompts; samples come with --data" in output_of_show(
        capsys, "data.parquet", code=4
    )
    assert "1+1=?" in output_of_show(capsys, "data.parquet", "--column", "question")


def test_a_request_that_isnt_there_is_no_empty_text(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"prompt": ["a", None, ""]}), "r.parquet")
    assert output_of_show(capsys, "r.parquet", "--row", "1").splitlines() == [
        "── row 1 · no prompt: a null, and no column 'error' says why"
    ]
    assert "0 bytes" in output_of_show(capsys, "r.parquet", "--row", "2")
    arguments = ["--limits", "prompt_bytes=20", "--errors", "column", "--out", "e.jsonl", "--quiet"]
    assert main(["render", "text.json", "--data", "data.parquet", *arguments]) == 0
    capsys.readouterr()
    wrong = [row for row, line in enumerate(Path("e.jsonl").read_text().splitlines()) if json.loads(line)["error"]]
    errors = output_of_show(capsys, "e.jsonl", "--row", str(wrong[0]))
    assert errors.startswith(f"── row {wrong[0]} · no prompt: ")
    assert "prompt_bytes" in errors


def test_a_configuration_needs_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--data FILE names them" in output_of_show(capsys, "text.json", code=2)
    assert "--template: a configuration needs samples" in output_of_show(capsys, "--template", "Q: {question}", code=2)
    assert "neither CONFIG nor --template" in output_of_show(capsys, code=2)
    assert "Q: 1+1=?" in output_of_show(capsys, "--template", "Q: {question}", "--data", "data.parquet")


# ---------------------------------------------------------------------------------------------------------------------
# What is looked for, beside plain Python.


def requests_of(name: str) -> list[tuple[int, list[str]]]:
    """(row, texts) of every request."""
    renderer = pp.Renderer(**json.loads(Path(name).read_text()))
    table = renderer.render(SAMPLES)
    requests = pp.to_pylist(table["prompt"])
    each = len(requests) // len(SAMPLES)
    texts = [
        [request] if isinstance(request, str) else [message["prompt"] for message in request] for request in requests
    ]
    return [(number // each, texts_of_request) for number, texts_of_request in enumerate(texts)]


@pytest.mark.parametrize("name", ["text.json", "list.json", "ppl.json"])
@pytest.mark.parametrize(
    "pattern", ["number 1", r"number \d*7\b", r"(?i)NUMBER 2", "\u202e", "語の", "nowhere", "^", "."]
)
def test_grep_finds_what_python_finds(capsys: pytest.CaptureFixture[str], name: str, pattern: str) -> None:
    out = output_of_show(capsys, name, "--data", "data.parquet", "--grep", pattern, "--max", "1000")
    requests = requests_of(name)
    want = [row for row, texts in requests if any(re.search(pattern, text) for text in texts)]
    assert out.startswith(f"{len(want)} of {len(requests)} requests match\n")
    assert [int(row) for row in re.findall(r"^── row (\d+)", out, re.M)] == want


def test_grep_shows_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of_show(
        capsys, "text.json", "--data", "data.parquet", "--grep", "number", "--max", "2", "--color", "always"
    )
    assert SGR.sub("", out).startswith("95 of 100 requests match; the first 2:\n")
    assert "\x1b[38;5;29;7mnumber\x1b[0m" in out
    assert "no regular expression" in output_of_show(
        capsys, "text.json", "--data", "data.parquet", "--grep", "(", code=2
    )


@pytest.mark.parametrize("name", ["text.json", "list.json", "ppl.json"])
@pytest.mark.parametrize("which", ["longest", "shortest"])
def test_extremes_are_those_of_python(capsys: pytest.CaptureFixture[str], name: str, which: str) -> None:
    out = output_of_show(capsys, name, "--data", "data.parquet", f"--{which}", "7")
    order = sorted(requests_of(name), key=lambda pair: len("".join(pair[1]).encode()), reverse=which == "longest")
    assert [int(row) for row in re.findall(r"^── row (\d+)", out, re.M)] == [row for row, _ in order[:7]]


def test_a_sample_is_drawn_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = [
        output_of_show(capsys, "text.json", "--data", "data.parquet", "--sample", "5", "--seed", seed) for seed in "112"
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    rows = [int(row) for row in re.findall(r"^── row (\d+)", drawn[0], re.M)]
    assert rows == sorted(set(rows))
    assert len(rows) == 5


def test_one_choice_of_rows_only(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--row", "1", "--longest", "2")
    assert "not allowed with" in output_of_show(capsys, "text.json", "--data", "data.parquet", *both, code=2)


def test_tokens_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save("tokenizer.json")
    out = output_of_show(capsys, "text.json", "--data", "data.parquet", "--row", "5", "--tokenizer", "tokenizer.json")
    assert " · 6 tokens" in out
    Path("words.jsonl").write_text('{"q": "one_two_three_four"}\n{"q": "a b c d e"}\n', encoding="utf-8")
    texts = ("--template", "{q}", "--data", "words.jsonl", "--tokenizer", "tokenizer.json")
    assert "row 1 · 9 bytes" in output_of_show(capsys, *texts, "--longest", "1")
    assert "row 0 · 18 bytes" in output_of_show(capsys, *texts[:-2], "--longest", "1")
    assert main(["stats", *texts, "--json"]) == 0
    longest = json.loads(capsys.readouterr().out)["longest"]
    assert [(row["sample"], row["tokens"]) for row in longest] == [(1, 5), (0, 1)]
    err = output_of_show(capsys, "text.json", "--data", "data.parquet", "--tokenizer", "elsewhere.json", code=2)
    assert "--tokenizer elsewhere.json: no such file or folder" in err  # named once


# ---------------------------------------------------------------------------------------------------------------------
# Where it is shown.


def test_at_a_terminal_of_80_columns() -> None:
    out = in_terminal(warm.command("show", "text.json", "--data", "data.parquet", "--row", "0-4"))
    assert "\x1b[38;5;29m" in out
    plain = SGR.sub("", out)
    assert not CONTROLS.search(plain)
    assert max(cells(line) for line in plain.splitlines()) <= 80
    for row in (2, 4):
        assert ROWS["question"][row].replace(" ", "") in plain.replace("\n", "").replace(" ", "")
    assert "\n" + "word " * 16 in plain  # broken at a space
    assert plain.rstrip().endswith("template  column: question  masked answer: answer")
    assert "[masked: answer]" in plain


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours(environment: dict[str, str]) -> None:
    out = in_terminal(warm.command("show", "text.json", "--data", "data.parquet"), environment)
    assert out == "── row 0 · 12 bytes · 12 characters\nQ: 1+1=?\nA: \n"
    forced = in_terminal(warm.command("show", "text.json", "--data", "data.parquet", "--color=always"), environment)
    assert "\x1b[38;5;29m" in forced
    assert "\x1b" not in in_terminal(warm.command("show", "text.json", "--data", "data.parquet", "--color=never"))


def test_piped_there_are_neither_colours_nor_broken_lines() -> None:
    done = piped("text.json", "--data", "data.parquet", "--row", "2,4")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "Q: " + ROWS["question"][2] + "\nA: \n" in text
    assert "Q: " + ROWS["question"][4] + "\nA: \n" in text


@pytest.mark.parametrize("arguments", [(), ("--whitespace",), ("--origins",), ("--color=always",)])
def test_values_never_steer_the_terminal(arguments: tuple[str, ...]) -> None:
    done = piped("text.json", "--data", "data.parquet", "--row", "1", *arguments)
    plain = SGR.sub("", done.stdout.decode())
    assert not CONTROLS.search(plain)
    assert r"\x1b]0;title\x07" in plain.replace("·", " ")
    assert r"\u202egnp\u202c" in plain


def test_hostile_names_and_labels() -> None:
    name = "q\x1b[31m\n\u202e"
    pq.write_table(pa.table({name: ["x"]}), "odd.parquet")
    config = {"prompt_template": f"{{{name}}}", "mode": "ppl", "labels": ["\x1b[2J\n"]}
    Path("odd.json").write_text(json.dumps(config))
    done = piped("odd.json", "--data", "odd.parquet", "--origins", "--color=always")
    assert done.returncode == 0
    plain = SGR.sub("", done.stdout.decode())
    assert not CONTROLS.search(plain)
    assert r"column q\x1b[31m\n\u202e" in plain


def test_white_space_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of_show(capsys, "text.json", "--data", "data.parquet", "--row", "3", "--whitespace")
    assert out.splitlines()[1:] == [r"Q:·a·→\xa0b··↵", "A:·"]
    colored = output_of_show(
        capsys, "text.json", "--data", "data.parquet", "--row", "3", "--whitespace", "--color=always"
    )
    assert "\x1b[38;5;29;2;4m··" in colored  # at the end of a line


@pytest.mark.parametrize("arguments", [(), ("--whitespace",), ("--origins", "--color=always")])
def test_where_only_ascii_can_be_written(arguments: tuple[str, ...]) -> None:
    plain = {
        "LANG": "C",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii:strict",
    }
    done = piped("text.json", "--data", "data.parquet", "--row", "1-3", *arguments, **plain)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert rb"\u65e5\u672c" in done.stdout
    assert b"-- row 1 - " in SGR.sub("", done.stdout.decode()).encode()


def test_a_reader_that_goes_away() -> None:
    command = " ".join([*warm.PROCESS, "show text.json --data data.parquet --row", ",".join(["4"] * 20_000)])
    done = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=False)
    assert done.stdout.decode().startswith("── row 4")
    assert b"Traceback" not in done.stderr


def test_a_leak_is_noted_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sums.csv").write_text("question,answer\n6 times 7?,42\nWrite {answer}.,7\n", encoding="utf-8")
    command = ["show", "--template", "{question}", "--data", "sums.csv", "--substitution", "harness", "--row", "1"]
    assert main(command) == 0
    note = "row 1: braces in the text of 'question' were filled in, as harnesses do; --substitution single_pass"
    assert note in capsys.readouterr().err
    for quiet in (["--quiet"], ["--substitution", "single_pass"], ["--row", "0"]):
        assert main([*command, *quiet]) == 0
        assert capsys.readouterr().err == ""
