"""The command's own ids lead each answer back to its row, whatever the data's columns are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from promptpress_workbench.cli.process import main

GEN = {"prompt_template": "{q}", "mode": "gen"}
PPL = {"prompt_template": {"A": "{q} A", "B": "{q} B"}, "mode": "ppl"}


def echoed(requests: Path) -> str:
    """Results whose answers are what was asked, in reverse."""
    out = []
    for line in requests.read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        body = {"choices": [{"text": request["body"]["messages"][0]["content"]}]}
        out.append(json.dumps({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}))
    return "".join(f"{line}\n" for line in reversed(out))


@pytest.mark.parametrize("columns", [{"sample": [2, 0, 1]}, {"label": ["A", "A", "B"]}, {"turn": [0, 1, 2]}, {}])
@pytest.mark.parametrize("config", [GEN, PPL])
@pytest.mark.parametrize("pattern", [None, "x{id}", "{sample}/{id}"])
def test_every_answer_comes_back_to_its_row(
    tmp_path: Path, columns: dict[str, list[Any]], config: dict[str, Any], pattern: str | None
) -> None:
    data = {"q": ["p", "q", "r"], "id": [7, 8, 9], **columns}
    rows = [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    given = [f"{tmp_path}/config.json", "--data", f"{tmp_path}/data.jsonl"]
    ids = [] if pattern is None else ["--custom-id", pattern + ("-{label}" if config is PPL else "")]
    assert main(["export", "vllm-batch", *given, "--model-name", "m", "--out", f"{tmp_path}/in.jsonl", *ids]) == 0
    (tmp_path / "results.jsonl").write_text(echoed(tmp_path / "in.jsonl"), encoding="utf-8")

    sources = [["--table", *given], ["--table", *given, "--keep", "q"]]
    if config is GEN:
        sources.append(["--table", f"{tmp_path}/data.jsonl"])
    for source in sources:
        out = tmp_path / "out.jsonl"
        assert main(["join", f"{tmp_path}/results.jsonl", *source, *ids, "--out", str(out)]) == 0
        joined = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert len(joined) == len(rows) * (2 if config is PPL else 1)
        for row in joined:
            assert row["response"] == (f"{row['q']} {row['label']}" if config is PPL else row["q"])


def test_a_rendered_file_is_joined_by_labels_only_where_it_has_several_rows_a_sample(tmp_path: Path) -> None:
    rows = [{"q": "p", "label": "A"}, {"q": "q", "label": "B"}]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for config in (GEN, PPL):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        given = [f"{tmp_path}/config.json", "--data", f"{tmp_path}/data.jsonl"]
        assert main(["export", "vllm-batch", *given, "--model-name", "m", "--out", f"{tmp_path}/in.jsonl"]) == 0
        (tmp_path / "results.jsonl").write_text(echoed(tmp_path / "in.jsonl"), encoding="utf-8")
        keep = ["--keep", "label"] if config is GEN else []
        assert main(["render", *given, *keep, "--index", "sample", "--out", f"{tmp_path}/t.parquet"]) == 0
        table = ["--table", f"{tmp_path}/t.parquet", "--out", f"{tmp_path}/out.jsonl"]
        assert main(["join", f"{tmp_path}/results.jsonl", *table]) == 0
        joined = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [row["response"] for row in joined] == [row["prompt"] for row in joined]
