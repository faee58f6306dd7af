"""`--order prefix` of `render` and `export`, and `join` after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.errors import ExitCode

ROWS = 60
SAMPLES = pa.table(
    {
        "topic": [f"topic {n % 4}, " * 12 for n in range(ROWS)],
        "q": [f"number {n}" for n in range(ROWS)],
        "chat": [
            [{"role": "system", "content": f"s{n % 3}"}, {"role": "user", "content": f"u{n}"}] for n in range(ROWS)
        ],
    }
)
TEMPLATE = ("--template", "{topic}: {q}", "--data", "data.parquet", "--quiet")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet", row_group_size=25)
    return tmp_path


def run(*arguments: str) -> int:
    return main(list(arguments))


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_render_writes_what_the_renderer_gives() -> None:
    expected = pp.Renderer("{topic}: {q}").render(SAMPLES, keep=["q"], order="prefix", shared=True)
    for out in ("out.jsonl", "out.parquet"):
        assert run("render", *TEMPLATE, "--out", out, "--order", "prefix", "--shared", "--keep", "q") == 0
    assert lines("out.jsonl") == expected.to_pylist() == pq.read_table("out.parquet").to_pylist()
    assert expected["sample"].to_pylist() == [n for first in range(4) for n in range(first, ROWS, 4)]
    hashed = ("--order", "prefix", "--index", "row", "--hashes", "--shared", "--errors", "column")
    assert run("render", *TEMPLATE, "--out", "hashed.parquet", *hashed) == 0
    names = ["row", "prompt", "hash", "prefix_group", "shared_bytes", "error"]
    assert pq.read_table("hashed.parquet").column_names == names


def test_chosen_rows_keep_their_numbers() -> None:
    assert run("render", *TEMPLATE, "--out", "out.jsonl", "--order", "prefix", "--where", "q LIKE '%5'") == 0
    assert [row["sample"] for row in lines("out.jsonl")] == [5, 25, 45, 15, 35, 55]


@pytest.mark.parametrize("rendered_first", [False, True])
def test_join_restores_the_order_of_what_export_has_written(rendered_first: bool) -> None:
    source = TEMPLATE
    if rendered_first:
        assert run("render", *TEMPLATE, "--out", "prompts.parquet", "--order", "prefix", "--output", "openai") == 0
        source = ("prompts.parquet", "--quiet")
    order = () if rendered_first else ("--order", "prefix")
    assert run("export", "openai-batch", *source, "--out", "in.jsonl", "--model-name", "m", *order) == 0
    sent = [int(line["custom_id"]) for line in lines("in.jsonl")]
    assert sent == [n for first in range(4) for n in range(first, ROWS, 4)]
    assert lines("in.jsonl")[1]["body"]["messages"][0]["content"] == f"{SAMPLES['topic'][4]}: number 4"
    results = []
    for number in reversed(sent):
        body = {"choices": [{"message": {"content": f"a{number}"}, "finish_reason": "stop"}]}
        results.append({"custom_id": str(number), "response": {"status_code": 200, "body": body}, "error": None})
    Path("results.jsonl").write_text("\n".join(map(json.dumps, results)), encoding="utf-8")
    table = "prompts.parquet" if rendered_first else "data.parquet"
    assert run("join", "results.jsonl", "--table", table, "--out", "joined.jsonl", "--quiet") == 0
    assert [row["response"] for row in lines("joined.jsonl")] == [f"a{n}" for n in range(ROWS)]


def test_exports_of_a_column_of_messages_are_put_in_order() -> None:
    source = ("data.parquet", "--column", "chat", "--quiet")
    assert run("export", "openai-batch", *source, "--out", "in.jsonl", "--model-name", "m", "--order", "prefix") == 0
    assert [int(line["custom_id"]) for line in lines("in.jsonl")][:21] == [*range(0, ROWS, 3), 1]


def test_requests_of_a_group_have_one_cache_key() -> None:
    order = ("--order", "prefix", "--cache-control", "auto", "--params-columns", "user=q")
    assert run("export", "openai-batch", *TEMPLATE, "--out", "in.jsonl", "--model-name", "m", *order) == 0
    begin = pp.Renderer("{topic}: {q}", output="openai").fingerprint()[:8]
    bodies = [line["body"] for line in lines("in.jsonl")]
    assert [body["prompt_cache_key"] for body in bodies] == [f"{begin}-{n // 15}" for n in range(ROWS)]
    assert bodies[1]["user"] == "number 4"
    assert [int(line["custom_id"]) for line in lines("in.jsonl")][:3] == [0, 4, 8]


OPENAI = ["export", "openai-batch", *TEMPLATE, "--model-name", "m", "--cache-control", "auto"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["render", *TEMPLATE, "--shared"], ExitCode.USAGE, "--shared"),
        (["render", *TEMPLATE, "--order", "prefix", "--resume"], ExitCode.USAGE, "--order with --resume"),
        (["render", *TEMPLATE, "--order", "prefix", "--index", "prompt"], ExitCode.USAGE, "--index prompt"),
        (["export", "ray", "data.parquet", "--column", "q", "--order", "prefix"], ExitCode.USAGE, "--order"),
        (OPENAI, ExitCode.USAGE, "add --order prefix"),
        ([*OPENAI, "--order", "prefix", "--url", "/v1/completions"], ExitCode.USAGE, "/v1/chat/completions"),
        ([*OPENAI, "--order", "prefix", "--params", '{"prompt_cache_key": "a"}'], ExitCode.USAGE, "already"),
        (["export", "ray", *TEMPLATE, "--order", "prefix", "--cache-control", "auto"], ExitCode.USAGE, "openai-batch"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], code: ExitCode, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--out", "out.parquet") == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "number"),
    [("100000", 100_000), ("64K", 65_536), ("64KiB", 65_536), ("64kB", 64_000), ("1.5 MB", 1_500_000), ("1g", 2**30)],
)
def test_sizes_with_a_unit(words: str, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    export = ("export", "openai-batch", *TEMPLATE, "--model-name", "m", "--out", "in.jsonl")
    assert parse([*export, "--max-file-size", words]).max_file_size == number
    for wrong in ("0", "0K", "-1", "1X", "GB", "0.2"):
        assert run(*export, f"--max-file-size={wrong}") == ExitCode.USAGE
        assert "is no number of bytes from 1 on, such as 40000000, 64M, 1GiB or 1GB" in capsys.readouterr().err
