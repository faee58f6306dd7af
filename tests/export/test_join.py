"""Results come back to their rows, whatever their order, their files and what is missing."""

from __future__ import annotations

import gzip
import io
import json
import random
import warnings
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress import export
from promptpress_workbench.cli.process import main
from promptpress_workbench.export.batch_results import read_results

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def chat(custom_id: str, text: str | None = "yes", **message: Any) -> dict[str, Any]:
    """A line of OpenAI's output file."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None}


def failed(custom_id: str, message: str = "too long") -> dict[str, Any]:
    """A line of OpenAI's error file."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    response = {"status_code": 400, "request_id": "r", "body": body}
    return {"id": "batch_req_2", "custom_id": custom_id, "response": response, "error": None}


def expired(custom_id: str) -> dict[str, Any]:
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "batch_req_3", "custom_id": custom_id, "response": None, "error": error}


TABLE = pa.table({"prompt": ["a", "b", "c"]})


def test_answers_errors_and_what_is_missing() -> None:
    joined = export.join([failed("2"), chat("0", "é")], TABLE)
    assert joined.drop_columns("prompt").to_pylist() == [
        {
            "response": "é",
            "finish_reason": "stop",
            "status": "ok",
            "error": None,
            "prompt_tokens": 7,
            "completion_tokens": 2,
            "cached_tokens": None,
        },
        {
            "response": None,
            "finish_reason": None,
            "status": "missing",
            "error": None,
            "prompt_tokens": None,
            "completion_tokens": None,
            "cached_tokens": None,
        },
        {
            "response": None,
            "finish_reason": None,
            "status": "error",
            "error": "too long",
            "prompt_tokens": None,
            "completion_tokens": None,
            "cached_tokens": None,
        },
    ]


@pytest.mark.parametrize(
    ("result", "status", "text"),
    [
        (expired("0"), "error", "batch_expired: This request could not be executed in time."),
        # vLLM: an object beside a response without a body.
        (
            {
                "id": "vllm-1",
                "custom_id": "0",
                "response": {"status_code": 400, "request_id": "vllm-batch-1", "body": None},
                "error": {"error": {"message": "no such model", "type": "NotFoundError", "code": 404}},
            },
            "error",
            "404: no such model",
        ),
        ({"custom_id": "0", "response": {"status_code": 503, "body": None}, "error": None}, "error", "HTTP status 503"),
        ({"custom_id": "0", "response": {"status_code": 200, "body": {}}, "error": None}, "error", "no choices"),
        ({"custom_id": "0", "response": None, "error": "gone"}, "error", "gone"),
        # LiteLLM: a body that is JSON within JSON.
        (
            {"custom_id": "0", "response": {"status_code": 200, "body": json.dumps(chat("0")["response"]["body"])}},
            "ok",
            "yes",
        ),
        ({"custom_id": "0", "response": {"body": {"choices": [{"text": " 4", "index": 0}]}}}, "ok", " 4"),
        (chat("0", None, refusal="No."), "refused", "No."),
        (chat("0", None, tool_calls=[{"id": "c"}]), "ok", None),
        (chat("0", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ok", "ab"),  # type: ignore[arg-type]
    ],
)
def test_results_of_every_kind(result: dict[str, Any], status: str, text: str | None) -> None:
    row = export.join([result], TABLE).to_pylist()[0]
    assert row["status"] == status
    raw = row["response" if status in {"ok", "refused"} else "error"]
    assert raw == text or (text == "no choices" and raw == "the response has no choices")


def responses(*output: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    """A line of results of the Responses API, whose answer is cut off for a reason."""
    body = {"output": list(output), "status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"custom_id": "0", "response": {"status_code": 200, "body": body}}


def ended(line: dict[str, Any], reason: str) -> dict[str, Any]:
    line["response"]["body"]["choices"][0]["finish_reason"] = reason
    return line


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "4"}]}
OF_ANTHROPIC = {"type": "message", "content": [], "stop_reason": "max_tokens"}


@pytest.mark.parametrize(
    ("result", "row", "cut"),
    [
        (ended(chat("0", None), "content_filter"), ("refused", None, "content_filter"), 0),
        (ended(chat("0", "4"), "content_filter"), ("refused", "4", "content_filter"), 0),
        (responses(reason="content_filter"), ("refused", None, "content_filter"), 0),
        (responses(MESSAGE, reason="content_filter"), ("refused", "4", "content_filter"), 0),
        (ended(chat("0", ""), "length"), ("ok", "", "length"), 1),
        (ended(chat("0", None), "length"), ("ok", None, "length"), 1),
        (responses(MESSAGE, reason="max_output_tokens"), ("ok", "4", "max_output_tokens"), 1),
        (responses({"type": "reasoning"}, reason="max_output_tokens"), ("ok", None, "max_output_tokens"), 1),
        (
            {"custom_id": "0", "result": {"type": "succeeded", "message": OF_ANTHROPIC}},
            ("ok", None, "max_tokens"),
            1,
        ),
        (
            {"key": "0", "response": {"candidates": [{"content": {}, "finishReason": "MAX_TOKENS"}]}},
            ("ok", None, "MAX_TOKENS"),
            1,
        ),
    ],
)
def test_answers_that_are_withheld_or_cut_off(
    result: dict[str, Any], row: tuple[Any, ...], cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joined = export.join([result], TABLE).to_pylist()[0]
    assert (joined["status"], joined["response"], joined["finish_reason"]) == row
    results, table = tmp_path / "out.jsonl", tmp_path / "in.parquet"
    results.write_text(json.dumps(result))
    pq.write_table(TABLE, table)
    assert main(["join", str(results), "--table", str(table), "--out", str(tmp_path / "answers.parquet")]) == 0
    assert ("; 1 answer cut off at the limit of tokens; in " in capsys.readouterr().err) == bool(cut)


def test_results_are_files_tables_or_both(tmp_path: Path) -> None:
    first, second = tmp_path / "out.jsonl", tmp_path / "errors.jsonl"
    first.write_text(f"{json.dumps(chat('1'))}\n\n", encoding="utf-8")
    second.write_text(json.dumps(failed("0")), encoding="utf-8")
    expected = export.join([chat("1"), failed("0")], TABLE)
    table = pa.Table.from_pylist([chat("1")])
    for results in ([first, str(second)], [table, second], [iter([chat("1")]), [failed("0")]]):
        assert export.join(results, TABLE).equals(expected)
    assert export.join(first, TABLE)["status"].to_pylist() == ["missing", "ok", "missing"]


def test_a_second_try_is_added_and_repeated_results_are_noted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for order in ([failed("0"), chat("0")], [chat("0"), failed("0")]):
            assert export.join(order, TABLE)["response"].to_pylist() == ["yes", None, None]
    with pytest.warns(pp.PromptWarning, match="1 row has more than one result, and the last of them is taken: '0'"):
        joined = export.join([chat("0", "first"), chat("0", "second")], TABLE)
    assert joined["response"][0].as_py() == "second"


def test_results_of_no_row_are_noted_and_are_an_error_if_none_matches() -> None:
    with pytest.warns(pp.PromptWarning, match=r"2 results are of no row of the table, and left out: '7', 'x'; is cus"):
        export.join([chat("0"), chat("7"), chat("x")], TABLE)
    with pytest.raises(pp.RenderError, match=r"none of the 1 results .* 'q-0', and the table's first row has '0'; is"):
        export.join([chat("q-0")], TABLE)
    assert export.join([chat("q-0")], TABLE, custom_id="q-{sample}")["status"][0].as_py() == "ok"
    assert export.join([], TABLE)["status"].to_pylist() == ["missing"] * 3


def test_several_choices_are_all_given_on_request() -> None:
    result = chat("0", "a")
    result["response"]["body"]["choices"].append({"index": 1, "message": {"content": "b"}, "finish_reason": "length"})
    with pytest.warns(pp.PromptWarning, match="1 result has more than one choice"):
        assert export.join([result], TABLE)["response"][0].as_py() == "a"
    joined = export.join([result], TABLE, choices=True, raw=True, prefix="x_")
    assert joined["x_response"].to_pylist() == [["a", "b"], None, None]
    assert joined["x_finish_reason"][0].as_py() == ["stop", "length"]
    assert json.loads(joined["x_result"][0].as_py()) == result


def test_names_in_use_are_refused_with_the_remedy() -> None:
    with pytest.raises(pp.RenderError, match=r'column "error": .*prefix='):
        export.join([], TABLE.append_column("error", pa.array(["", "", ""])))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "line 2: it is no JSON: .*the file ends within it"),
        ("[1]", r"line 2: it is no result of a batch: it has no custom_id \(\[1\]\)"),
        ('{"custom_id": 5}', "its custom_id is no string, but 5"),
        ('{"custom_id": "5"}', "it is no result: it has neither a response nor an error"),
        ('{"custom_id": "5", "body": {}}', "it is a request: it has neither"),
    ],
)
def test_lines_that_are_no_results(tmp_path: Path, line: str, error: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(chat("0")) + "\n" + line, encoding="utf-8")
    with pytest.raises(pp.RenderError, match=f"out.jsonl, {error}" if error.startswith("line") else error) as caught:
        export.join(path, TABLE)
    assert caught.value.code == "invalid_result"


@given(st.lists(st.sampled_from(["ok", "error", "missing"]), max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=part_of(80), deadline=None)
def test_a_shuffled_incomplete_result_file_is_joined_back(states: list[str], shuffle: random.Random) -> None:
    table = pa.table({"sample": range(len(states)), "label": ["A"] * len(states), "prompt": ["x"] * len(states)})
    make = {"ok": lambda custom_id: chat(custom_id, f"answer {custom_id}"), "error": failed}
    results = [make[state](f"r{row}/A") for row, state in enumerate(states) if state != "missing"]
    shuffle.shuffle(results)
    joined = export.join(results, table, custom_id="r{sample}/{label}")
    assert joined["status"].to_pylist() == states
    expected = [f"answer r{row}/A" if state == "ok" else None for row, state in enumerate(states)]
    assert joined["response"].to_pylist() == expected


def run(*words: str) -> int:
    return main([word.replace("@", str(EXAMPLES) + "/") for word in words] + ["--quiet"])


SUMS = ("@sums.py", "--examples", "@train.jsonl", "--data", "@test.jsonl")


def answered(requests: list[Path]) -> list[dict[str, Any]]:
    """A model that gives each prompt's last word back, a few at a time and not always."""
    lines = [json.loads(line) for path in requests for line in path.read_text(encoding="utf-8").splitlines()]
    results = []
    for line in lines:
        text = line["body"]["messages"][-1]["content"].split()[-2]
        results.append(failed(line["custom_id"]) if line["custom_id"].endswith("3") else chat(line["custom_id"], text))
    random.Random(5).shuffle(results)
    return results[2:]


@pytest.mark.parametrize("pattern", [None, "sums-{id}"])
def test_the_command_exports_shards_and_joins_what_comes_back(tmp_path: Path, pattern: str | None) -> None:
    out = tmp_path / "in.jsonl"
    ids = [] if pattern is None else ["--custom-id", pattern]
    options = ["--model-name", "m", "--params", '{"temperature": 0}', "--max-requests", "7"]
    assert run("export", "openai-batch", *SUMS, "--out", str(out), *ids, *options) == 0
    shards = sorted(tmp_path.glob("in-*.jsonl"))
    assert [path.name for path in shards] == [f"in-0000{n}.jsonl" for n in range(4)]
    results = answered(shards)
    files = [tmp_path / "out.jsonl", tmp_path / "errors.jsonl"]
    for path, is_error in zip(files, (False, True), strict=True):
        of_file = [result for result in results if (result["response"]["status_code"] != 200) == is_error]
        path.write_text("".join(f"{json.dumps(result)}\n" for result in of_file), encoding="utf-8")

    again = ["--table", "@sums.py", *SUMS[1:]]
    assert run("join", *map(str, files), *again, *ids, "--out", f"{tmp_path}/a.parquet") == 0
    rendered = ["render", *SUMS, "--keep", "all", "--index", "sample", "--out", f"{tmp_path}/t.parquet"]
    assert run(*rendered) == 0
    table = ["--table", f"{tmp_path}/t.parquet"]
    assert run("join", *map(str, files), *table, *ids, "--out", f"{tmp_path}/b.jsonl") == 0

    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    by_id = {result["custom_id"]: result for result in results}
    assert len(rows) == 24
    for row in rows:
        result = by_id.get(f"sums-{row['id']}" if pattern else str(row["sample"]))
        if result is None:
            assert row["status"] == "missing"
        elif result["response"]["status_code"] != 200:
            assert (row["status"], row["error"]) == ("error", "too long")
        else:
            assert row["response"] == result["response"]["body"]["choices"][0]["message"]["content"]
    assert sum(row["status"] == "missing" for row in rows) == 2


def test_the_command_joins_ppl_and_says_what_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"prompt_template": {"A": "{question} A", "B": "{question} B"}, "mode": "ppl"}
    (tmp_path / "ppl.json").write_text(json.dumps(config), encoding="utf-8")
    given = [f"{tmp_path}/ppl.json", "--data", f"{EXAMPLES}/test.jsonl", "--limit", "2"]
    assert main(["export", "litellm-batch", *given, "--out", f"{tmp_path}/in.jsonl", "--model-name", "m"]) == 0
    assert "promptpress: 4 requests, " in capsys.readouterr().err
    ids = [json.loads(line)["custom_id"] for line in (tmp_path / "in.jsonl").read_text(encoding="utf-8").splitlines()]
    assert ids == ["0-A", "0-B", "1-A", "1-B"]
    results = [chat("1-A"), chat("0-B"), chat("5-A")]
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(result)}\n" for result in results), encoding="utf-8")
    table = ["--table", *given, "--out", f"{tmp_path}/joined.csv"]
    assert main(["join", f"{tmp_path}/out.jsonl", *table]) == 0
    errors = capsys.readouterr().err
    assert "promptpress: note: 1 result is of no row of the table, and left out: '5-A'" in errors
    assert "promptpress: 4 rows: 2 ok, 0 error, 2 missing; in " in errors


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["export", "openai-bach", *SUMS, "--out", "x.jsonl"], 2, "did you mean 'openai-batch'?"),
        (["export", "openai-batch", *SUMS, "--out", "x.jsonl"], 2, "--model-name: each request names the API's model"),
        (
            ["export", "sharegpt", *SUMS, "--out", "x.jsonl", "--model-name", "m"],
            2,
            "--model-name: not of sharegpt; it is for openai-batch",
        ),
        (["export", "datasets", *SUMS, "--out", "-"], 2, "--out -: datasets isn't JSON lines; name a folder"),
        (["export", "ray", *SUMS, "--out", "x.jsonl"], 2, "rows for Ray Data are .parquet or .arrow"),
        (["export", "openai-batch", *SUMS, "--out", "x", "--params", "{"], 2, "'{' is no JSON object"),
        (["export", "openai-batch", *SUMS, "--out", "x", "--params", "[]"], 2, "'[]' is no JSON object"),
        (["export", "openai-batch", *SUMS, "--out", "x", "--params-columns", "a"], 2, "'a' is no pair"),
        (
            ["export", "openai-batch", *SUMS, "--out", "x", "--model-name", "m", "--custom-id", "{idd}"],
            2,
            "--custom-id: neither the data nor the prompts have a column 'idd'; did you mean 'id'",
        ),
        (
            ["export", "openai-batch", *SUMS, "--out", "x", "--model-name", "m", "--model", "@chat_model.py"],
            3,
            "leave the model out, for a chat API has its own template",
        ),
        (["export", "openai-batch", *SUMS, "--out", "@sums.py", "--model-name", "m"], 2, "the same file as the input"),
        (["join", "@test.jsonl", "--table", "@train.jsonl", "--out", "@test.jsonl"], 2, "the same file as the input"),
        (
            ["export", "openai-batch", "--data", "@test.jsonl", "--out", "x", "--model-name", "m"],
            2,
            "neither CONFIG nor",
        ),
        (["join", "none.jsonl", "--table", "@test.jsonl", "--out", "x.jsonl"], 4, "none.jsonl: No such file"),
        (["join", "@test.jsonl", "--table", "@test.jsonl", "--out", "x.jsonl"], 4, "it is no result of a batch"),
        (["join", "@test.jsonl", "--table", "@test.jsonl", "--out", "x.jsonl", "--custom-id", "x"], 2, "--custom-id: "),
        *(
            (
                ["join", "@test.jsonl", "--table", "@test.jsonl", "--out", "x.jsonl", *words],
                2,
                f"{words[0]}: goes with --data",
            )
            for words in (
                ("--limit", "1"),
                ("--keep", "id"),
                ("--output", "text"),
                ("--examples", "@train.jsonl"),
                ("--model", "@chat_model.py"),
                ("--mode", "gen"),
            )
        ),
    ],
)
def test_what_the_commands_refuse(  # noqa: PLR0917 - fixtures
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Any,
    code: int,
    error: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words) == code
    assert error in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_template_with_shots_becomes_a_chat(tmp_path: Path) -> None:
    out = tmp_path / "in.jsonl"
    template = ["--template", "Q: {question}", "--system", "Be brief.", "--answer", "answer", "--shots", "2"]
    files = ["--examples", "@train.jsonl", "--data", "@test.jsonl", "--out", str(out), "--model-name", "m"]
    assert run("export", "openai-batch", *template, *files) == 0
    first = json.loads(out.read_text(encoding="utf-8").splitlines()[0])["body"]["messages"]
    assert [message["role"] for message in first] == ["system", *("user", "assistant") * 2, "user"]
    (tmp_path / "out.jsonl").write_text(json.dumps(chat("5", "x")), encoding="utf-8")
    assert run("join", f"{tmp_path}/out.jsonl", "--table", "@test.jsonl", "--out", f"{tmp_path}/a.jsonl") == 0
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["response"] for row in rows] == [*[None] * 5, "x", *[None] * 18]


def test_standard_output_takes_all_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("export", "openai-batch", *SUMS, "--out", "-", "--model-name", "m") == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 24


def test_half_a_character_costs_no_other_answer() -> None:
    results = [chat("0", "cut \ud83d"), chat("1", "\U0001f600")]
    with pytest.warns(pp.PromptWarning, match=r"1 result has half a character .*, which is now U\+FFFD"):
        joined = export.join([json.loads(json.dumps(result)) for result in results], TABLE, raw=True)
    assert joined["response"].to_pylist()[:2] == ["cut \ufffd", "\U0001f600"]


def test_values_of_other_types_cost_no_other_answer() -> None:
    def result_of(body: Any) -> dict[str, Any]:
        return {"custom_id": "0", "response": {"status_code": 200, "body": body}}

    for body, status in (
        ({"choices": [{"text": "a"}], "usage": {"prompt_tokens": 2**70}}, "ok"),
        ({"choices": [{"text": "a", "finish_reason": 5}]}, "ok"),
        ({"choices": [{"message": {"content": None, "refusal": ["no"]}}]}, "ok"),
        ({"choices": {"0": {}}}, "error"),
        ({"choices": 5}, "error"),
    ):
        assert export.join([result_of(body)], TABLE)["status"].to_pylist()[0] == status


def test_choices_stand_in_the_order_of_their_indices() -> None:
    choices = [{"index": 1, "text": "second"}, {"index": 0, "text": "first"}]
    result = {"custom_id": "0", "response": {"status_code": 200, "body": {"choices": choices}}}
    assert export.join(result, TABLE, choices=True)["response"][0].as_py() == ["first", "second"]
    with pytest.warns(pp.PromptWarning, match="more than one choice"):
        assert export.join(result, TABLE)["response"][0].as_py() == "first"


def test_results_may_be_compressed_matched_or_piped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"{json.dumps(chat(str(row), f'answer {row}'))}\n".encode() for row in range(2)]
    (tmp_path / "out-0.jsonl").write_bytes(texts[0])
    (tmp_path / "out-1.jsonl.gz").write_bytes(gzip.compress(texts[1]))
    expected = export.join([tmp_path / "out-0.jsonl", tmp_path / "out-1.jsonl.gz"], TABLE)
    assert expected["response"].to_pylist()[:2] == ["answer 0", "answer 1"]
    assert export.join(f"{tmp_path}/out-*", TABLE).equals(expected)
    with pytest.raises(pp.RenderError, match="no file matches the pattern"):
        export.join(f"{tmp_path}/in-*", TABLE)
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(texts[1])[:-20])
    with pytest.raises(pp.RenderError, match=r"cut\.jsonl\.gz: "):
        export.join(tmp_path / "cut.jsonl.gz", TABLE)

    pq.write_table(TABLE, tmp_path / "t.parquet")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(texts[0])))
    assert main(["join", "-", "--table", f"{tmp_path}/t.parquet", "--out", f"{tmp_path}/a.jsonl"]) == 0
    assert ": 1 ok, 0 error, " in capsys.readouterr().err
    given = ["join", f"{tmp_path}/out-*", "--table", f"{tmp_path}/t.parquet"]
    assert main([*given, "--out", f"{tmp_path}/out-0.jsonl"]) == 2
    assert "the same file as the input" in capsys.readouterr().err


def test_results_are_not_held_whole() -> None:
    held = list(read_results(iter([chat("0"), failed("1")])))
    assert [result.raw for result in held] == [None, None]
    assert [json.loads(result.raw or "") for result in read_results([chat("0")], raw=True)] == [chat("0")]


def test_a_body_may_be_an_object_of_a_client_library() -> None:
    class Completion:
        def model_dump(self) -> dict[str, Any]:
            return chat("0", "hi")["response"]["body"]  # type: ignore[no-any-return]

    result = {"custom_id": "0", "response": {"status_code": 200, "body": Completion()}, "error": None}
    assert export.join([result], TABLE)["response"].to_pylist()[0] == "hi"


REFUSAL = "I can't help with that."


@pytest.mark.parametrize(
    ("messages", "status", "response"),
    [
        ([{"content": None, "refusal": REFUSAL}], "refused", REFUSAL),
        ([{"refusal": REFUSAL}], "refused", REFUSAL),
        ([{"content": "", "refusal": REFUSAL}], "refused", REFUSAL),
        ([{"content": [{"type": "refusal", "refusal": REFUSAL}]}], "refused", REFUSAL),
        ([{"content": [{"type": "text", "text": "4"}, {"type": "refusal", "refusal": "x"}]}], "ok", "4"),
        ([{"content": "4", "refusal": None}], "ok", "4"),
        ([{"content": "4", "refusal": REFUSAL}], "ok", "4"),
        ([{"content": "", "refusal": None}], "ok", ""),
        ([{"content": None, "refusal": None, "tool_calls": []}], "ok", None),
        ([{"content": None, "refusal": REFUSAL}, {"content": "4"}], "ok", REFUSAL),
        ([{"content": "4"}, {"content": None, "refusal": REFUSAL}], "ok", "4"),
        ([{"content": None, "refusal": "a"}, {"content": None, "refusal": "b"}], "refused", "a"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*more than one choice")
def test_a_refusal_is_no_answer(
    messages: list[dict[str, Any]], status: str, response: str | None, tmp_path: Path
) -> None:
    choices = [{"index": n, "message": message, "finish_reason": "stop"} for n, message in enumerate(messages)]
    result = {"custom_id": "0", "response": {"status_code": 200, "body": {"choices": choices}}, "error": None}
    table = pa.table({"prompt": ["q"]})
    (row,) = export.join([result], table).to_pylist()
    assert (row["status"], row["response"], row["error"]) == (status, response, None)
    (tmp_path / "sent.jsonl").write_text('{"custom_id": "0", "body": {}}\n')
    export.join([result], table, requests=tmp_path / "sent.jsonl", retry=tmp_path / "retry.jsonl")
    assert (tmp_path / "retry.jsonl").read_text() == ""
