"""Files of training data: what each line says, compared with plain Python, and rows that have nothing to train on."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress import export
from promptpress_workbench.cli.commands import COMMANDS
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.process import main
from promptpress_workbench.export.forms import EXPORTS
from promptpress_workbench.export.streams import RenderedStream

PROJECT = Path(__file__).resolve().parents[2]
USER, SYSTEM = {"role": "user", "content": "1+1=?"}, {"role": "system", "content": "Be brief."}
TEXTS = pa.table({"prompt": ["1+1=", "2+2="], "gold": [2, 4], "wrong": ["3", ""], "more": ["x", None], "id": [7, 8]})
CHATS = TEXTS.set_column(0, "prompt", pa.array([[SYSTEM, USER], [USER]]))


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def written(folder: Path, write: Any, table: Any, **options: Any) -> list[Any]:
    path = folder / "train.jsonl"
    done = write(table, path, **options)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert done.requests == len(lines)
    path.unlink()
    return lines


def test_prompts_and_completions(tmp_path: Path) -> None:
    lines = written(tmp_path, export.prompt_completion, TEXTS, answer="gold", keep=["id"])
    assert lines == [{"id": 7, "prompt": "1+1=", "completion": "2"}, {"id": 8, "prompt": "2+2=", "completion": "4"}]
    assert written(tmp_path, export.prompt_completion, CHATS, answer="gold") == [
        {"prompt": [SYSTEM, USER], "completion": [message("assistant", "2")]},
        {"prompt": [USER], "completion": [message("assistant", "4")]},
    ]


def test_preferences_of_two_columns(tmp_path: Path) -> None:
    lines = written(tmp_path, export.preference, TEXTS, chosen="gold", rejected="wrong")
    assert lines[0] == {"prompt": "1+1=", "chosen": "2", "rejected": "3"}
    assert written(tmp_path, export.preference, CHATS, chosen="gold", rejected="wrong", keep=["id"])[1] == {
        "id": 8,
        "prompt": [USER],
        "chosen": [message("assistant", "4")],
        "rejected": [message("assistant", "")],
    }


@pytest.mark.parametrize("blank", ["", "  ", "\n", None])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
@pytest.mark.parametrize("write", ["messages_json", "sharegpt", "prompt_completion", "alpaca", "preference"])
def test_an_empty_answer_is_none(tmp_path: Path, write: str, kind: pa.DataType, blank: str | None) -> None:
    """As a CSV file has a missing one."""
    answers = pa.array(["2", blank, "4"], kind)
    table = pa.table({"prompt": ["1+1=", "2+1=", "2+2="], "gold": answers, "wrong": ["1", "2", ""]})
    options = {"chosen": "gold", "rejected": "wrong"} if write == "preference" else {"answer": "gold"}
    with pytest.raises(pp.RenderError, match=r"--where \"trim\(gold\) <> ''\"") as caught:
        getattr(export, write)(table, tmp_path / "out.jsonl", **options)
    assert (caught.value.row, caught.value.column) == (1, "gold")


def test_instructions(tmp_path: Path) -> None:
    lines = written(tmp_path, export.alpaca, TEXTS, answer="gold", input_column="more", keep=["id"])
    assert lines == [
        {"id": 7, "instruction": "1+1=", "input": "x", "output": "2"},
        {"id": 8, "instruction": "2+2=", "input": "", "output": "4"},
    ]
    shots = [message("developer", "s"), message("user", "a"), message("assistant", "b"), message("user", "c")]
    for table, options in (
        (pa.table({"prompt": [shots], "gold": ["d"]}), {"answer": "gold"}),
        (pa.table({"prompt": [[*shots, message("assistant", "d")]]}), {}),
        (pa.table({"prompt": [json.dumps(shots)], "gold": ["d"]}), {"answer": "gold", "form": "messages_json"}),
    ):
        assert written(tmp_path, export.alpaca, table, **options) == [
            {"instruction": "c", "input": "", "output": "d", "system": "s", "history": [["a", "b"]]}
        ]


@pytest.mark.parametrize(
    "roles",
    [["user", "user"], ["assistant", "user"], ["user", "tool", "user"], ["system", "system", "user"], ["system"]],
)
def test_instructions_of_other_roles_are_refused(tmp_path: Path, roles: list[str]) -> None:
    table = pa.table({"prompt": [[message(role, "x") for role in roles]], "gold": ["d"]})
    with pytest.raises(pp.RenderError, match='row 0, column "prompt": its messages are not in turn') as caught:
        export.alpaca(table, tmp_path / "x.jsonl", answer="gold")
    assert caught.value.code == "invalid_role"
    with_name = pa.table({"prompt": [[{**USER, "name": "Ann"}]], "gold": ["d"]})
    with pytest.raises(pp.RenderError, match="a message of 'user' has 'name'"):
        export.alpaca(with_name, tmp_path / "x.jsonl", answer="gold")
    assert os.listdir(tmp_path) == []


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), st.text(max_size=3)), min_size=1, max_size=4
)


@settings(deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=5), st.integers(1, 3))
def test_each_form_wants_an_answer_of_the_assistant(
    tmp_path_factory: pytest.TempPathFactory, chats: list[Any], size: int
) -> None:
    rows = [[message(role, text) for role, text in chat] for chat in chats]
    table = pa.table({"prompt": pa.array(rows, pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})))})
    folder = tmp_path_factory.mktemp("train")
    batches = table.to_batches(max_chunksize=size)
    anywhere = [any(message["role"] == "assistant" for message in row) for row in rows]
    at_the_end = [len(row) > 1 and row[-1]["role"] == "assistant" for row in rows]
    for write, has_answer in (
        (export.messages_json, anywhere),
        (export.sharegpt, anywhere),
        (export.prompt_completion, at_the_end),
    ):
        if all(has_answer):
            lines = written(folder, write, batches)
            if write is export.prompt_completion:
                assert lines == [{"prompt": row[:-1], "completion": row[-1:]} for row in rows]
            continue
        with pytest.raises(pp.RenderError, match="answer= names the column of the answers") as caught:
            write(batches, folder / "x.jsonl")
        assert caught.value.code == "no_assistant_message"
        assert caught.value.row == has_answer.index(False)
        assert os.listdir(folder) == []


@pytest.mark.parametrize("write", [export.prompt_completion, export.alpaca, export.messages_json, export.sharegpt])
def test_texts_without_a_column_of_answers(tmp_path: Path, write: Any) -> None:
    with pytest.raises(pp.RenderError, match=r'row 0, column "prompt": it has no answer of the assistant to train on'):
        write(TEXTS, tmp_path / "x.jsonl")
    holes = TEXTS.set_column(1, "gold", pa.array(["2", None]))
    with pytest.raises(pp.RenderError, match='row 1, column "gold": it has no answer'):
        write(holes, tmp_path / "x.jsonl", answer="gold")
    assert os.listdir(tmp_path) == []


LABELS = ("A", "B", "C")


def label_rows(rights: list[str], form: str) -> tuple[pa.Table, list[Any]]:
    """Make the rows of labels, and the lines that are to come of them."""
    rows, lines = [], []
    for sample, right in enumerate(rights):
        prompt = f"Question {sample}:"
        prompts: dict[str, Any] = {label: f"{prompt} {label}" for label in LABELS}
        if form == "messages":
            prompts = {label: [message("user", prompt), message("assistant", label)] for label in LABELS}
        rows += [{"label": label, "gold": right, "id": sample, "prompt": prompts[label]} for label in LABELS]
        for label in LABELS:
            if label != right:
                size = len(prompt) if form == "text" else 1
                values = prompts[right][:size], prompts[right][size:], prompts[label][size:]
                lines.append({"id": sample, **dict(zip(("prompt", "chosen", "rejected"), values, strict=True))})
    return pa.Table.from_pylist(rows), lines


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=4), st.integers(1, 7), st.sampled_from(["text", "messages"])
)
def test_preferences_of_label_rows(
    tmp_path_factory: pytest.TempPathFactory, rights: list[str], size: int, form: str
) -> None:
    table, lines = label_rows(rights, form)
    folder = tmp_path_factory.mktemp("pairs")
    options = {"chosen_label": "gold", "keep": ["id"]}
    assert written(folder, export.preference, table.to_batches(max_chunksize=size), **options) == lines
    stream = RenderedStream(table.schema, lambda _: iter(table.to_batches(max_chunksize=size)))
    assert written(folder, export.preference, stream, **options) == lines
    # With one label a sample, only the column of samples tells where the next begins.
    numbered = table.append_column("sample", table["id"])
    assert written(folder, export.preference, numbered, **options) == lines


@pytest.mark.parametrize(
    ("answers", "parts"),
    [
        ((" 12", " 15"), ("Sum:", " 12", " 15")),
        ((" 1", " 10"), ("Sum:", " 1", " 10")),
        (("\nyes", "\nno"), ("Sum:\n", "yes", "no")),
        ((" it is", " it was"), ("Sum: it", " is", " was")),
        (("甲乙", "甲丙"), ("Sum:甲", "乙", "丙")),
    ],
)
def test_texts_are_split_between_words(tmp_path: Path, answers: tuple[str, str], parts: tuple[str, str, str]) -> None:
    rows = {"label": ["a", "b"], "gold": ["a", "a"], "prompt": [f"Sum:{answer}" for answer in answers]}
    lines = written(tmp_path, export.preference, pa.table(rows), chosen_label="gold")
    assert lines == [dict(zip(("prompt", "chosen", "rejected"), parts, strict=True))]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ({"gold": ["C", "C"]}, "row 0, column \"gold\": its sample has no row with its right label 'C'"),
        ({"label": ["A", "A"]}, 'row 0, column "gold": its sample has no row that could be rejected'),
        ({"prompt": [[USER], [message("user", "x")]]}, "row 0, .*: it can't be paired with row 1"),
        ({"prompt": [[USER, message("assistant", "x")], [USER]]}, "row 1, .*: it can't be paired with row 0"),
        ({"prompt": ["Yes.", "Yes. So"]}, "row 0, .*: it can't be paired with row 1"),
    ],
)
def test_label_rows_that_are_no_pair(tmp_path: Path, rows: dict[str, Any], error: str) -> None:
    table = pa.table({"label": ["A", "B"], "gold": ["A", "A"], "prompt": ["x A", "x B"], **rows})
    with pytest.raises(pp.RenderError, match=error):
        export.preference(table, tmp_path / "x.jsonl", chosen_label="gold")
    assert os.listdir(tmp_path) == []


def test_arguments_of_preferences(tmp_path: Path) -> None:
    for options in ({}, {"chosen": "gold"}, {"rejected": "gold"}, {"chosen": "gold", "chosen_label": "gold"}):
        with pytest.raises(pp.TemplateError, match=r"^(chosen|rejected|chosen_label): "):
            export.preference(TEXTS, tmp_path / "x.jsonl", **options)  # type: ignore[arg-type]  # the names differ
    with pytest.raises(pp.RenderError, match='column "label": the table has no such column; mode="ppl" renders'):
        export.preference(TEXTS, tmp_path / "x.jsonl", chosen_label="gold")
    for write, options in (
        (export.preference, {"chosen": "gold", "rejected": "wrong", "keep": ["prompt"]}),
        (export.prompt_completion, {"answer": "gold", "keep": ["prompt"]}),
        (export.alpaca, {"answer": "gold", "keep": ["id", "id"]}),
    ):
        with pytest.raises(pp.TemplateError, match="keep: "):
            write(TEXTS, tmp_path / "x.jsonl", **options)
    assert os.listdir(tmp_path) == []


def test_the_command_writes_each_form_of_training_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"q": "1+1=", "gold": "A", "wrong": "B"}, {"q": "2+2=", "gold": "B", "wrong": "A"}]
    Path("data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    Path("ppl.json").write_text(json.dumps({"prompt_template": {"A": "{q} A", "B": "{q} B"}, "mode": "ppl"}))
    text = ["--template", "{q}", "--output", "text"]
    first = {
        ("prompt-completion", *text, "--answer", "gold"): {"prompt": "1+1=", "completion": "A"},
        ("preference", *text, "--chosen", "gold", "--rejected", "wrong"): {
            "prompt": "1+1=",
            "chosen": "A",
            "rejected": "B",
        },
        ("preference", "ppl.json", "--output", "text", "--chosen-label", "gold"): {
            "prompt": "1+1=",
            "chosen": " A",
            "rejected": " B",
        },
        ("alpaca", *text, "--answer", "gold", "--input-column", "wrong", "--keep", "q"): {
            "q": "1+1=",
            "instruction": "1+1=",
            "input": "B",
            "output": "A",
        },
    }
    for arguments, line in first.items():
        assert main(["export", *arguments, "--data", "data.jsonl", "--out", "out.jsonl"]) == ExitCode.OK
        assert json.loads(Path("out.jsonl").read_text(encoding="utf-8").split("\n")[0]) == line
    # A rendered file has the rows of labels, too.
    render = ["render", "ppl.json", "--data", "data.jsonl", "--keep", "gold", "--out", "ppl.parquet"]
    for index in ([], ["--index", "sample"]):
        assert main([*render, *index]) == ExitCode.OK
        assert main(["export", "preference", "ppl.parquet", "--chosen-label", "gold", "--out", "out.jsonl"]) == 0
        assert len(Path("out.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    capsys.readouterr()
    for form in ("messages-json", "sharegpt", "prompt-completion", "alpaca"):
        code = main(["export", form, "--template", "{q}", "--data", "data.jsonl", "--out", "out.jsonl"])
        assert code == ExitCode.DATA
        error = capsys.readouterr().err
        assert 'row 0, column "prompt": it has no answer of the assistant to train on; --answer COL names' in error


def test_python_and_the_help_have_all_forms() -> None:
    functions = {form.load().__name__ for form in EXPORTS.values()} - {"preference_batches"}
    assert functions == {*export.__all__} - {"Written", "join", "predictions", "trl_preference_tokens"}
    assert all(f"  {name} " in COMMANDS["export"].more for name in EXPORTS)


def test_few_shots_without_a_final_answer_are_conversations(tmp_path: Path) -> None:
    for order in permutations([message("user", "a"), message("assistant", "b"), message("user", "c")], 3):
        lines = written(tmp_path, export.messages_json, pa.table({"prompt": [list(order)]}))
        assert lines == [{"messages": list(order)}]
