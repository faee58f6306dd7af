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
    with pytest.raises(pp.RenderError, match="row 1"):
        pp.stats(renderer, samples.to_batches(size))
    statistics = pp.stats(renderer, samples.to_batches(size), errors="skip")
    wanted = pp.stats(renderer, samples.take(NUMBERS))
    same(statistics, wanted)
    assert (statistics.unrendered, wanted.unrendered, statistics.by_origin) == (2, 0, None)
    for name in ("longest", "shortest"):
        rows, wanted_rows = getattr(statistics, name).to_pylist(), getattr(wanted, name).to_pylist()
        assert [row["label"] for row in rows] == [row["label"] for row in wanted_rows]
        assert [row["sample"] for row in rows] == [NUMBERS[row["sample"]] for row in wanted_rows]


def test_other_words() -> None:
    with pytest.raises(ValueError, match="errors: 'column' is not one of 'raise', 'skip'"):
        pp.stats(CHAT, TALKS, errors="column")  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    Path("talks.jsonl").write_text("".join(json.dumps({"messages": row}) + "\n" for row in ROWS), encoding="utf-8")
    command = ["stats", "--chat-template", "chat.jinja", "--data", "talks.jsonl", "--json"]
    assert main(command) == 4
    assert capsys.readouterr().err.endswith("; --errors skip leaves such rows out\n")
    assert main([*command, "--errors", "skip"]) == 0
    done = capsys.readouterr()
    assert "2 of 5 rows can't be rendered, and are left out: row 1: " in done.err
    assert (json.loads(done.out)["requests"], json.loads(done.out)["unrendered"]) == (3, 2)
    assert main([*command, "--errors", "skip", "--where", "messages <> '[]'", "--limit", "3"]) == 0
    assert "1 of 3 rows can't be rendered, and is left out: row 1: " in capsys.readouterr().err
    assert main(["stats", "talks.jsonl", "--column", "messages", "--errors", "skip"]) == 2
    assert "--errors: is about rows that can't be rendered, and talks.jsonl holds" in capsys.readouterr().err
    assert main(["audit", *command[1:-1]]) == 4
    assert "--errors skip makes a finding of such rows" in capsys.readouterr().err
