"""Exports refuse what no service takes and no reader reads, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress import export
from promptpress_workbench.cli.process import main
from promptpress_workbench.export.chat_tables import chat_batches
from promptpress_workbench.files.write import output_file

TEXTS = pa.table({"prompt": ["a", "b"]})
CHAT = pa.table({"prompt": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]})
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"body": {1: 2}}, "body: expected names of parameters, found 1"),
        ({"body": {"x": {"y": "\ud800"}}}, r"body\['x'\]: it can't be JSON"),
        ({"body": "{}"}, "body: expected a dict, such as .*, found str"),
        ({"body": []}, "body: expected a dict, such as .*, found list"),
        ({"body_columns": ["a"]}, "body_columns: expected a dict, such as .*, found list"),
        ({"body_columns": {"n": 5}}, r"body_columns\['n'\]: expected a column's name, found 5"),
        ({"max_requests": 0}, "max_requests: expected a whole number from 1 on, or None, found 0"),
        ({"max_requests": "3"}, "max_requests: expected a whole number from 1 on, or None, found '3'"),
        ({"max_bytes": 1.5}, "max_bytes: expected a whole number from 1 on, or None, found 1.5"),
        ({"custom_id_length": -1}, "custom_id_length: expected a whole number"),
    ],
)
def test_arguments_of_other_types(tmp_path: Path, options: dict[str, Any], error: str) -> None:
    with pytest.raises(pp.TemplateError, match=error):
        export.openai_batch(TEXTS, tmp_path / "in.jsonl", model="m", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("values", "options", "error"),
    [
        (["m", None], {"model": None, "body_columns": {"model": "x"}}, 'row 1, column "x": the request names no model'),
        ([1, 2], {"model": None, "body_columns": {"model": "x"}}, "models are named by texts, and it is int64"),
        ([None, float("nan")], {"body_columns": {"temperature": "x"}}, 'row 1, column "x": JSON has no nan; a null'),
        ([0.5, float("-inf")], {"body_columns": {"temperature": "x"}}, 'row 1, column "x": JSON has no -inf; a null'),
    ],
)
def test_values_that_no_service_takes(tmp_path: Path, values: list[Any], options: dict[str, Any], error: str) -> None:
    table = TEXTS.append_column("x", pa.array(values))
    with pytest.raises(pp.RenderError, match=error):
        export.openai_batch(table, tmp_path / "in.jsonl", **{"model": "m", **options})
    assert os.listdir(tmp_path) == []


def test_numbers_that_are_text_are_refused_and_others_are_sent(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "x": ["5", "6"], "h": pa.array([0.5, None], pa.float16())})
    with pytest.warns(pp.PromptWarning, match="'max_tokens' is a number for APIs, and the column 'x' is text"):
        export.openai_batch(table, tmp_path / "in.jsonl", model="m", body_columns={"max_tokens": "x", "user": "x"})
    export.openai_batch(table, tmp_path / "in.jsonl", model="m", body_columns={"user": "x", "top_p": "h"})
    assert [line["body"].get("top_p") for line in lines(tmp_path / "in.jsonl")] == [0.5, None]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], "it has no message"),
        ([{"role": "system", "content": "s"}, {"role": "user", "content": None}], "a message of 'user' has no content"),
    ],
)
def test_messages_that_say_nothing(tmp_path: Path, messages: list[Any], error: str) -> None:
    kind = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
    table = pa.table({"prompt": pa.array([CHAT["prompt"][0].as_py(), messages], kind)})
    for write in (export.messages_json, export.sharegpt):
        with pytest.raises(pp.RenderError, match=f'row 1, column "prompt": {error}'):
            write(table, tmp_path / "x.jsonl")
    with pytest.raises(pp.RenderError, match=f'row 1, column "prompt": {error}'):
        export.openai_batch(table, tmp_path / "x.jsonl", model="m")
    as_json = pa.table({"prompt": [json.dumps(messages)]})
    with pytest.raises(pp.RenderError, match=r'row 0, column "prompt": '):
        export.openai_batch(as_json, tmp_path / "x.jsonl", model="m", form="messages_json")
    assert os.listdir(tmp_path) == []


def test_calls_of_tools_have_no_content(tmp_path: Path) -> None:
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "r"}]
    export.openai_batch(pa.table({"prompt": [messages]}), tmp_path / "a.jsonl", model="m")
    as_json = pa.table({"prompt": [json.dumps(messages)]})
    export.openai_batch(as_json, tmp_path / "b.jsonl", model="m", form="messages_json")
    for name in ("a.jsonl", "b.jsonl"):
        (line,) = lines(tmp_path / name)
        assert line["body"]["messages"][0]["tool_calls"] == [{"id": "1"}]


@pytest.mark.parametrize("content", ["NaN", r'"\ud800"'])
def test_json_that_is_none_is_an_error_of_its_row(tmp_path: Path, content: str) -> None:
    rows = ['[{"role":"user","content":"a"}]', f'[{{"role":"user","content":{content}}}]']
    with pytest.raises(pp.RenderError, match=r'row 1, column "prompt": it is no JSON: '):
        export.openai_batch(pa.table({"prompt": rows}), tmp_path / "x.jsonl", model="m", form="messages_json")
    assert os.listdir(tmp_path) == []


def test_an_answer_is_text_whatever_its_column_is(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "gold": [2, -5], "price": [1.5, 2.0]})
    for column, texts in (("gold", ["2", "-5"]), ("price", ["1.5", "2.0"])):
        export.messages_json(table, tmp_path / "m.jsonl", answer=column)
        export.sharegpt(table, tmp_path / "s.jsonl", answer=column)
        assert [line["messages"][-1]["content"] for line in lines(tmp_path / "m.jsonl")] == texts
        assert [line["conversations"][-1]["value"] for line in lines(tmp_path / "s.jsonl")] == texts


def test_an_answer_reads_the_same_in_every_export(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "price": [1.0, 1e20], "sure": [True, False], "k": pa.array(["x", "y"])})
    table = table.append_column("key", table["k"].dictionary_encode())
    for column, texts in (("price", ["1.0", "1e+20"]), ("sure", ["True", "False"]), ("key", ["x", "y"])):
        export.messages_json(table, tmp_path / "m.jsonl", answer=column)
        (batch,) = chat_batches(table.select(["prompt", column]), answer=column)
        for exported in (lines(tmp_path / "m.jsonl"), batch.to_pylist()):
            assert [row["messages"][-1] for row in exported] == [
                {"role": "assistant", "content": text} for text in texts
            ]


def test_an_answer_that_is_no_text_is_refused(tmp_path: Path) -> None:
    for value in (["1", "2"], {"a": "1"}, b"1"):
        table = pa.table({"prompt": ["a"], "gold": [value]})
        with pytest.raises(pp.RenderError, match='column "gold": an answer is a text, and it is '):
            export.messages_json(table, tmp_path / "m.jsonl", answer="gold")
        with pytest.raises(pp.RenderError, match='column "gold": an answer is a text, and it is '):
            chat_batches(table, answer="gold")
    assert os.listdir(tmp_path) == []


def test_columns_are_kept_once_and_by_name(tmp_path: Path) -> None:
    table = TEXTS.append_column("id", pa.array([1, 2]))
    for keep, error in (("id", r"keep: expected names of columns, such as \['id'\]"), (["id", "id"], "kept twice")):
        with pytest.raises(pp.TemplateError, match=error):
            export.messages_json(table, tmp_path / "x.jsonl", keep=keep)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("in.jsonl.gz", r"takes them uncompressed; leave out \.gz"),
        ("in.jsonl.ZST", r"takes them uncompressed; leave out \.zst"),
        ("in.parquet", r"the file is JSON lines, \.jsonl, and not \.parquet"),
        ("in.csv", r"the file is JSON lines, \.jsonl, and not \.csv"),
    ],
)
def test_a_name_that_says_other_than_json_lines(tmp_path: Path, name: str, error: str) -> None:
    with pytest.raises(OSError, match=error):
        export.openai_batch(TEXTS, tmp_path / name, model="m")
    with pytest.raises(OSError, match=error):
        export.sharegpt(TEXTS, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_the_only_file_of_an_earlier_run_does_not_stay_next_to_several(tmp_path: Path) -> None:
    export.openai_batch(TEXTS, tmp_path / "in.jsonl", model="old")
    with pytest.raises(OSError, match=r"in\.jsonl: it is there of an earlier run, and now there are several files"):
        export.openai_batch(TEXTS, tmp_path / "in.jsonl", model="m", max_requests=1)
    assert os.listdir(tmp_path) == ["in.jsonl"]
    assert lines(tmp_path / "in.jsonl")[0]["body"]["model"] == "old"


def test_no_file_keeps_its_name_if_a_later_file_cannot_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, count = os.replace, 0

    def failing(source: str, target: str) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(output_file.os, "replace", failing)
    with pytest.raises(KeyboardInterrupt):
        export.openai_batch(pa.table({"prompt": list("abcde")}), tmp_path / "in.jsonl", model="m", max_requests=1)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of a file's size")
@pytest.mark.parametrize("limits", [[], ["--max-requests", "100"]])
def test_a_full_disk_is_an_error_of_the_output(
    tmp_path: Path, limits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    import resource

    (tmp_path / "q.jsonl").write_text("".join(f'{{"q": "{"x" * 999}"}}\n' for _ in range(400)), encoding="utf-8")
    given = ["--template", "{q}", "--data", f"{tmp_path}/q.jsonl", "--model-name", "m", *limits]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, before[1]))
    try:
        code = main(["export", "openai-batch", *given, "--out", f"{tmp_path}/in.jsonl"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 5
    assert "in.jsonl: File too large (disk full)" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["q.jsonl"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    opened = output_file.PartialFile.open

    def interrupted(self: Any) -> Any:
        file = opened(self)
        os.kill(os.getpid(), getattr(signal, name))
        return file

    monkeypatch.setattr(output_file.PartialFile, "open", interrupted)
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        given = ["--template", "{question}", "--data", f"{EXAMPLES}/test.jsonl", "--out", f"{tmp_path}/x.jsonl"]
        given += ["--answer", "answer"]
        assert main(["export", "messages-json", *given]) == 143
    finally:
        signal.signal(signal.SIGHUP, before)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        (
            ["--custom-id", "{idd}"],
            2,
            "--custom-id: neither the data nor the prompts have a column 'idd'; did you mean 'id'",
        ),
        (["--params-columns", "seed=idd"], 4, "column \"idd\": the data have no such column; did you mean 'id'"),
        (["--params-columns", "a=id,a=id"], 2, "'a' is there twice"),
        (["--params", '{"a": 1, "a": 2}'], 2, "it has 'a' twice"),
        (["--params", r'{"a": "\ud800"}'], 3, "it can't be JSON"),
        (["--out", "-", "--max-requests", "1"], 2, "--max-requests: standard output can't be cut into files"),
        (["--out", "x.jsonl.gz"], 5, "leave out .gz"),
    ],
)
def test_the_command_says_what_is_wrong(
    options: list[str], code: int, error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ["--template", "{question}", "--data", f"{EXAMPLES}/test.jsonl", "--model-name", "m"]
    assert main(["export", "openai-batch", *given, "--out", f"{tmp_path}/x.jsonl", *options]) == code
    assert error in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
