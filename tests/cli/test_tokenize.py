"""The command `promptpress tokenize`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from json_columns import rows_of
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
SAMPLES = pa.table({"id": list(range(300)), "q": ["word " * (n % 9) + str(n) for n in range(300)]})
TALKS = [
    {"id": n, "messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": f"So {n}."}]}
    for n in range(50)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_tokenizer().save("tokenizer.json")
    Path("chat.jinja").write_text(CHATML, encoding="utf-8")
    pq.write_table(SAMPLES, "data.parquet")
    Path("talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in TALKS), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> int:
    return main(["tokenize", *arguments, "--tokenizer", "tokenizer.json"])


TEMPLATE = ("--template", "Q: {q}", "--data", "data.parquet")
CHAT = ("--chat-template", "chat.jinja", "--data", "talks.jsonl")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("batch", ["65536", "7"])
def test_files_hold_what_python_gives(suffix: str, batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = pp.Renderer("Q: {q}").tokenize(SAMPLES, "tokenizer.json", keep=["id"], index="row", offsets=True)
    options = ("--keep", "id", "--index", "row", "--offsets", "--batch-size", batch)
    assert run(*TEMPLATE, *options, "--out", f"out.{suffix}") == 0
    assert table_of(f"out.{suffix}") == wanted.to_pylist()
    count = sum(wanted["n_tokens"].to_pylist())
    assert f"300 rows, {count:,} tokens in" in capsys.readouterr().err


def table_of(path: str) -> list[dict[str, Any]]:
    from promptpress_workbench.files.read.samples import Samples

    with_close = Samples([path], None, 65536, None)
    try:
        return rows_of(with_close.table())
    finally:
        with_close.close()


def test_masks_and_labels() -> None:
    options = ("--mask", "assistant+end", "--token-labels", "--last-turn", "--out", "out.parquet")
    assert run(*CHAT, *options) == 0
    wanted = pp.ChatTemplate(CHATML).tokenize(
        TALKS, "tokenizer.json", mask="assistant+end", labels=True, last_turn=True
    )
    assert pq.read_table("out.parquet").to_pylist() == wanted.to_pylist()


def test_long_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*TEMPLATE, "--max-tokens", "3", "--out", "out.jsonl") == ExitCode.DATA
    assert "--max-tokens allows 3; --truncation cuts them" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    assert run(*TEMPLATE, "--max-tokens", "3", "--truncation", "right", "--out", "out.jsonl") == 0
    assert {len(row["input_ids"]) for row in table_of("out.jsonl")} == {3}
    assert run(*TEMPLATE, "--max-tokens", "6", "--errors", "skip", "--out", "out.jsonl") == 0
    rows = table_of("out.jsonl")
    assert 0 < len(rows) < 300
    assert max(row["n_tokens"] for row in rows) <= 6
    assert "can't be rendered, and are left out: row " in capsys.readouterr().err


def test_an_interrupted_run_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    options = (*TEMPLATE, "--batch-size", "20", "--out")
    assert run(*options, "whole.parquet") == 0
    from promptpress._tokens import token_engine

    encoded, parts = token_engine._TokenRun._encoded, []

    def ends(self: Any, part: Any, *others: Any) -> Any:
        parts.append(part)
        if len(parts) == 5:
            raise KeyboardInterrupt
        return encoded(self, part, *others)

    with monkeypatch.context() as patch:
        patch.setattr("promptpress_workbench.cli.prompt_stream.PART_BYTES", 1)
        patch.setattr(token_engine._TokenRun, "_encoded", ends)
        assert run(*options, "out.parquet", "--resume") == ExitCode.INTERRUPTED
    assert run(*options, "out.parquet", "--resume") == 0
    assert pq.read_table("out.parquet") == pq.read_table("whole.parquet")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--token-labels",), ExitCode.USAGE, "--token-labels needs --mask"),
        (("--truncation", "left"), ExitCode.USAGE, "--truncation left needs --max-tokens"),
        (("--reasoning",), ExitCode.USAGE, "--reasoning needs a mask of what assistants say: --mask assistant"),
        (("--mask", "generation"), ExitCode.CONFIGURATION, "there is no chat template"),
        (("--keep", "n_tokens"), ExitCode.USAGE, "n_tokens"),
        (("--index", "n_tokens"), ExitCode.USAGE, "n_tokens"),
    ],
)
def test_wrong_options(
    arguments: tuple[str, ...], code: ExitCode, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*TEMPLATE, *arguments, "--out", "out.parquet") == code
    assert message in capsys.readouterr().err
    assert not Path("out.parquet").exists()


def test_messages_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    turns = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": ""}]}
    Path("turns.json").write_text(json.dumps({"prompt_template": turns, "meta_template": META}), encoding="utf-8")
    assert run("turns.json", "--data", "data.parquet", "--out", "out.parquet") == ExitCode.USAGE
    assert "tokenize takes texts, and the prompts are messages: --chat-template" in capsys.readouterr().err


def test_a_tokenizer_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokenize", *TEMPLATE, "--tokenizer", "nowhere", "--out", "out.parquet"]) == ExitCode.USAGE
    assert "--tokenizer nowhere: no such file or folder" in capsys.readouterr().err
