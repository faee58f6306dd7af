"""`promptpress render` with `--output openai`, `--roles` and `--index`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main

DIALOGUE = {
    "round": [
        {"role": "HUMAN", "prompt": "{question}"},
        {"role": "CRITIC", "prompt": "Hm."},
        {"role": "BOT", "prompt": "{answer}"},
    ]
}
META = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN"},
        {"role": "CRITIC", "api_role": "CRITIC"},
        {"role": "BOT", "api_role": "BOT", "generate": True},
    ]
}
CONFIG = {"prompt_template": DIALOGUE, "meta_template": META}
SAMPLES = pa.table({"question": ["1+1?", "2+2?"], "answer": ["2", "4"]})
MESSAGES = [{"role": "user", "content": "1+1?"}, {"role": "developer", "content": "Hm."}]


def run(folder: Path, *options: str, config: dict[str, Any] | None = None) -> int:
    (folder / "config.json").write_text(json.dumps(config or CONFIG), encoding="utf-8")
    pq.write_table(SAMPLES, folder / "data.parquet")
    files = ["--data", str(folder / "data.parquet"), "--out", str(folder / "out.jsonl")]
    return main(["render", str(folder / "config.json"), *files, "--quiet", *options])


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "roles", ["CRITIC=developer", "CRITIC = developer,JUDGE=user", '{"CRITIC": "developer"}', "CRITIC=developer," * 2]
)
def test_roles(tmp_path: Path, roles: str) -> None:
    assert run(tmp_path, "--output", "openai", "--roles", roles.rstrip(",")) == 0
    assert rows(tmp_path)[0] == {"prompt": MESSAGES}


def test_roles_of_the_configuration(tmp_path: Path) -> None:
    config = {**CONFIG, "output": "openai", "roles": {"CRITIC": "developer"}}
    assert run(tmp_path, config=config) == 0
    assert rows(tmp_path)[0] == {"prompt": MESSAGES}
    assert run(tmp_path, "--roles", "CRITIC=tool", config=config) == 0
    assert rows(tmp_path)[0]["prompt"][1]["role"] == "tool"


def test_a_role_without_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--output", "openai") == 3
    errors = capsys.readouterr().err
    assert "meta_template.round[1].api_role" in errors
    assert "--roles 'CRITIC=user'" in errors
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "roles", ["CRITIC", "=user", "CRITIC=", "A=user,A=tool", '{"A": 1}', "{A}", '{"A": "u", "A": "v"}']
)
def test_roles_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], roles: str) -> None:
    assert run(tmp_path, "--output", "openai", "--roles", roles) == 2
    assert "--roles" in capsys.readouterr().err


def test_roles_for_another_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--roles", "CRITIC=user") == 3
    assert "--output openai" in capsys.readouterr().err


def test_index(tmp_path: Path) -> None:
    assert run(tmp_path, "--index", "row", "--keep", "answer", "--mode", "ppl", "--labels", "A,B") == 0
    rendered = rows(tmp_path)
    assert [list(row) for row in rendered] == [["row", "answer", "label", "prompt"]] * 4
    assert [row["row"] for row in rendered] == [0, 0, 1, 1]
    want = pp.Renderer(**CONFIG, mode="ppl", labels=["A", "B"]).render(SAMPLES, ["answer"], index="row")
    assert rendered == want.to_pylist()


def test_index_over_batches_and_of_labels_of_a_column(tmp_path: Path) -> None:
    assert run(tmp_path, "--index", "row", "--batch-size", "1") == 0
    assert [row["row"] for row in rows(tmp_path)] == [0, 1]
    reader = {"input_columns": ["question"], "output_column": "answer"}
    config = {"prompt_template": "{question}", "mode": "ppl", "reader": reader}
    assert run(tmp_path, "--index", "row", config=config) == 0
    assert [(row["row"], row["label"]) for row in rows(tmp_path)] == [(0, "2"), (0, "4"), (1, "2"), (1, "4")]


@pytest.mark.parametrize(("index", "keep"), [("prompt", []), ("answer", ["--keep", "answer"]), ("", [])])
def test_an_index_that_is_another_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], index: str, keep: list[str]
) -> None:
    assert run(tmp_path, "--index", index, *keep) == 2
    errors = capsys.readouterr().err
    assert f"--index {index}" in errors
    assert "give another" in errors


CHATS = [[{"role": "critic", "content": "No."}], [{"role": "user", "content": "Yes."}]]


@pytest.mark.parametrize("command", [["render"], ["stats"], ["show", "--row", "0"], ["render", "--dataset", "all"]])
def test_a_role_that_the_samples_bring(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"prompt_template": [{"expand_column": "chat"}], "output": "openai"}), encoding="utf-8"
    )
    pq.write_table(pa.table({"chat": CHATS}), tmp_path / "data.parquet")
    out = ["--out", str(tmp_path / ("out" if "all" in command else "out.jsonl"))] if command[0] == "render" else []
    data = f"config={tmp_path / 'data.parquet'}" if "all" in command else str(tmp_path / "data.parquet")
    assert main([*command, str(tmp_path / "config.json"), "--data", data, *out]) == (4 if out else 0)
    printed = capsys.readouterr()
    errors = printed.err if out else printed.out
    assert ("row 0" in errors) == (command[0] != "stats")
    assert "--roles 'critic=user', or roles: in the configuration" in errors
    assert "roles={" not in errors


@pytest.mark.parametrize(("role", "remedy"), [(3, None), ("a,b", "--roles, as a JSON object"), ("usr ", "as a JSON")])
def test_a_role_that_no_option_names_plainly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: object, remedy: str | None
) -> None:
    meta = {"round": [{"role": "ASKER", "api_role": role}]}
    dialogue = {"round": [{"role": "ASKER", "prompt": "{question}"}]}
    config = {"prompt_template": dialogue, "meta_template": meta}
    assert run(tmp_path, "--output", "openai", config=config) == 3
    errors = capsys.readouterr().err
    assert "--roles '" not in errors
    assert remedy is None or remedy in errors


@pytest.mark.parametrize("name", ["", "prompt"])
def test_an_index_that_is_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(tmp_path, "--output", "openai", "--roles", "CRITIC=user", "--index", name) == 2
    errors = capsys.readouterr().err
    assert ("is no name for a column; give another" in errors) == (not name)
    assert ("has 'prompt'; give another" in errors) == bool(name)
