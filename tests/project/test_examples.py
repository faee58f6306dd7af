"""The scripts in examples/ run, and do what they say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow.json
import pyarrow.parquet as pq
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_walkthrough(capsys: pytest.CaptureFixture[str]) -> None:
    script("walkthrough").main()
    out = capsys.readouterr().out
    assert "row 17, because of question" in out
    assert "\x1b" not in out  # no terminal, no colours
    assert "TemplateError: prompt_template.template.begin[0]: role 'SYSTEM' is not in the meta template" in out


@pytest.mark.parametrize("words", [["walkthrough.py"], ["demo.py", "200000"]])
def test_no_warning_is_repeated(words: list[str], tmp_path: Path) -> None:
    """The demo renders several batches."""
    name, *rows = words
    source = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import pathlib; import {name[:-3]} as example; "
    call = f"example.main({rows[0]}, pathlib.Path({str(tmp_path)!r}))" if rows else "example.main()"
    done = subprocess.run([sys.executable, "-c", source + call], capture_output=True, text=True, check=True)
    warnings = [line for line in done.stderr.splitlines() if "values were filled in" in line]
    assert len(warnings) == (1 if rows else 0)
    assert "Warning" not in done.stderr


def test_the_walkthrough_in_colour(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    walkthrough = script("walkthrough")
    monkeypatch.setattr(walkthrough, "COLOURED", True)
    walkthrough.main()
    assert "\x1b[35m<|im_start|>user\n\x1b[0m" in capsys.readouterr().out


def test_the_demo(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = 1000
    assert script("demo").main(rows, tmp_path) == 0
    out, err = capfd.readouterr()
    questions = pyarrow.json.read_json(EXAMPLES / "test.jsonl")["question"].to_pylist()
    prompts = pq.read_table(tmp_path / "prompts.parquet")
    assert prompts.column_names == ["id", "prompt"]
    assert prompts.num_rows == rows
    for row, prompt in enumerate(prompts["prompt"].to_pylist()):
        question = questions[row % len(questions)].replace("{answer}", "")
        assert prompt.endswith(f"<|im_start|>user\nProblem: {question}<|im_end|>\n<|im_start|>assistant\n")
        assert prompt.count("<|im_start|>") == 1 + 2 * 5 + 2
    assert prompts["prompt"][0].as_py() in out
    assert "rendering alone: 1,000 rows in" in err
    assert "GB/s" in err
