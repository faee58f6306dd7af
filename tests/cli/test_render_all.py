"""Every dataset and model of a configuration rendered in one run, each from its own data."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from promptpress_workbench.cli import main

ROWS = [{"q": f"{i}+1?", "a": str(i + 1)} for i in range(10)]
META = {"round": [{"role": "HUMAN", "begin": "<u>"}, {"role": "BOT", "begin": "<b>", "generate": True}]}


def dataset(abbr: str, text: str = "{q}", **more: Any) -> dict[str, Any]:
    reader = {"input_columns": ["q"], "output_column": "a", **more.pop("reader", {})}
    infer = {
        "prompt_template": {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": text}]}},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer"},
        **more.pop("infer", {}),
    }
    return {"abbr": abbr, "reader_cfg": reader, "infer_cfg": infer, **more}


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPASS_DATA_CACHE", raising=False)
    monkeypatch.delenv("DATASET_SOURCE", raising=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").write_text(lines(ROWS))
    (tmp_path / "data" / "rows.csv").write_text("q,a\n" + "".join(f"{r['q']},00{r['a']}\n" for r in ROWS))
    (tmp_path / "other.csv").write_text("q,a\nother?,x\n")
    return tmp_path


def config(*datasets: Any, **more: Any) -> None:
    Path("c.json").write_text(json.dumps({"datasets": datasets, **more}))


def run(*arguments: str, out: str = "out/") -> int:
    return main(["render", "c.json", "--dataset", "all", "--out", out, "--quiet", *arguments])


def prompts(name: str, folder: str = "out") -> list[Any]:
    return [json.loads(line)["prompt"] for line in Path(folder, name).read_text().splitlines()]


def summary() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(Path("out/summary.json").read_text())["rendered"]
    return entries


def test_each_dataset_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    custom = {"type": "CustomDataset", "path": "data/rows.jsonl"}
    config(
        dataset("one", "1 {q}", **custom),
        dataset("two/../x", "2 {q}={a}", type="opencompass.datasets.CustomDataset", path="data", file_name="rows.csv"),
        dataset("hf", "3 {q}", type="HFDataset", path="json", data_files="data/rows.jsonl", split="train"),
        dataset("lines", "4 {q}", type="JsonlDataset", path=str(Path("data/rows.jsonl").absolute())),
    )
    assert run() == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *("hf.jsonl", "lines.jsonl", "one.jsonl", "summary.json", "two_.._x.jsonl")
    ]
    assert prompts("one.jsonl") == [f"1 {row['q']}" for row in ROWS]
    assert prompts("two_.._x.jsonl")[0] == "2 0+1?="
    assert (prompts("hf.jsonl")[9], prompts("lines.jsonl")[9]) == ("3 9+1?", "4 9+1?")
    first = summary()[0]
    assert re.fullmatch("[0-9a-f]{64}", first.pop("fingerprint"))
    assert first == {
        "dataset": "one",
        "model": None,
        "status": "rendered",
        "file": "one.jsonl",
        "rows": 10,
        "prompt_bytes": 60,
        "data": ["data/rows.jsonl"],
        "examples": [],
    }
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("reader", "want"),
    [
        ({"test_range": "[2:4]"}, [2, 3]),
        ({"test_range": "[-2:]"}, [8, 9]),
        ({"test_range": "[::4]"}, [0, 4, 8]),
        ({"test_range": 3}, 3),
        ({"test_range": 0.3}, 0.3),
        ({"test_split": "train", "train_range": "[:5]", "test_range": "[3:]"}, [3, 4]),
        ({"test_range": 0}, list(range(10))),
    ],
)
def test_ranges(reader: dict[str, Any], want: Any) -> None:
    config(dataset("one", type="CustomDataset", path="data/rows.jsonl", reader=reader))
    assert run() == 0
    if not isinstance(want, list):
        size = int(want * 10) if want < 1 else want
        numbers = list(range(10))
        random.Random(x=size).shuffle(numbers)
        want = numbers[:size]
    assert prompts("one.jsonl") == [ROWS[i]["q"] for i in want]


def test_examples_of_each_dataset() -> None:
    template = {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q}"}]}
    shots = {
        "prompt_template": {"type": "PromptTemplate", "template": template, "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "{q}{a}"}]}},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [1]},
    }
    reader = {"train_range": "[5:]", "test_range": "[:1]"}
    config(dataset("one", infer=shots, type="CustomDataset", path="data/rows.jsonl", reader=reader))
    assert run() == 0
    assert prompts("one.jsonl") == ["6+1?7\n0+1?"]
    assert run("--data", "one=other.csv", "--examples", "one=data/rows.csv") == 0
    assert prompts("one.jsonl") == ["1+1?002\nother?"]
    assert run("--data", "one=other.csv") == 3
    assert summary()[0]["code"] == "unreadable_config"


NOT_KNOWN = {
    "class": ({"type": "GSM8KDataset", "path": "data"}, "the rows of GSM8KDataset are made by its own code"),
    "no class": ({}, "names no dataset class"),
    "no file": ({"type": "CustomDataset", "path": "data/none.jsonl"}, "data/none.jsonl: no such file"),
    "folder": ({"type": "CustomDataset", "path": "data"}, "data: a folder, not a file"),
    "key": ({"type": "JsonlDataset", "path": "data/rows.jsonl", "shuffle": 1}, "what 'shuffle' does to the rows"),
    "repeated": ({"type": "CustomDataset", "path": "data/rows.jsonl", "n": 4}, "n is 4"),
    "split": (
        {"type": "CustomDataset", "path": "data/rows.jsonl", "reader": {"test_split": "validation"}},
        "no split 'validation'",
    ),
    "split of a file": ({"type": "HFDataset", "path": "json", "data_files": "data/rows.jsonl"}, "no split 'test'"),
    "hub": ({"type": "HFDataset", "path": "glue", "name": "rte"}, "'name'"),
    "guessed types": (
        {"type": "HFDataset", "path": "csv", "data_files": "data/rows.csv", "split": "train"},
        "it guesses types",
    ),
    "code": (
        {"type": "CustomDataset", "path": "data/rows.jsonl", "reader": {"test_range": "[len(x):]"}},
        "'[len(x):]' is no slice",
    ),
    "AISBench's": ({"type": "ais_bench.benchmark.datasets.CustomDataset", "path": "data/rows.jsonl"}, "its own code"),
    "columns of the harness": ({"type": "CustomDataset", "path": "data/rows.jsonl", "text": "{idx}"}, "'idx'"),
    "times": ({"type": "HFDataset", "path": "json", "data_files": "data/times.jsonl", "split": "train"}, "like times"),
    "late field": ({"type": "CustomDataset", "path": "data/late.jsonl"}, "the first row lacks 'b'"),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_is_not_known_is_not_guessed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/times.jsonl").write_text('{"q": "2020-01-01T00:00:00", "a": "x"}\n')
    Path("data/late.jsonl").write_text('{"q": "x", "a": "x"}\n{"q": "x", "a": "x", "b": 1}\n')
    keys, words = NOT_KNOWN[name]
    config(dataset("bad", **keys), dataset("good", type="CustomDataset", path="data/rows.jsonl"))
    assert run() == 4
    bad, good = summary()
    assert (bad["status"], good["status"]) == ("not_rendered", "rendered")
    assert words in bad["why"]
    assert f"not rendered  bad   {bad['why']}" in capsys.readouterr().err
    assert sorted(path.name for path in Path("out").iterdir()) == ["good.jsonl", "summary.json"]
    assert run("--data", "bad=other.csv") == 0
    assert prompts("bad.jsonl")


def test_those_that_fail_stop_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/broken.jsonl").write_text('{"q": 1}\n{"q"\n')
    custom = {"type": "CustomDataset", "path": "data/rows.jsonl"}
    config(
        dataset("data", type="CustomDataset", path="data/broken.jsonl"),
        dataset("role", **custom, infer={"prompt_template": {"type": "Strange", "template": "x"}}),
        dataset("good", **custom),
        dataset("good", "again {q}", **custom),
        dataset("Good", **custom),
    )
    Path("out").mkdir()
    Path("out/data.jsonl").write_text("what was there")
    assert run() == 4
    entries = {entry["file"] if "file" in entry else entry["dataset"]: entry for entry in summary()}
    assert [entry["status"] for entry in summary()] == ["failed", "failed", "rendered", "rendered", "rendered"]
    assert entries["data"]["code"] == "unreadable_data"
    assert entries["role"]["code"] == "unsupported_class"
    assert set(entries) == {"data", "role", "good.jsonl", "good-2.jsonl", "Good-3.jsonl"}
    assert Path("out/data.jsonl").read_text() == "what was there"
    assert prompts("good-2.jsonl")[0] == "again 0+1?"
    assert "broken.jsonl:2: not valid JSON" in capsys.readouterr().err


def test_models() -> None:
    custom = {"type": "CustomDataset", "path": "data/rows.jsonl"}
    models = [{"abbr": "m", "type": "VLLM", "meta_template": META}, {"abbr": "n", "type": "VLLM"}]
    config(dataset("one", **custom), dataset("two", "2 {q}", **custom), models=models)
    assert run("--model-abbr", "all", "--limit", "1") == 0
    assert prompts("one__m.jsonl") == ["<u>0+1?<b>"]
    assert prompts("two__n.jsonl") == ["2 0+1?"]
    assert [(entry["dataset"], entry["model"]) for entry in summary()] == [
        *(("one", "m"), ("one", "n"), ("two", "m"), ("two", "n"))
    ]
    assert main(["render", "c.json", "--dataset", "two", "--model-abbr", "all", "--out", "three", "--quiet"]) == 0
    assert prompts("two__m.jsonl", "three")[0] == "<u>2 0+1?<b>"
    Path("a.json").write_text(json.dumps({"prompt_template": "{q}"}))
    Path("m.json").write_text(json.dumps({"models": models}))
    command = ["render", "a.json", "--model", "m.json", "--model-abbr", "all", "--data", "other.csv", "--out", "four"]
    assert main([*command, "--quiet", "--out-format", "csv", "--keep", "all"]) == 0
    assert Path("four/a__m.csv").read_bytes() == b"q,a,prompt\r\nother?,x,other?\r\n"


def test_a_dataset_that_would_have_to_be_executed() -> None:
    text = f"from x import f\na_datasets = [dict(abbr='bad', infer_cfg=f()), {dataset('good')!r}]"
    Path("c.py").write_text(text)
    arguments = ["--data", "good=other.csv", "--out", "out", "--quiet"]
    assert main(["render", "c.py", "--dataset", "all", *arguments]) == 3
    bad, good = summary()
    assert (bad["code"], good["rows"]) == ("unreadable_config", 1)
    assert "c.py:2: call of f()" in bad["why"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "other.csv"], "--data other.csv: with --dataset all it is NAME=FILE; the datasets are one"),
        (["--data", "oen=other.csv"], "did you mean one=...?"),
        (["--out", "x.jsonl"], "--out x.jsonl: all writes a file for each; name a folder, such as x/"),
        (["--out", "-"], "all writes a file for each; name a folder"),
        (["--print-first"], "--print-first goes with one dataset"),
        (["--out", "c.json"], "all writes a file for each"),
    ],
)
def test_what_makes_no_sense(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    config(dataset("one"))
    assert run(*arguments) == 2
    assert words in capsys.readouterr().err


def test_lines_of_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    config(dataset("one", type="CustomDataset", path="data/rows.jsonl"), dataset("long-name"))
    assert main(["render", "c.json", "--dataset", "all", "--out", "out"]) == 4
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "promptpress: rendered      one        10 rows, 40 bytes: out/one.jsonl"
    assert lines[1].startswith("promptpress: not rendered  long-name  the configuration names no dataset class")
    assert lines[2] == "promptpress: 2 in all: 1 rendered, 1 not rendered"
    assert lines[3].startswith("promptpress: 10 rows, 40 B of prompts in")


def test_one_dataset_needs_data(capsys: pytest.CaptureFixture[str]) -> None:
    config(dataset("one"))
    assert main(["render", "c.json", "--out", "o.jsonl"]) == 2
    assert "a configuration needs samples; --data FILE names them" in capsys.readouterr().err


SHOTS = {
    "prompt_template": {
        "type": "PromptTemplate",
        "template": {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q}"}]},
        "ice_token": "</E>",
    },
    "ice_template": {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "{q}{a}"}]}},
    "retriever": {"type": "FixKRetriever", "fix_id_list": [1]},
}


def test_one_dataset_has_the_rows_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    """All commands take them, as `--dataset all` does: the samples' range, and the examples'."""
    reader = {"train_range": "[5:]", "test_range": "[2:4]"}
    entry = dataset("one", infer=SHOTS, type="CustomDataset", path="data/rows.jsonl", reader=reader)
    config(entry)
    assert run() == 0
    want = prompts("one.jsonl")
    assert want == ["6+1?7\n2+1?", "6+1?7\n3+1?"]
    assert main(["render", "c.json", "--out", "o.jsonl", "--quiet"]) == 0
    assert prompts("o.jsonl", ".") == want
    assert main(["render", "c.json", "--where", "q LIKE '3%'", "--index", "n", "--out", "w.jsonl", "--quiet"]) == 0
    assert json.loads(Path("w.jsonl").read_text())["prompt"] == want[1]
    assert main(["export", "openai-batch", "c.json", "--model-name", "m", "--out", "b.jsonl", "--quiet"]) == 0
    assert len(Path("b.jsonl").read_text().splitlines()) == 2
    capsys.readouterr()
    for command, words in (
        (["show", "c.json", "--row", "1"], want[1]),
        (["stats", "c.json", "--json"], '"requests": 2'),
        (["audit", "c.json"], ""),
        (["diff", "c.json", "--template-b", "{q}", "--json"], '"compared": 2, "different": 2'),
        (["diff", "c.json", "o.jsonl", "--json"], '"compared": 2, "different": 0'),
        (["diff", "o.jsonl", "c.json", "--json"], '"compared": 2, "different": 0'),
        (["diff", "c.json", "c.json", "--json"], '"compared": 2, "different": 0'),
        (["view", "c.json", "--html", "v.html"], ""),
    ):
        assert main(command) in (0, 1), command
        printed = capsys.readouterr()
        assert words in printed.out, command
        assert "train_range isn't applied" not in printed.err
    assert "3+1?" in Path("v.html").read_text()
    assert main(["render", "c.json", "--out", "data/rows.jsonl"]) == 2
    assert "the same file as the input data/rows.jsonl" in capsys.readouterr().err
    assert main(["show", "c.json", "--data", "other.csv"]) == 3  # its examples then come with --examples
    capsys.readouterr()
    Path("d.json").write_text(json.dumps({**entry, "reader_cfg": {**entry["reader_cfg"], "test_range": "[:2]"}}))
    assert main(["diff", "c.json", "d.json"]) == 2
    assert "A and B name datasets with other rows; --data FILE gives both the same" in capsys.readouterr().err


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_one_dataset_says_why_its_rows_are_not_known(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/times.jsonl").write_text('{"q": "2020-01-01T00:00:00", "a": "x"}\n')
    Path("data/late.jsonl").write_text('{"q": "x", "a": "x"}\n{"q": "x", "a": "x", "b": 1}\n')
    keys, words = NOT_KNOWN[name]
    config(dataset("bad", **keys))
    for command in ("show", "stats"):
        assert main([command, "c.json"]) == 2
        error = capsys.readouterr().err
        assert "--data FILE names" in error
        assert words in error


def test_a_page_of_several_datasets_needs_data(capsys: pytest.CaptureFixture[str]) -> None:
    """The page would show all of them on the rows of one."""
    config(*(dataset(name, type="CustomDataset", path="data/rows.jsonl") for name in ("one", "two")))
    assert main(["view", "c.json", "--dataset", "one", "--html", "v.html"]) == 2
    assert "a configuration needs samples" in capsys.readouterr().err
    assert main(["show", "c.json", "--dataset", "one"]) == 0
