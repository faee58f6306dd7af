"""Answers as files of predictions: what is in them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress import export
from promptpress_workbench.cli import main

ROWS = pa.table(
    {
        "sample": [0, 1, 2],
        "prompt": [[{"role": None, "prompt": "Be kind."}, {"role": "HUMAN", "prompt": text}] for text in "abc"],
        "gold": ["2", "", "é"],
        "response": ["2", None, "I can't."],
        "status": ["ok", "missing", "refused"],
    }
)
NAMES: dict[str, Any] = {"model": "gpt", "dataset": "sums"}


def test_a_file_has_an_entry_for_each_row(tmp_path: Path) -> None:
    path = export.predictions(ROWS, tmp_path, **NAMES, gold="gold", unanswered="none")
    entries = {
        str(row): {"origin_prompt": ["Be kind.", {"role": "HUMAN", "prompt": text}], "prediction": answer, **gold}
        for row, (text, answer, gold) in enumerate(
            [("a", "2", {"gold": "2"}), ("b", "none", {}), ("c", "none", {"gold": "é"})]
        )
    }
    assert Path(path) == tmp_path / "predictions" / "gpt" / "sums.json"
    assert Path(path).read_text(encoding="utf-8") == json.dumps(entries, indent=4, ensure_ascii=False)
    lines = Path(export.predictions(ROWS, tmp_path, **NAMES, harness="aisbench", unanswered="")).read_text("utf-8")
    have = [json.loads(line) for line in lines.splitlines()]
    assert [(row["id"], row["data_abbr"], row["success"], row["prediction"]) for row in have] == [
        *((0, "sums", True, "2"), (1, "sums", True, ""), (2, "sums", True, ""))
    ]
    assert len({row["uuid"] for row in have}) == 3


def test_no_rows_and_choices(tmp_path: Path) -> None:
    assert Path(export.predictions(ROWS.slice(0, 0), tmp_path, **NAMES)).read_text() == "{}"
    several = pa.table({"prompt": ["a"], "response": [["x", "y"]]})
    (entry,) = json.loads(Path(export.predictions(several, tmp_path, **NAMES)).read_text()).values()
    assert entry["prediction"] == ["x", "y"]
    with pytest.raises(pp.RenderError, match="AISBench scores one text a row"):
        export.predictions(several, tmp_path, **NAMES, harness="aisbench")


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (ROWS, {}, r"2 of 3 rows have no answer \(1 missing, 1 refused\): row 1, 2; join results of a second try"),
        (ROWS.set_column(4, "status", pa.array(["ok"] * 3)), {}, r"1 of 3 rows .* \(1 without a text\): row 1"),
        (ROWS.drop_columns("response"), {"unanswered": ""}, 'column "response": .* promptpress join adds it'),
        (ROWS, {"unanswered": "", "gold": "golds"}, 'column "golds": the rows have no such column'),
        (ROWS.slice(1), {"unanswered": ""}, 'column "sample": isn\'t 0, 1, 2'),
        (ROWS.take([0, 0]).append_column("label", pa.array(["A", "B"])), {}, "the rows are of a label each"),
        (ROWS.take([0, 0]).append_column("turn", pa.array([0, 1])), {}, "the rows are of a turn each"),
        (ROWS, {"dataset": "../sums"}, "is no name of a file"),
    ],
)
def test_refused(table: pa.Table, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises((pp.RenderError, pp.TemplateError), match=message):
        export.predictions(table, tmp_path, **{**NAMES, **options})
    assert not list(tmp_path.rglob("*"))


CONFIG = """
datasets = [dict(abbr=name, {more} reader_cfg=dict(input_columns=["q"], output_column="a"), infer_cfg=dict(
    prompt_template=dict(type="PromptTemplate", template=dict(round=[dict(role="HUMAN", prompt="{{q}}")])),
    retriever=dict(type="ZeroRetriever"), inferencer=dict(type="GenInferencer"))) for name in {names}]
models = [dict(type="OpenAI", {abbr} path="gpt")]
"""


def join(folder: Path, *arguments: str, more: str = "", names: str = "['sums']", abbr: str = 'abbr="gpt",') -> int:
    (folder / "eval.py").write_text(CONFIG.format(more=more, names=names, abbr=abbr))
    (folder / "test.jsonl").write_text('{"q": "1+1?", "a": "2"}\n{"q": "2+2?", "a": "4"}\n')
    result = {"custom_id": "1", "response": {"body": {"choices": [{"message": {"content": "4"}}]}}}
    (folder / "results.jsonl").write_text(json.dumps(result))
    paths = ["--table", str(folder / "eval.py"), "--data", str(folder / "test.jsonl"), "--out", str(folder / "o.jsonl")]
    return main(["join", str(folder / "results.jsonl"), *paths, "--predictions", str(folder / "run"), *arguments])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert join(tmp_path) == 4
    assert "1 of 2 rows have no answer (1 missing): row 0" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert join(tmp_path, "--unanswered", "?") == 0
    path = tmp_path / "run" / "predictions" / "gpt" / "sums.json"
    assert f"predictions in {path}" in capsys.readouterr().err
    assert [(entry["prediction"], entry["gold"]) for entry in json.loads(path.read_text()).values()] == [
        *(("?", "2"), ("4", "4"))
    ]
    several = "['sums', 'more']"
    assert join(tmp_path, "--unanswered", "", "--dataset", "more", "--dialect", "aisbench", names=several) == 0
    assert (tmp_path / "run" / "predictions" / "gpt" / "more.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": "['sums', 'more']"}, "has sums, more; --dataset says whose they are"),
        ({"abbr": ""}, "no model with an abbr"),
        ({"more": "n=3, "}, "n: the harness asks for each row 3 times"),
    ],
)
def test_configurations_that_are_refused(
    options: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert join(tmp_path, **options) == 2
    assert message in capsys.readouterr().err
