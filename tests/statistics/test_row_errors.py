"""Statistics of samples some of which can't be rendered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress_workbench.cli import main

GOOD = [
    [{"role": "user", "content": "Hi."}],
    [{"role": "user", "content": "Hello."}],
    [{"role": "user", "content": "Hi."}],
]
ROWS = [json.dumps(GOOD[0]), "oops", json.dumps(GOOD[1]), "[]", json.dumps(GOOD[2])]
NUMBERS = [0, 2, 4]
TALKS = pa.table({"messages": ROWS})
CHAT = pp.ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
LIMITED = pp.Renderer({"A": "{q} yes", "B": "{q} no"}, mode="ppl", limits={"prompt_bytes": 12})
QUESTIONS = pa.table({"q": ["a", "a long question", "bb", "c" * 20, "a"]})


def same(statistics: Any, wanted: Any) -> None:
    for name in ("requests", "samples", "repeated", "duplicate_groups"):
        assert getattr(statistics, name) == getattr(wanted, name), name
    for name in ("bytes", "characters"):
        assert getattr(statistics, name).to_dict() == getattr(wanted, name).to_dict()


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(("renderer", "samples"), [(CHAT, TALKS), (LIMITED, QUESTIONS)], ids=["chat", "labels"])
def test_rows_that_cannot_be_rendered_are_left_out(renderer: Any, samples: pa.Table, size: int) -> None:
    statistics = pp.stats(renderer, samples.to_batches(size))
    wanted = pp.stats(renderer, samples.take(NUMBERS))
    same(statistics, wanted)
    assert (statistics.unrendered, wanted.unrendered, statistics.by_origin) == (2, 0, wanted.by_origin)
    for name in ("longest", "shortest"):
        rows, wanted_rows = getattr(statistics, name).to_pylist(), getattr(wanted, name).to_pylist()
        assert [row["label"] for row in rows] == [row["label"] for row in wanted_rows]
        assert [row["sample"] for row in rows] == [NUMBERS[row["sample"]] for row in wanted_rows]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    Path("talks.jsonl").write_text("".join(json.dumps({"messages": row}) + "\n" for row in ROWS), encoding="utf-8")
    command = ["stats", "--chat-template", "chat.jinja", "--data", "talks.jsonl", "--json"]
    assert main(command) == 0
    statistics = json.loads(capsys.readouterr().out)
    assert (statistics["requests"], statistics["unrendered"]) == (3, 2)
    assert sorted(row for kind in statistics["errors"] for row in kind["first_rows"]) == [1, 3]
    assert main([*command[:-1], "--where", "messages <> '[]'", "--limit", "3"]) == 0
    assert "2 requests of 2 samples; 1 row can't be rendered" in capsys.readouterr().out
    assert main([*command, "--where", "messages = '[]'"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"][0]["first_rows"] == [3]
    assert main([*command, "--errors", "skip"]) == 2
    assert "stats counts rows that can't be rendered, and goes on" in capsys.readouterr().err
