"""Retries: the requests that failed, as they were sent; and their results, joined together with the first ones."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress import export
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.process import main


def result(custom_id: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {"custom_id": custom_id, "response": None, "error": {"message": "expired"}}
    return {
        "custom_id": custom_id,
        "response": {"status_code": 200, "body": {"choices": [{"message": {"content": text}}]}},
        "error": None,
    }


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["ok", "error", "missing"]), min_size=1, max_size=12), st.integers(1, 5), st.booleans())
def test_a_retry_has_the_lines_that_failed_and_completes_the_answers(
    tmp_path_factory: pytest.TempPathFactory, fates: list[str], most: int, in_one: bool
) -> None:
    folder = tmp_path_factory.mktemp("retry")
    table = pa.table({"prompt": [f"é{n}\u2028" * (n + 1) for n in range(len(fates))]})
    sent = export.openai_batch(table, folder / "in.jsonl", model="m", max_requests=None if in_one else most).paths
    lines = [line for path in sent for line in Path(path).read_bytes().splitlines(keepends=True)]
    first = [result(str(n), "a" if fate == "ok" else None) for n, fate in enumerate(fates) if fate != "missing"]
    joined = export.join(first, table, requests=sent, retry=folder / "again.jsonl")
    assert joined["status"].to_pylist() == fates
    again = sorted(folder.glob("again*"))
    files = [path.read_bytes().splitlines(keepends=True) for path in again]
    failed = [line for line, fate in zip(lines, fates, strict=True) if fate != "ok"]
    assert [line for file in files for line in file] == failed
    # No file has more lines than the largest that was sent, so the limits of the service hold.
    largest = max(len(Path(path).read_bytes().splitlines(keepends=True)) for path in sent)
    assert all(len(file) <= largest for file in files)
    second = [result(json.loads(line)["custom_id"], "b") for line in failed]
    both = export.join([first, second], table)
    assert both["response"].to_pylist() == ["a" if fate == "ok" else "b" for fate in fates]


def test_files_that_are_compressed_or_lack_the_last_line_break(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"]})
    export.openai_batch(table, tmp_path / "in.jsonl", model="m")
    sent = (tmp_path / "in.jsonl").read_bytes()
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(sent.rstrip(b"\n")))
    # The same request in two files is sent again once.
    files = [tmp_path / "in.jsonl.gz", tmp_path / "in.jsonl"]
    export.join([result("0", "x")], table, requests=files, retry=tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == sent.splitlines(keepends=True)[1]


def test_requests_that_are_not_in_the_files_give_a_warning(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b", "c"]})
    export.openai_batch(table.slice(0, 2), tmp_path / "in.jsonl", model="m")
    retry = tmp_path / "again.jsonl"
    with pytest.warns(pp.PromptWarning, match="1 of 3 failed requests are in none of the files that were sent: '2'"):
        export.join([result("0", None)], table, requests=tmp_path / "in.jsonl", retry=retry)
    assert len(retry.read_bytes().splitlines()) == 2
    answered = {"choices": [{"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}]}
    first = {"custom_id": "0", "response": {"status_code": 200, "body": answered}, "error": None}
    export.openai_batch(table.slice(0, 1), tmp_path / "first.jsonl", model="m")
    with pytest.warns(pp.PromptWarning, match="2 of 2 failed requests are in none"):
        export.join([first], table, requests=tmp_path / "first.jsonl", retry=retry)
    assert retry.read_bytes() == b""
    retry.unlink()
    export.openai_batch(table, tmp_path / "others.jsonl", model="m", custom_id="x{sample}")
    with pytest.raises(pp.RenderError, match=r"3 of 3 failed requests are in none of the files.*are these the files"):
        export.join([result("0", None)], table, requests=tmp_path / "others.jsonl", retry=retry)
    (tmp_path / "other.jsonl").write_text('{"custom_id": "0"}\n', encoding="utf-8")
    with pytest.raises(pp.RenderError, match=r"other.jsonl, line 1: it is no request of a batch"):
        export.join([result("0", None)], table, requests=tmp_path / "other.jsonl", retry=retry)
    assert not retry.exists()


def test_arguments_of_a_retry(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a"]})
    path = tmp_path / "in.jsonl"
    export.openai_batch(table, path, model="m")
    with pytest.raises(pp.TemplateError, match=r"requests: .*give both"):
        export.join([result("0", "x")], table, retry=tmp_path / "again.jsonl")
    with pytest.raises(pp.TemplateError, match=r"retry: .*give both"):
        export.join([result("0", "x")], table, requests=path)
    with pytest.raises(OSError, match="it is one of the files that were sent"):
        export.join([result("0", None)], table, requests=path, retry=path)
    with pytest.raises(OSError, match="nowhere"):
        export.join([result("0", None)], table, requests=tmp_path / "nowhere.jsonl", retry=tmp_path / "again.jsonl")


def test_the_command_writes_a_retry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text('{"q": "a"}\n{"q": "b"}\n{"q": "c"}\n', encoding="utf-8")
    source = ["--template", "{q}", "--data", "data.jsonl"]
    assert main(["export", "openai-batch", *source, "--model-name", "m", "--out", "in.jsonl"]) == ExitCode.OK
    Path("out.jsonl").write_text("".join(f"{json.dumps(result(n, t))}\n" for n, t in (("0", "x"), ("2", None))))
    join = ["join", "out.jsonl", "--table", "data.jsonl", "--out", "answers.parquet"]
    capsys.readouterr()
    assert main([*join, "--requests", "in.jsonl", "--retry", "again.jsonl"]) == ExitCode.OK
    assert "2 requests to retry in again.jsonl" in capsys.readouterr().err
    sent = Path("in.jsonl").read_bytes().splitlines(keepends=True)
    assert Path("again.jsonl").read_bytes().splitlines(keepends=True) == sent[1:]
    Path("out-2.jsonl").write_text("".join(f"{json.dumps(result(n, 'y'))}\n" for n in ("1", "2")), encoding="utf-8")
    assert main(["join", "out.jsonl", "out-2.jsonl", *join[2:]]) == ExitCode.OK
    assert pq.read_table("answers.parquet")["response"].to_pylist() == ["x", "y", "y"]
    capsys.readouterr()
    before = sorted(os.listdir())
    for options, error in (
        (["--retry", "again.jsonl"], "--retry: --requests FILE is needed"),
        (["--requests", "in.jsonl"], "--requests: --retry FILE is needed"),
        (["--requests", "in.jsonl", "--retry", "out.jsonl"], "--retry out.jsonl: the same file as the input"),
        (["--requests", "in.jsonl", "--retry", "answers.parquet"], "the same file as --out"),
    ):
        assert main([*join, *options]) == ExitCode.USAGE
        assert error in capsys.readouterr().err
    assert main([*join, "--requests", "in.jsonl", "--retry", "in.jsonl"]) == ExitCode.OUTPUT
    assert sorted(os.listdir()) == before
