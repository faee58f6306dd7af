"""Requests of services read back by the types of their own packages, and results in these types joined."""

from __future__ import annotations

import base64
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.batches import (
    RESULT_FORMS,
    as_json,
    normal,
    odd_messages,
    plain,
    read_back,
    results,
    rows,
    without_details,
)
from promptpress import export
from promptpress_workbench.export.forms import EXPORTS

ROWS = part_of(10_000)


def requests(folder: Path, form: str, *, body: dict[str, Any] | None = None) -> tuple[list[Any], list[Any]]:
    """Write random rows in a form; return them and the lines."""
    given = rows(5, form, ROWS)
    columns: dict[str, Any] = {key: [as_json(row[key]) for row in given] for key in ("messages", "tools")}
    table = pa.table(columns)
    if form != "gemini-batch":
        table = table.append_column("cache_marks", pa.array([row["marks"] for row in given], pa.list_(pa.int32())))
    options = {} if form == "gemini-batch" else {"model": "m"}
    written = EXPORTS[form].load()(
        table, folder / "in.jsonl", body=body, prompt="messages", form="messages_json", **options
    )
    lines = [json.loads(line) for path in written.paths for line in Path(path).read_bytes().splitlines()]
    assert len(lines) == len(given)
    return given, lines


def odd_lines(folder: Path, form: str) -> list[Any]:
    """Return the lines of odd rows that a form takes."""
    draw, lines = random.Random(form), []
    options = {} if form == "gemini-batch" else {"model": "m"}
    body = {"max_tokens": 5} if form == "anthropic-batch" else None
    for _ in range(ROWS):
        table = pa.table({"prompt": [as_json(odd_messages(draw))]})
        with suppress(pp.RenderError):
            EXPORTS[form].load()(table, folder / "odd.jsonl", body=body, form="messages_json", **options)
            lines.append(json.loads((folder / "odd.jsonl").read_bytes()))
    assert len(lines) > ROWS / 100
    return lines


def test_responses(tmp_path: Path) -> None:
    params = pytest.importorskip("openai.types.responses.response_create_params")
    adapter = pytest.importorskip("pydantic").TypeAdapter(params.ResponseCreateParamsNonStreaming)
    body = {"max_output_tokens": 5, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}}
    for given, line in zip(*requests(tmp_path, "openai-responses", body=body), strict=True):
        assert line["url"] == "/v1/responses"
        assert plain(adapter.validate_python(line["body"])) == line["body"]
        assert read_back("openai-responses", line) == normal(given)
    for line in odd_lines(tmp_path, "openai-responses"):
        assert plain(adapter.validate_python(line["body"])) == line["body"]


def test_marks_of_chats(tmp_path: Path) -> None:
    params = pytest.importorskip("openai.types.chat.completion_create_params")
    adapter = pytest.importorskip("pydantic").TypeAdapter(params.CompletionCreateParamsNonStreaming)
    _, lines = requests(tmp_path, "openai-batch")
    for line in lines:
        assert plain(adapter.validate_python(line["body"])) == line["body"]
    assert sum("prompt_cache_breakpoint" in json.dumps(line) for line in lines) > len(lines) / 4


def test_anthropic(tmp_path: Path) -> None:
    params = pytest.importorskip("anthropic.types.messages.batch_create_params")
    adapter = pytest.importorskip("pydantic").TypeAdapter(params.Request)
    body = {"max_tokens": 5, "stop_sequences": ["\n"], "tool_choice": {"type": "auto"}}
    for given, line in zip(*requests(tmp_path, "anthropic-batch", body=body), strict=True):
        assert plain(adapter.validate_python(line)) == line
        assert read_back("anthropic-batch", line) == normal(given)
    for line in odd_lines(tmp_path, "anthropic-batch"):
        assert plain(adapter.validate_python(line)) == line


def test_gemini(tmp_path: Path) -> None:
    """Besides, the package writes of its own objects what the form writes."""
    types = pytest.importorskip("google.genai.types")
    batches = pytest.importorskip("google.genai.batches")
    body = {"generationConfig": {"maxOutputTokens": 5, "stopSequences": ["\n"], "candidateCount": 2}}
    for given, line in zip(*requests(tmp_path, "gemini-batch", body=body), strict=True):
        assert read_back("gemini-batch", line) == without_details(normal(given))
        request = dict(line["request"])
        config = {**request.pop("generationConfig"), **request}
        contents = config.pop("contents")
        inlined = types.InlinedRequest.model_validate_json(json.dumps({"contents": contents, "config": config}))
        sent = batches._InlinedRequest_to_mldev(None, inlined)["request"]
        assert _as_json(sent) == _as_json(line["request"])
    for line in odd_lines(tmp_path, "gemini-batch"):
        for content in line["request"]["contents"]:
            types.Content.model_validate_json(json.dumps(content))


def _as_json(value: Any) -> Any:
    """Return what the package sends as plain values, with the letters of base64 that it takes."""
    if hasattr(value, "model_dump"):
        return _as_json(value.model_dump(mode="json", by_alias=True, exclude_none=True))
    if isinstance(value, dict):
        given = {key: _as_json(item) for key, item in value.items() if item is not None}
        return (
            {**given, "data": given["data"].translate(_URL_SAFE)} if "mimeType" in given and "data" in given else given
        )
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return [_as_json(item) for item in value] if isinstance(value, list) else value


_URL_SAFE = str.maketrans("+/", "-_")


@pytest.mark.parametrize("form", RESULT_FORMS)
def test_results_of_the_packages_types(form: str) -> None:
    given, expected = results(6, form, part_of(4_000))
    lines = list(map(_typed, given))
    table = pa.table({"prompt": ["x"] * len(expected)})
    joined = export.join(lines, table, choices=True).drop_columns("prompt").to_pylist()
    assert joined == [{name: row.get(name) for name in joined[0]} for row in expected]


def _typed(line: dict[str, Any]) -> Any:
    """Return a result with the objects of a service's package in it."""
    if "result" in line:
        batches = pytest.importorskip("anthropic.types.messages")
        return batches.MessageBatchIndividualResponse.model_validate(line)
    if "key" in line:
        types = pytest.importorskip("google.genai.types")
        name, model = ("response", types.GenerateContentResponse) if "response" in line else (None, None)
        return (
            line
            if name is None
            else {
                **line,
                name: model.model_validate(line[name]).model_dump(mode="json", by_alias=True, exclude_none=True),
            }
        )
    body = (line["response"] or {}).get("body") or {}
    if "output" in body:
        model = pytest.importorskip("openai.types.responses").Response
    elif "choices" in body:
        model = pytest.importorskip("openai.types.chat").ChatCompletion
    else:
        return line
    return {**line, "response": {**line["response"], "body": model.model_validate(body)}}
