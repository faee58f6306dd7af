"""`--prices` and `--cache-control` of the command: bills of all kinds of sources, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from promptpress_workbench.cli import main

PRICES = """
currency: EUR
models:
  marked: {input: 2, output: 8, cached: 0.2, written: 2.5, cache: openai, minimum: 8}
  automatic: {input: 2, output: 8, cached: 1, batch: 0.5, minimum: 8, step: 1}
  plain: {input: 1, output: 1}
"""
SHORT = ["--template", "{q}", "--system", "{topic}: a long system prompt", "--output", "openai"]
PRICED = ["--prices", "prices.yaml"]
ROWS = 30


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"topic": f"topic {n % 3}", "q": f"question {n:04}", "answer": "four", "n": n} for n in range(ROWS)]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("prices.yaml").write_text(PRICES)


def bill(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["stats", *arguments, "--data", "data.jsonl", "--prices", "prices.yaml", "--json", "--quiet"])
    out = capsys.readouterr()
    assert code == 0, out.err
    return json.loads(out.out)["bill"]


def test_a_bill_has_a_model_a_row_and_both_orders(capsys: pytest.CaptureFixture[str]) -> None:
    marked, automatic, plain = bill(capsys, *SHORT, "--expected-output", "answer")["models"]
    system, question = 8, 4  # tokens, by four bytes each
    assert marked["input_tokens"] == ROWS * (system + question)
    assert marked["prefix_order"] == {
        "cached_tokens": (ROWS - 3) * system,
        "written_tokens": 3 * system,
        "input_cost": pytest.approx(((ROWS - 3) * 8 * 0.2 + 3 * 8 * 2.5 + ROWS * 4 * 2) / 1e6),
    }
    assert marked["file_order"] == marked["prefix_order"], "a beginning is kept for a thousand requests"
    assert marked["no_marks"] == {
        "cached_tokens": 0,
        "written_tokens": ROWS * (system + question),
        "input_cost": pytest.approx(ROWS * 12 * 2.5 / 1e6),
    }
    assert marked["output_tokens"] == ROWS
    # A service that compares tokens finds beginnings of questions, too.
    assert automatic["prefix_order"]["cached_tokens"] > (ROWS - 3) * system
    assert automatic["prefix_order"]["written_tokens"] == 0
    assert automatic["output_cost"] == ROWS * 8 / 1e6 / 2
    assert set(plain) == {"model", "input_tokens", "output_tokens", "output_cost", "no_cache"}


def test_expected_output_is_a_number_or_a_column_of_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert bill(capsys, *SHORT, "--expected-output", "7")["models"][0]["output_tokens"] == 7 * ROWS
    assert bill(capsys, *SHORT, "--expected-output", "n")["models"][0]["output_tokens"] == sum(range(ROWS))
    assert bill(capsys, *SHORT)["models"][0]["output_cost"] is None


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_file_of_messages_has_the_bill_of_what_made_it(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    want = bill(capsys, *SHORT)["models"]
    assert main(["render", *SHORT, "--data", "data.jsonl", "--out", f"p.{suffix}", "--quiet"]) == 0
    assert main(["stats", f"p.{suffix}", "--prices", "prices.yaml", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["bill"]["models"] == want
    export = [
        "export",
        "openai-batch",
        f"p.{suffix}",
        "--out",
        "in.jsonl",
        "--model-name",
        "marked",
        "--order",
        "prefix",
    ]
    assert main([*export, "--cache-control", "auto", "--prices", "prices.yaml"]) == 0
    assert "(216 cached, 24 written)" in capsys.readouterr().err
    bodies = [json.loads(line)["body"] for line in Path("in.jsonl").read_text().splitlines()]
    assert len({body["prompt_cache_key"] for body in bodies}) == 3


def test_a_file_of_texts_has_a_bill_in_file_order_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--template", "{topic} {q}", "--data", "data.jsonl", "--out", "p.parquet", "--quiet"]) == 0
    assert main(["stats", "p.parquet", "--prices", "prices.yaml", "--json", "--quiet"]) == 0
    models = json.loads(capsys.readouterr().out)["bill"]["models"]
    assert not any("prefix_order" in model for model in models)


def test_media_count_for_nothing_and_calls_and_parameters_of_all_for_their_texts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 8000}}
    call = {"type": "function", "id": "1", "function": {"name": "four", "arguments": "x" * 36}}
    talks = [
        [{"role": "user", "content": [{"type": "text", "text": "four"}, image]}],
        [{"role": "user", "content": "four"}, {"role": "assistant", "content": None, "tool_calls": [call]}],
    ]
    Path("talks.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks))
    tools = [{"type": "function", "function": {"name": "look"}}]
    assert main(["stats", "talks.jsonl", "--prices", "prices.yaml", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["bill"]["models"][0]["input_tokens"] == 1 + 1 + 10
    export = ["export", "openai-batch", "talks.jsonl", "--out", "in.jsonl", "--model-name", "plain"]
    assert main([*export, "--params", json.dumps({"tools": tools}), "--prices", "prices.yaml"]) == 0
    of_tools = -(-len(json.dumps(tools)) // 4)
    assert f"plain: {12 + 2 * of_tools} tokens" in capsys.readouterr().err


def test_rows_that_fail_cost_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    source = ["--jinja", "{{ 1 // n }} and a text", "--output", "text"]
    assert bill(capsys, *source[:2])["requests"] == ROWS - 1


def test_the_page_and_an_export_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", *SHORT, "--data", "data.jsonl", "--prices", "prices.yaml", "--expected-output", "9"]) == 0
    page = capsys.readouterr().out
    assert "the bill of 30 requests, in tokens: an estimate" in page
    assert "marked     prefix order" in page
    export = ["export", "openai-batch", *SHORT, "--data", "data.jsonl", "--out", "in.jsonl", "--model-name", "marked"]
    costs = ["--prices", "prices.yaml", "--expected-output", "9", "--order", "prefix"]
    assert main([*export, *costs, "--cache-control", "auto"]) == 0
    text = capsys.readouterr().err
    assert "marked: 360 tokens, estimated as 4 bytes each (216 cached, 24 written), 270 of answers" in text
    assert "cache: the shared beginnings of 30 of 30 requests are marked" in text


@pytest.mark.parametrize(
    ("form", "key", "mark"),
    [
        ("openai-batch", "messages", {"prompt_cache_breakpoint": {"mode": "explicit"}}),
        ("openai-responses", "input", {"prompt_cache_breakpoint": {"mode": "explicit"}}),
        ("anthropic-batch", "system", {"cache_control": {"type": "ephemeral"}}),
    ],
)
def test_the_system_text_that_requests_share_is_marked_in_each_form(form: str, key: str, mark: dict[str, Any]) -> None:
    export = ["export", form, *SHORT, "--data", "data.jsonl", "--out", "in.jsonl", "--model-name", "marked", "--quiet"]
    more = ["--params", '{"max_tokens": 9}'] if form == "anthropic-batch" else []
    assert main([*export, *more, "--prices", "prices.yaml", "--order", "prefix", "--cache-control", "auto"]) == 0
    lines = [json.loads(line) for line in Path("in.jsonl").read_text().splitlines()]
    assert len(lines) == ROWS
    for line in lines:
        body = line.get("body") or line["params"]
        content = body["system"] if key == "system" else body[key][0]["content"]
        (part,) = content
        assert part == {"type": part["type"], "text": part["text"], **mark}
        assert part["text"].endswith("a long system prompt")
        assert str(body["messages" if key == "system" else key][-1]).count("question") == 1
        assert (body.get("prompt_cache_options") == {"mode": "explicit"}) == form.startswith("openai")


def test_requests_without_marks_cost_what_the_service_does_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.yaml").write_text(PRICES + "  claude: {input: 2, output: 8, cached: 1, cache: anthropic, minimum: 8}")
    export = ["export", "openai-batch", *SHORT, "--data", "data.jsonl", "--out", "in.jsonl", "--prices", "prices.yaml"]
    assert main([*export, "--model-name", "marked"]) == 0
    text = capsys.readouterr().err
    assert "marked: 360 tokens, estimated as 4 bytes each (0 cached, 360 written) without --cache-control" in text
    assert main([*export, "--model-name", "claude"]) == 0
    assert "claude: 360 tokens, estimated as 4 bytes each, answers not counted: 0.0007 EUR" in capsys.readouterr().err


def test_a_price_without_marks_leaves_keys_alone() -> None:
    export = [
        "export",
        "openai-batch",
        *SHORT,
        "--data",
        "data.jsonl",
        "--out",
        "in.jsonl",
        "--model-name",
        "automatic",
    ]
    assert main([*export, "--prices", "prices.yaml", "--order", "prefix", "--cache-control", "auto", "--quiet"]) == 0
    bodies = [json.loads(line)["body"] for line in Path("in.jsonl").read_text().splitlines()]
    assert {type(message["content"]) for body in bodies for message in body["messages"]} == {str}
    assert len({body["prompt_cache_key"] for body in bodies}) == 3
    assert not any("prompt_cache_options" in body for body in bodies)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stats", *SHORT, "--expected-output", "3"], "--expected-output: is for --prices"),
        (["stats", *SHORT, "--prices", "prices.yaml", "--expected-output", "answr"], "did you mean 'answer'"),
        (["stats", *SHORT, "--prices", "none.yaml"], "none.yaml"),
        (
            ["export", "openai-batch", *SHORT, "--out", "o", "--model-name", "markd", "--prices", "prices.yaml"],
            "no price of the model 'markd'; did you mean 'marked'?",
        ),
        (
            ["export", "openai-batch", *SHORT, "--out", "o", "--params-columns", "model=topic", *PRICED],
            "each model has prices",
        ),
        (
            [
                "export",
                "openai-batch",
                *SHORT,
                "--out",
                "o",
                "--model-name",
                "plain",
                *PRICED,
                "--expected-output",
                "-1",
            ],
            "neither a number of tokens nor a column",
        ),
        (["export", "sharegpt", *SHORT, "--out", "o", "--answer", "answer", "--prices", "prices.yaml"], "--prices"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--data", "data.jsonl"]) in (2, 3)
    assert message in capsys.readouterr().err
    assert not Path("o").exists()
