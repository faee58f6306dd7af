"""The command `promptpress audit`: what it says and writes, its exit codes, findings that are allowed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main

SAMPLES = pa.table({"q": ["1+1=?", "see {a}\x1b[2J", None], "a": ["2", "gold", "x"]})
CONFIG: dict[str, Any] = {"prompt_template": "Q: {q}", "substitution": "harness"}
ERROR, WARNING = "placeholder_filled", "null_value"


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(CONFIG)
    pq.write_table(SAMPLES, "data.parquet")
    return tmp_path


def write(config: object, name: str = "config.json") -> None:
    Path(name).write_text(json.dumps(config), encoding="utf-8")


def run(*more: str, config: str = "config.json") -> int:
    return main(["audit", config, "--data", "data.parquet", *more])


def codes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [json.loads(line)["code"] for line in capsys.readouterr().out.splitlines()]


def test_each_finding_says_how_its_first_row_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--substitution", "harness", "--dialect", "opencompass") == 1
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out
    assert "error    placeholder_filled  1 row: 1\n" in printed.out
    assert printed.err == "promptpress: 1 error, 2 warnings in 3 rows\n"
    (command,) = {line.strip() for line in printed.out.splitlines() if "--row 1" in line}
    assert command == (
        "promptpress show config.json --data data.parquet --substitution harness --dialect opencompass --row 1"
    )
    assert main(shlex.split(command)[1:]) == 0
    assert "see gold" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("allow", "level", "code"),
    [
        ((), "error", 1),
        ((ERROR,), "error", 0),
        ((ERROR,), "warning", 1),
        ((ERROR, WARNING, "control_character"), "info", 0),
        ((), "never", 0),
    ],
)
def test_exit_codes(allow: tuple[str, ...], level: str, code: int) -> None:
    more = ["--allow", ",".join(allow)] if allow else []
    assert run(*more, "--fail-on", level, "--quiet") == code


def test_findings_that_are_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", f"{WARNING},null_value", "--only", "control_character", "--out-format", "jsonl") == 0
    assert codes(capsys) == [WARNING, "control_character"]
    assert run("--only", "control_character,unread_key") == 0
    assert "1 warning in 3 rows" in capsys.readouterr().err
    assert run("--only", ERROR, "--allow", ERROR, "--out-format", "jsonl") == 0
    assert codes(capsys) == []


def test_findings_that_the_configuration_allows(capsys: pytest.CaptureFixture[str]) -> None:
    write({**CONFIG, "audit": {"allow": [ERROR, "control_character"]}})
    assert run("--out-format", "jsonl") == 0
    assert codes(capsys) == [WARNING]
    dataset = {"reader_cfg": {}, "infer_cfg": {"prompt_template": {"type": "PromptTemplate", "template": "Q: {q}"}}}
    write({"datasets": [{"abbr": "a", "audit": {"allow": [WARNING]}, **dataset}], "audit": {"allow": [ERROR]}})
    assert run("--out-format", "jsonl", "--quiet") == 0
    assert codes(capsys) == ["control_character"]
    # Other commands take the file as it is.
    assert main(["show", "config.json", "--data", "data.parquet"]) == 0


def test_findings_that_a_python_file_allows() -> None:
    text = "prompt_template = 'Q: {q}'\naudit = dict(allow=['placeholder_filled'])\n"
    Path("config.py").write_text(text, encoding="utf-8")
    assert run(config="config.py") == 0


@pytest.mark.parametrize(
    ("audit", "message"),
    [
        ({"alow": []}, "audit.alow: unknown; did you mean 'allow'?"),
        ({"allow": ["nul_value"]}, "did you mean 'null_value'?"),
        ({"allow": "null_value"}, "write ['null_value']"),
        (["null_value"], "expected a mapping with 'allow', found a list"),
    ],
)
def test_what_a_configuration_allows_wrongly(capsys: pytest.CaptureFixture[str], audit: object, message: str) -> None:
    write({**CONFIG, "audit": audit})
    assert run() == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--allow", "nul_value"], "did you mean 'null_value'?"),
        (["--only", "nul_value"], "--only: there is no finding 'nul_value'; did you mean 'null_value'?"),
        (["--max-tokens", "3"], "--tokenizer FILE"),
        (["--tokenizer", "gone.json", "--max-tokens", "3"], "no such file"),
        (["--fail-on", "errors"], "did you mean 'error'?"),
    ],
)
def test_options_that_make_no_sense(capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    assert run(*more) == 2
    assert message in capsys.readouterr().err


def test_files_and_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--out", "found.json") == 1
    assert capsys.readouterr().err.endswith("in 3 rows: found.json\n")
    findings = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert [finding["code"] for finding in findings] == [ERROR, WARNING, "control_character"]
    assert run("--out", "found.jsonl", "--quiet") == 1
    assert [json.loads(line) for line in Path("found.jsonl").read_text(encoding="utf-8").splitlines()] == findings
    assert run("--out", "found.txt", "--quiet") == 1
    capsys.readouterr()
    assert run("--quiet") == 1
    assert Path("found.txt").read_text(encoding="utf-8") == capsys.readouterr().out
    assert run("--out-format", "json", "--quiet") == 1
    assert capsys.readouterr().out == json.dumps(findings, ensure_ascii=False, indent=2) + "\n"


def test_limits_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--max-bytes", "8", "--limit", "1", "--out-format", "jsonl") == 0
    assert codes(capsys) == []
    assert run("--max-bytes", "7", "--limit", "1", "--out-format", "jsonl") == 1
    assert codes(capsys) == ["prompt_too_long"]


def test_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(SAMPLES.slice(0, 1), "data.parquet")
    assert run() == 0
    assert capsys.readouterr() == ("", "promptpress: no findings in 1 row\n")
