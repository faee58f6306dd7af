"""Tasks of lm-evaluation-harness on the command line, without the harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import lm_eval
from promptpress_workbench.cli import main

pytest.importorskip("jinja2")
pytest.importorskip("yaml")

BASE = """\
test_split: test
output_type: multiple_choice
doc_to_choice: ["2", "4"]
doc_to_target: a
doc_to_text: "no {{ q }}"
process_results: !function utils.results
metadata: {version: 1.0}
"""
TASK = """\
task: sums
include: base_yaml
doc_to_text: "{{ q.strip() }}\\nAnswer:"
fewshot_split: train
"""
DOCS = [{"q": " 1+1=?", "a": "2"}, {"q": "2+2=?", "a": "4"}, {"q": "0+2=?", "a": "2"}]
SHOTS = [{"q": f"{n}+0=?", "a": str(n)} for n in (2, 4, 2)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("test", DOCS), ("train", SHOTS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "base_yaml").write_text(BASE)
    (tmp_path / "task.yaml").write_text(TASK)
    (tmp_path / "chat_template.jinja").write_text(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    return tmp_path


def render(*arguments: str, out: str = "out.jsonl", data: str = "test.jsonl") -> int:
    return main(["render", "--data", data, "--out", out, *arguments])


def rows() -> list[Any]:
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


def test_csv_has_the_types_of_the_harnesses_reader(folder: Path) -> None:
    """`answer` = 1 is the number of a choice, and `007` is 7."""
    (folder / "task.yaml").write_text(
        'task: t\ntest_split: test\nfewshot_split: train\noutput_type: multiple_choice\ndoc_to_choice: ["no", "yes"]\n'
        'doc_to_text: "{{ n }} {{ empty }}:"\ndoc_to_target: answer\n'
    )
    for name in ("test", "train"):
        (folder / f"{name}.csv").write_text("n,empty,answer\n007,,1\n8,x,0\n")
    assert render("task.yaml", "--examples", "train.csv", "--shots", "1", data="test.csv") == 0
    shots = ["7 None: yes\n\n", "8 x: no\n\n"]
    assert {row["arguments"]["context"] for row in rows()} == {shots[1] + "7 None:", shots[0] + "8 x:"}


def test_single_braces_are_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "task.yaml").write_text('include: base_yaml\ntask: t\ndoc_to_text: "{q}"\n')
    assert render("task.yaml") == 0
    assert "doc_to_text: '{q}' has single braces" in capsys.readouterr().err
    for text in ("{{ q }} {q}", "{other}", "q"):
        (folder / "task.yaml").write_text(f'include: base_yaml\ntask: t\ndoc_to_text: "{text}"\n')
        assert render("task.yaml", out=f"{len(text)}.jsonl") == 0
        assert "braces" not in capsys.readouterr().err


def config(**more: Any) -> dict[str, Any]:
    return {
        "task": "sums", "test_split": "test", "output_type": "multiple_choice", "doc_to_choice": ["2", "4"],
        "doc_to_target": "a", "doc_to_text": "{{ q.strip() }}\nAnswer:", "fewshot_split": "train", **more,
    }  # fmt: skip


def test_requests_as_in_python() -> None:
    arguments = ["--shots", "2", "--shots-seed", "7", "--limit", "2", "--examples", "train.jsonl", "--quiet"]
    assert render("task.yaml", *arguments) == 0
    table = lm_eval.requests(
        config(), pa.Table.from_pylist(DOCS), pa.Table.from_pylist(SHOTS), num_fewshot=2, seed=7, limit=2
    )
    expected = table.to_pylist()
    assert [tuple(row["arguments"].values()) for row in rows()] == [row["arguments"] for row in expected]
    assert [tuple(row["metadata"].values()) for row in rows()] == [row["metadata"] for row in expected]
    assert [row["idx"] for row in rows()] == [0, 1, 0, 1]
    assert rows()[0]["arguments"]["context"].count("Answer:") == 3


@pytest.mark.parametrize("out", ["out.parquet", "out.arrow"])
def test_columnar_files_have_plain_types(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert render("task.yaml", "--print-first", out=out) == 0
    table = pq.read_table(out) if out.endswith("parquet") else pa.ipc.open_file(out).read_all()
    assert table.column_names == ["request_type", "arguments", "idx", "doc_id", "metadata"]
    assert table["arguments"].to_pylist()[0] == {"context": "1+1=?\nAnswer:", "continuation": " 2"}
    assert not any(isinstance(field.type, pa.ExtensionType) for field in table.schema)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"context": "1+1=?\nAnswer:", "continuation": " 2"}
    assert "6 rows, " in printed.err


def test_parameters_of_generation_are_json(folder: Path) -> None:
    (folder / "task.yaml").write_text("test_split: test\ndoc_to_text: '{{ q }}'\ndoc_to_target: a\n")
    assert render("task.yaml", "--quiet") == 0
    assert json.loads(rows()[0]["arguments"]["generation_kwargs"])["max_gen_toks"] == 256


GENERATE = "task: sums\ntest_split: test\ndoc_to_text: '{{ q }}'\ndoc_to_target: a\n"


def export(form: str, *arguments: str, out: str = "b.jsonl") -> list[Any]:
    names = [] if form.endswith("tokens") or form in ("ray", "gemini-batch") else ["--model-name", "m"]
    command = ["export", form, "task.yaml", "--data", "test.jsonl", *names, *arguments, "--out", out]
    assert main(command) == 0
    return [json.loads(line) for line in Path(out).read_text().splitlines()] if out.endswith("l") else []


@pytest.mark.parametrize(
    ("kwargs", "given", "want"),
    [
        ("", None, {"temperature": 0.0, "stop": ["\n\n"], "max_tokens": 256}),
        ("{until: [x, \"it's\"], do_sample: false, top_p: 0.9}", None,
         {"temperature": 0, "top_p": 0.9, "stop": ["x", "it's"], "max_tokens": 256}),
        ("{until: x, do_sample: true, temperature: 0.7, max_gen_toks: 9}", None,
         {"temperature": 0.7, "stop": ["x"], "max_tokens": 9}),
        ("{until: ['', x], max_tokens: 8, max_gen_toks: 9}", {"temperature": 1, "stop": None},
         {"temperature": 1, "max_tokens": 8}),
        ("{until: []}", {"max_completion_tokens": 5}, {"temperature": 0, "max_completion_tokens": 5}),
        ("{until: [a, b, c, d, e]}", None, {"temperature": 0, "stop": ["a", "b", "c", "d"], "max_tokens": 256}),
        ("{until: [a, b, c, d, e]}", {"stop": ["e"]}, {"temperature": 0, "stop": ["e"], "max_tokens": 256}),
    ],
)  # fmt: skip
def test_an_export_samples_as_the_task_says(
    kwargs: str, given: Any, want: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parameters are in the requests, in the words of APIs; null in `--params` leaves one out."""
    (folder / "task.yaml").write_text(GENERATE + (f"generation_kwargs: {kwargs}\n" if kwargs else ""))
    for request in export("openai-batch", *([] if given is None else ["--params", json.dumps(given)])):
        assert {k: v for k, v in request["body"].items() if k not in ("model", "messages")} == want
    message = capsys.readouterr().err
    assert given is not None or f"task.yaml: each request has {json.dumps(want)}; --params changes it" in message
    assert ("it has 5 stop words, and OpenAI takes 4" in message) == (want.get("stop") == ["a", "b", "c", "d"])


def test_other_forms_have_the_parameters_in_their_words(folder: Path) -> None:
    (folder / "task.yaml").write_text(GENERATE + "generation_kwargs: {until: [a, b, c, d, e], max_gen_toks: 9}\n")
    assert export("vllm-batch")[0]["body"]["stop"] == ["a", "b", "c", "d", "e"]
    export("ray", out="rows.parquet")
    params = {"temperature": 0, "stop": ["a", "b", "c", "d", "e"], "max_tokens": 9}
    assert pq.read_table("rows.parquet")["sampling_params"].to_pylist() == [params] * 3


def test_services_get_the_parameters_in_their_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = GENERATE + 'generation_kwargs: {until: ["\\n", "Q:"], max_gen_toks: 9}\n'
    (folder / "task.yaml").write_text(task)
    (line, *_) = export("anthropic-batch")
    params = {key: value for key, value in line["params"].items() if key not in ("model", "messages")}
    assert params == {"temperature": 0, "stop_sequences": ["Q:"], "max_tokens": 9}
    assert "Anthropic takes no blank stop words" in capsys.readouterr().err
    (line, *_) = export("openai-responses")
    assert {"temperature": 0, "max_output_tokens": 9}.items() <= line["body"].items()
    assert "the Responses API has no stop; the requests are without" in capsys.readouterr().err
    (line, *_) = export("gemini-batch")
    config = {"temperature": 0, "stopSequences": ["\n", "Q:"], "maxOutputTokens": 9}
    assert line["request"]["generationConfig"] == config


def joined(folder: Path, requests: list[Any], *arguments: str) -> list[Any]:
    """Answer each request by its id, and join the answers to the task's rows."""
    results = [
        {"custom_id": request["custom_id"], "response": {"body": {"choices": [{"text": f"to {request['custom_id']}"}]}}}
        for request in reversed(requests)
    ]
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in results))
    command = ["join", "results.jsonl", "--table", "task.yaml", "--data", "test.jsonl", "--out", "a.jsonl", "--quiet"]
    assert main([*command, *arguments]) == 0
    return [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]


def test_each_repeat_is_a_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "task.yaml").write_text(GENERATE + "repeats: 2\n")
    requests = export("openai-batch")
    assert [request["custom_id"] for request in requests] == list("012345")
    locations = [(row["doc_id"], row["repeat"], row["response"]) for row in joined(folder, requests)]
    assert locations == [(number // 2, number % 2, f"to {number}") for number in range(6)]
    ids = [request["custom_id"] for request in export("openai-batch", "--custom-id", "{doc_id}-{repeat}")]
    assert ids == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]
    assert main(["stats", "task.yaml", "--data", "test.jsonl"]) == 0
    assert "6 requests" in capsys.readouterr().out


def test_a_task_with_a_column_of_labels(folder: Path) -> None:
    """`label` is a column of the documents, and no request's."""
    rows = [{**row, "label": 1, "repeat": "x"} for row in DOCS]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "task.yaml").write_text(GENERATE)
    assert [row["response"] for row in joined(folder, export("openai-batch"))] == ["to 0", "to 1", "to 2"]


def test_shots_as_messages(folder: Path) -> None:
    (folder / "task.yaml").write_text(GENERATE + "fewshot_split: train\ndescription: 'Add. '\n")
    options = ["--shots", "1", "--examples", "train.jsonl", "--fewshot-as-multiturn", "--system", "Be brief. "]
    requests = export("openai-batch", *options)
    messages = [request["body"]["messages"] for request in requests]
    assert [[message["role"] for message in chat] for chat in messages] == [["system", "user", "assistant", "user"]] * 3
    assert messages[0][0]["content"] == "Be brief. Add. "
    assert [json.loads(row["prompt"]) for row in joined(folder, requests, *options)] == messages


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "openai-batch", "--template", "{q}", "--processed-docs", "--model-name", "m"], "there is none"),
        (
            ["join", "results.jsonl", "--table", "sums.json", "--processed-docs"],
            "--processed-docs: is for tasks of",
        ),
        (["join", "results.jsonl", "--table", "task.yaml", "--predictions", "p"], "is scored by lm_eval"),
        (["join", "results.jsonl", "--table", "sums.json", "--unanswered", ""], "--unanswered: is a prediction"),
    ],
)
def test_misplaced_options(words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "results.jsonl").write_text("")
    (folder / "sums.json").write_text('{"template": "{q}"}')
    assert main([*words, "--data", "test.jsonl", "--out", "out.jsonl"]) == 2
    assert message in capsys.readouterr().err


def test_chats() -> None:
    chat = ["--chat-template", "chat_template.jinja", "--system", "Short.", "--quiet"]
    assert render("task.yaml", *chat, "--shots", "1", "--examples", "train.jsonl") == 0
    context = rows()[0]["arguments"]["context"]
    assert context.startswith("<system>Short.<user>")
    assert context.endswith("1+1=?\nAnswer:<assistant>")
    assert context.count("<user>") == 1
    more = ["--shots", "1", "--examples", "train.jsonl", "--fewshot-as-multiturn"]
    assert render("task.yaml", *chat, *more) == 0
    assert rows()[0]["arguments"]["context"].count("<user>") == 2


def test_documents_that_a_function_returns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "task.yaml").write_text(TASK + "process_docs: !function utils.process\n")
    assert render("task.yaml") == 3
    assert (
        "process_docs: it is a function, which is never called here; --processed-docs says" in capsys.readouterr().err
    )
    assert render("task.yaml", "--processed-docs", "--quiet") == 0
    assert len(rows()) == 6
    (folder / "task.yaml").write_text(TASK.replace('"{{ q.strip() }}\\nAnswer:"', "!function utils.text"))
    assert render("task.yaml", "--processed-docs") == 3
    assert "doc_to_text: it is a function" in capsys.readouterr().err


def test_includes(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "one.yaml").write_text("include: [../base_yaml, two.yaml]\ntask: one\n")
    (folder / "sub" / "two.yaml").write_text("doc_to_text: 'two {{ q }}'\ntask_list: [a]\ntask: two\n")
    assert render("sub/one.yaml", "--quiet") == 0
    assert rows()[0]["arguments"]["context"] == "two  1+1=?"
    assert rows()[0]["metadata"]["task"] == "one"


@pytest.mark.parametrize(
    ("code", "message", "text", "arguments"),
    [
        (3, "task.yaml: includes itself", "include: task.yaml\ntask: a\n", []),
        (3, "no.yaml: No such file", "include: no.yaml\ntask: a\n", []),
        (3, "group: this is a group of tasks", "group: a\ndoc_to_text: a\ntask: [b]\n", []),
        (3, "it has 'group', 'task'; this is a group of lm-eval", "group: a\ntask: [b]\n", []),
        (3, "class: this is a task with a class of its own", "class: a\ninclude: base_yaml\ntask: a\n", []),
        (3, "task.yaml:2: not valid YAML", "doc_to_text: a\n]", []),
        (3, "doc_to_txt: TypeError: no task has this key; did you mean doc_to_text?", "doc_to_txt: a\n" + TASK, []),
        (2, "--keep: task.yaml is a task of lm-evaluation-harness", TASK, ["--keep", "q"]),
        (2, "--shots-seed is the seed of its examples", TASK, ["--seed", "7"]),
        (2, "write Parquet, Arrow or JSONL", TASK, ["--out-format", "csv"]),
        (3, "--examples: shots are drawn from the split 'train'", TASK, ["--shots", "1"]),
        (4, "row 0: ", TASK + "doc_to_target: '{{ a.b.c }}'\n", []),
    ],
)  # fmt: skip
def test_errors(code: int, message: str, text: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("task.yaml").write_text(text)
    assert render("task.yaml", *arguments) == code
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert not Path("out.jsonl").exists()


def test_keys_may_be_quoted(folder: Path) -> None:
    (folder / "task.yaml").write_text('"include": "base_yaml"\n"task": "quoted"\n')
    assert render("task.yaml", "--quiet") == 0
    assert rows()[0]["metadata"]["task"] == "quoted"


def test_samples_of_a_run_are_no_task(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "samples_sums_2026-01-31T09-00-00.000001.jsonl"
    (folder / name).write_text("{}\n{}\n")
    assert render(name) == 2
    assert "a configuration is a .json" in capsys.readouterr().err


def test_a_yaml_of_another_kind_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.yaml").write_text("prompt_template: '{q}'\n")
    assert render("other.yaml", "--quiet") == 0
    assert rows()[1] == {"prompt": "2+2=?"}
    assert render("other.yaml", "--shots", "1") == 2
    assert "--shots goes with --template; a CONFIG says it itself" in capsys.readouterr().err
