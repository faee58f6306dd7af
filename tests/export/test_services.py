"""Requests of the Responses API, Anthropic and Gemini: what they say, what is refused, and their results."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.batches import (
    FORMS,
    RESULT_FORMS,
    as_json,
    normal,
    odd_messages,
    read_back,
    results,
    rows,
    without_details,
)
from promptpress import export
from promptpress_workbench.cli.process import main
from promptpress_workbench.export.forms import EXPORTS
from promptpress_workbench.export.message_columns import MessageMembers
from promptpress_workbench.export.services import SERVICES

BODIES: dict[str, dict[str, Any]] = {"anthropic-batch": {"max_tokens": 9}}
TEXT, SYSTEM = {"role": "user", "content": "a"}, {"role": "system", "content": "s"}
LISTS = pa.list_(pa.int32())
BLUE = {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,AA=="}}


def requests(folder: Path, kind: str, table: pa.Table, **options: Any) -> list[Any]:
    given = {} if kind == "gemini-batch" else {"model": "m"}
    body = {**BODIES.get(kind, {}), **options.pop("body", {})}
    written = EXPORTS[kind].load()(table, folder / "in.jsonl", **given, body=body, **options)
    out = [json.loads(line) for path in written.paths for line in Path(path).read_bytes().splitlines()]
    for path in written.paths:
        Path(path).unlink()
    return out


def table_of(given: list[dict[str, Any]], *, marks: bool = True) -> pa.Table:
    columns = {"prompt": [as_json(row["messages"]) for row in given], "tools": [as_json(row["tools"]) for row in given]}
    table = pa.table(columns)
    column = pa.array([row["marks"] for row in given], pa.list_(pa.int32()))
    return table.append_column("cache_marks", column) if marks else table


@pytest.mark.parametrize("form", FORMS)
def test_requests_say_what_the_rows_say(tmp_path: Path, form: str) -> None:
    given = rows(1, form, 60)
    table = table_of(given, marks=form != "gemini-batch")
    for number, line in enumerate(requests(tmp_path, form, table, form="messages_json")):
        expected = normal(given[number])
        assert read_back(form, line) == (without_details(expected) if form == "gemini-batch" else expected)
        assert line.get("custom_id", line.get("key")) == str(number)


@pytest.mark.parametrize("form", ["openai-batch", *FORMS])
def test_columns_of_texts_give_what_single_messages_give(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = rows(2, "openai-responses" if form == "openai-batch" else form, 80, plain=True)
    has_marks = form != "gemini-batch"
    table = pa.table({"prompt": [row["messages"] for row in given]})
    if has_marks:
        marks = pa.array([row["marks"] or None for row in given], pa.list_(pa.int32()))
        table = table.append_column("cache_marks", marks)
    made = [requests(tmp_path, form, part) for part in (table, table.slice(3, 70))]
    refused = []
    monkeypatch.setattr(MessageMembers, "_of_plain", lambda *_: refused.append(1))
    assert [requests(tmp_path, form, part) for part in (table, table.slice(3, 70))] == made
    assert refused
    if form in FORMS:
        assert [read_back(form, line)["messages"] for line in made[0]] == [normal(row)["messages"] for row in given]


@pytest.mark.parametrize("form", FORMS)
def test_parts_may_be_structs(tmp_path: Path, form: str) -> None:
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "https://a/b.png"}}]
    talk = {"messages": [message("system", [parts[0]]), message("user", parts)], "tools": [], "marks": []}
    (line,) = requests(tmp_path, form, pa.table({"prompt": [talk["messages"]]}))
    expected = normal(talk)
    assert read_back(form, line) == (without_details(expected) if form == "gemini-batch" else expected)


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_one_message(tmp_path: Path, form: str) -> None:
    texts = ["1+1=?", '"\n']
    for strings in (pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        lines = requests(tmp_path, form, pa.table({"prompt": pa.array(texts).cast(strings)}))
        assert [read_back(form, line)["messages"] for line in lines] == [[("user", None, [("text", t)])] for t in texts]


def test_parameters_are_put_where_a_service_has_them(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "room": [5, None], "how": ["low", "high"]})
    body = {"generation_config": {"temperature": 0.5}, "generationConfig.topP": 1, "safetySettings": []}
    columns = {"generationConfig.maxOutputTokens": "room"}
    sent = [line["request"] for line in requests(tmp_path, "gemini-batch", table, body=body, body_columns=columns)]
    fixed = {"temperature": 0.5, "topP": 1}
    assert [line["generationConfig"] for line in sent] == [{**fixed, "maxOutputTokens": 5}, fixed]
    sent = [line["request"] for line in requests(tmp_path, "gemini-batch", table, body_columns=columns)]
    assert [line.get("generationConfig") for line in sent] == [{"maxOutputTokens": 5}, None]
    columns = {"reasoning.effort": "how", "max_output_tokens": "room"}
    sent = requests(tmp_path, "openai-responses", table, body={"reasoning.summary": "auto"}, body_columns=columns)
    assert sent[1]["body"] == {
        **{"model": "m", "input": [{"role": "user", "content": "b"}]},
        "reasoning": {"summary": "auto", "effort": "high"},
    }
    config = {"temperature": 0.5}
    given = {"generationConfig": config, "generationConfig.topP": 1}
    requests(tmp_path, "gemini-batch", table, body=given, body_columns={"generationConfig.maxOutputTokens": "room"})
    assert (config, list(given)) == ({"temperature": 0.5}, ["generationConfig", "generationConfig.topP"])
    columns = {"generationConfig.topP": "room"}
    with pytest.raises(pp.TemplateError, match=r"'generationConfig\.topP' is given twice"):
        requests(tmp_path, "gemini-batch", table, body={"generationConfig": {"topP": 1}}, body_columns=columns)
    sent = requests(tmp_path, "anthropic-batch", table, body={"system": "s", "stop_sequences": ["x"]})
    assert sent[0]["params"]["system"] == "s"


@pytest.mark.parametrize(
    ("form", "options", "error"),
    [
        (
            "openai-responses",
            {"body": {"max_tokens": 5}},
            "'max_tokens': the Responses API calls it 'max_output_tokens'",
        ),
        ("openai-responses", {"body": {"stop": "x"}}, "'stop': the Responses API has no such parameter"),
        ("openai-responses", {"body": {"response_format": {}}}, "calls it 'text.format'"),
        ("openai-responses", {"body": {"input": []}}, "'input': the prompts are it"),
        ("openai-responses", {"argument_columns": {"*": "room"}}, "the Responses API has `tools` alone"),
        ("anthropic-batch", {"body": {"max_output_tokens": 5}}, "Anthropic calls it 'max_tokens'"),
        ("anthropic-batch", {"body": {"stop": "x"}}, "Anthropic calls it 'stop_sequences'"),
        ("anthropic-batch", {"body": {"n": 2}}, "Anthropic has no such parameter"),
        ("gemini-batch", {"body": {"max_tokens": 5}}, "calls it 'generationConfig.maxOutputTokens'"),
        ("gemini-batch", {"body_columns": {"temperature": "room"}}, "calls it 'generationConfig.temperature'"),
        ("gemini-batch", {"body": {"model": "m"}}, "the model is named when the batch is created"),
        ("gemini-batch", {"body": {"a.b": 1, "a": 2}}, "'a' is given twice"),
        ("gemini-batch", {"body": {"a.b": 1, "a": {"b": 2}}}, "'a.b' is given twice"),
        (
            "gemini-batch",
            {"body": {"generation_config": 1, "generationConfig": 1}},
            "'generationConfig' is given twice",
        ),
        ("gemini-batch", {"body": {"generationConfig": {"top_k": 1, "topK": 1}}}, "'generationConfig.topK' is given"),
        ("gemini-batch", {"body": {"contents.x": 1}}, "'contents': the prompts are it"),
        ("openai-batch", {"body": {"x": {1: 0, "1": 0}}}, "it has '1' twice"),
        ("openai-batch", {"body": {"chat_template_kwargs": 1}, "argument_columns": {"*": "room"}}, "is given twice"),
        ("openai-batch", {"argument_columns": {"model": "room"}}, "argument_columns: 'model': model= says it"),
        ("openai-responses", {"body": {"generationConfig": {"temperature": 0}}}, "calls it 'temperature'"),
        ("anthropic-batch", {"body": {"generation_config.top_k": 5}}, "calls it 'top_k'"),
        ("openai-responses", {"body": {"reasoning": {"max_tokens": 5}}}, "calls it 'max_output_tokens'"),
        ("openai-responses", {"body": {"generationConfig": {"x": 0}}}, "has no such parameter"),
        ("openai-responses", {"body": {"thinking": {}}}, "calls it 'reasoning'"),
        ("openai-responses", {"body": {"messages": []}}, "calls it 'input'"),
        ("anthropic-batch", {"body": {"text": {"format": {}}}}, "'text.format': Anthropic calls it"),
        ("gemini-batch", {"body": {"generationConfig": {"max_tokens": 5}}}, "calls it 'generationConfig.maxOutputTo"),
        ("gemini-batch", {"body_columns": {"generation_config.stop": "room"}}, "'generationConfig.stopSequences'"),
        ("gemini-batch", {"body": {"thinking": {}}}, "calls it 'generationConfig.thinkingConfig'"),
        ("gemini-batch", {"body": {"input": []}}, "calls it 'contents'"),
        ("openai-batch", {"body": {"contents": []}}, "OpenAI has no such parameter"),
    ],
)
def test_parameters_of_other_services(tmp_path: Path, form: str, options: dict[str, Any], error: str) -> None:
    table = pa.table({"prompt": ["a"], "room": [5]})
    with pytest.raises(pp.TemplateError, match=error):
        requests(tmp_path, form, table, **options)
    assert list(tmp_path.iterdir()) == []


PATHS = ("a", "a.b", "a.b.c", "a.c", "n", "generationConfig", "generation_config.top_k", "generationConfig.topK")


@pytest.mark.parametrize("form", ["openai-batch", *FORMS])
def test_no_key_is_in_an_object_twice(tmp_path: Path, form: str) -> None:
    def value(depth: int) -> Any:
        names = draw.sample(["b", "c", "topK", "top_k", "b.c", 1], draw.randrange(3))
        return {name: value(depth + 1) for name in names} if depth < 3 and draw.random() < 0.6 else 1

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(pairs) == len(dict(pairs))
        return dict(pairs)

    def leaves(given: Any) -> int:
        return sum(map(leaves, given.values())) if isinstance(given, dict) else 1

    def size(given: Any) -> int:
        return leaves(json.loads(json.dumps(given)))

    draw, sent, refused = random.Random(form), 0, 0
    path = tmp_path / "in.jsonl"
    system = {"systemInstruction": 0, "system": 0, "tools": 0, "chat_template_kwargs": 0, "messages": 0, "model": 0}
    for _ in range(part_of(1200)):
        body = {name: value(0) for name in draw.sample(PATHS, draw.randrange(3))}
        body |= dict.fromkeys(draw.sample([*system], draw.random() < 0.2), 0)
        columns = {draw.choice([*PATHS, "system.parts", "systemInstruction.parts"]): "x"}
        arguments = draw.choice([None, {}, {"tools": "tools"}, {"*": "y"}, {"a": "y"}, {"n": "y"}])
        talk = draw.choice([[TEXT], [SYSTEM, TEXT]])
        tools = [] if draw.random() < 0.5 else [{"type": "function", "function": {"name": "f"}}]
        table = pa.table({"prompt": [talk], "x": [7], "y": ['{"k": 1}'], "tools": [json.dumps(tools)]})
        model = {} if form == "gemini-batch" else {"model": "m"}
        given = {**BODIES.get(form, {}), **body}
        try:
            written = EXPORTS[form].load()(
                table, path, **model, body=given, body_columns=columns, argument_columns=arguments
            )
        except (pp.TemplateError, pp.RenderError):
            refused += 1
            continue
        line = json.loads(Path(written.paths[0]).read_text(encoding="utf-8"), object_pairs_hook=unique)
        made = line.get("body") or line.get("params") or line["request"]
        others = {"messages", "input", "contents", "model", "tools", "system", "systemInstruction"} - {*body}
        others -= {name.partition(".")[0] for name in columns}
        others |= set() if arguments is None else {{"*": "chat_template_kwargs"}.get(name, name) for name in arguments}
        assert sum(size(item) for name, item in made.items() if name not in others) == size(given) + 1
        sent += 1
    assert sent > 10
    assert refused > 10


def test_names_in_data_stay_as_they_are(tmp_path: Path) -> None:
    body = {
        "labels.my_label": "a",
        "generation_config.response_json_schema.properties.first_name": {"max_tokens": 1},
        "generation_config": {"response_logprobs": True, "logprobs": 2},
        "safety_settings": [{"x_y": 1}],
    }
    (line,) = requests(tmp_path, "gemini-batch", pa.table({"prompt": ["a"]}), body=body)
    del line["request"]["contents"]
    assert line["request"] == {
        "labels": {"my_label": "a"},
        "generationConfig": {
            "responseJsonSchema": {"properties": {"first_name": {"max_tokens": 1}}},
            "responseLogprobs": True,
            "logprobs": 2,
        },
        "safetySettings": [{"x_y": 1}],
    }
    requests(tmp_path, "openai-responses", pa.table({"prompt": ["a"]}), body={"metadata": {"seed": "1"}, "top_p": 1})


def test_tools_and_marks_are_of_rows_or_of_all(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a"], "tools": ["[]"], "cache_marks": pa.array([[1]], LISTS), "room": [9]})
    for options in ({"body": {"tools": []}}, {"body_columns": {"tools": "room"}}, {"body": {"tools.x": 1}}):
        with pytest.raises(pp.TemplateError, match="the tools of the rows are in the column 'tools'; leave one out"):
            requests(tmp_path, "anthropic-batch", table, **options)
        requests(tmp_path, "anthropic-batch", table, **options, argument_columns={})
    with pytest.raises(pp.TemplateError, match="'cache_control': the marks of the rows are in the column"):
        requests(tmp_path, "anthropic-batch", table, body={"cache_control": {"type": "ephemeral"}})
    with pytest.raises(pp.TemplateError, match="requires 'max_tokens'"):
        requests(tmp_path, "anthropic-batch", table, body={"max_tokens": None})
    with pytest.raises(pp.TemplateError, match="model: the model is named when the batch is created"):
        export.gemini_batch(table, tmp_path / "in.jsonl", **{"model": "m"})
    with pytest.raises(pp.RenderError, match="the system prompt is in the parameters already"):
        requests(tmp_path, "gemini-batch", TALK, body_columns={"systemInstruction.parts": "s"})


TALK = pa.table({"prompt": [[SYSTEM, TEXT]], "s": ["S"]})


def test_anthropic_needs_the_length_of_each_answer(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "room": [5, None]})
    with pytest.raises(pp.TemplateError, match="body: Anthropic requires 'max_tokens' in each request"):
        export.anthropic_batch(table, tmp_path / "in.jsonl", model="m")
    with pytest.raises(pp.RenderError, match='row 1, column "room": Anthropic requires it'):
        export.anthropic_batch(table, tmp_path / "in.jsonl", model="m", body_columns={"max_tokens": "room"})


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


CALL = message("assistant", None, tool_calls=[{"id": "c", "function": {"name": "f"}}])
AUDIO = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}


@pytest.mark.parametrize(
    ("forms", "messages", "error"),
    [
        (FORMS[1:], [TEXT, SYSTEM], "message 2, of 'system': the system prompt is one message, at the beginning"),
        (FORMS[1:], [SYSTEM, message("developer", "x"), TEXT], "message 2, of 'developer': the system prompt is one"),
        (FORMS[1:], [SYSTEM], "needs a message besides the system prompt"),
        (FORMS[1:], [TEXT, message("tool", "x", tool_call_id="c")], "message 2, of 'tool': there is no such message"),
        (
            FORMS[1:],
            [TEXT, message("assistant", "x", tool_calls=[{}])],
            "no place for 'tool_calls' in this form; write",
        ),
        (FORMS[1:], [TEXT, message("assistant", " \n")], "message 2, of 'assistant': its text is empty"),
        (FORMS[1:], [message("user", [{"type": "text", "text": ""}])], "message 1, of 'user': its text is empty"),
        (FORMS[1:], [message("system", [BLUE]), TEXT], "a part is one of 'text' with its value"),
        (
            FORMS[:1],
            [message("function", "x")],
            "message 1, of 'function': there is no such message in this form; .*openai-batch",
        ),
        (FORMS[:1], [message("tool", "x")], "message 1, of 'tool': there is no such message"),
        (FORMS[:1], [message("user", [AUDIO])], "a part is one of 'text', 'image_url', 'file' with its value"),
        (FORMS[:1], [message("assistant", [{"type": "text", "text": "a"}] * 2)], "one text; join its parts"),
        (FORMS[:1], [{**CALL, "tool_calls": [{"function": {}}]}], "a call is "),
        (FORMS, [message("user", "a", name="Ann")], "there is no place for 'name'"),
        (FORMS, [message("user", 5)], "a part is one of 'text'"),
        (FORMS, [message("user", [{"type": "video_url", "video_url": {}}])], "a part is one of 'text'"),
        (FORMS, [message("user", [{"type": "image_url", "image_url": {"url": "a.png"}}])], "a URL or a data URL"),
        (
            FORMS,
            [message("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}])],
            "isn't base",
        ),
        (
            FORMS,
            [message("user", [{"type": "file", "file": {"file_data": "data:application/pdf;base64,%%"}}])],
            "isn't",
        ),
        (FORMS[2:], [message("user", [{**AUDIO, "input_audio": {"data": "é", "format": "wav"}}])], "isn't base64"),
        (FORMS[1:2], [message("user", [BLUE])], "image_url takes image/jpeg, image/png, image/gif, image/webp, not"),
        (FORMS[1:2], [message("user", [{"type": "file", "file": {"file_id": "f"}}])], "a data URL in 'file_data'"),
        (FORMS[2:], [message("user", [{"type": "image_url", "image_url": {"url": "https://a/b"}}])], "give a data URL"),
    ],
)
def test_messages_that_a_service_has_no_place_for(
    tmp_path: Path, forms: tuple[str, ...], messages: list[Any], error: str
) -> None:
    table = pa.table({"prompt": [json.dumps([TEXT]), json.dumps(messages)]})
    for form in forms:
        with pytest.raises(pp.RenderError, match=f'row 1, column "prompt": .*{error}'):
            requests(tmp_path, form, table, form="messages_json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["openai-batch", *FORMS])
def test_odd_values_are_sent_or_refused_with_the_row(tmp_path: Path, form: str) -> None:
    draw = random.Random(form)
    sent, named = 0, set()
    for _ in range(part_of(1200)):
        talks = pa.table({"prompt": [json.dumps([TEXT]), json.dumps(odd_messages(draw))]})
        if form != "gemini-batch":
            talks = talks.append_column("cache_marks", pa.array([[], draw.choice([[1], [2], [], [0]])], LISTS))
        try:
            sent += len(requests(tmp_path, form, talks, form="messages_json"))
        except pp.RenderError as error:
            named.add((error.row, error.column))
    assert named == {(1, "prompt")}
    assert sent


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([TEXT, SYSTEM], "the system prompt is one message"),
        ([SYSTEM], "needs a message besides"),
        ([TEXT, message("user", "")], "message 2, of 'user': its text is empty"),
        ([TEXT, message("tool", "")], "message 2, of 'tool': there is no such message"),
    ],
)
@pytest.mark.parametrize("form", FORMS[1:])
def test_columns_of_messages_that_a_service_has_no_place_for(
    tmp_path: Path, form: str, messages: list[Any], error: str
) -> None:
    with pytest.raises(pp.RenderError, match=f'row 1, column "prompt": .*{error}'):
        requests(tmp_path, form, pa.table({"prompt": [[TEXT], messages]}))
    with pytest.raises(pp.RenderError, match=r'row 1, column "prompt": .* its text is empty'):
        requests(tmp_path, form, pa.table({"prompt": ["a", "\t"]}))
    body = {"system" if form == "anthropic-batch" else "system_instruction": "s"}
    with pytest.raises(pp.RenderError, match=r'row 0, column "prompt": .*the system prompt is in the parameters'):
        requests(tmp_path, form, pa.table({"prompt": [[SYSTEM, TEXT]]}), body=body)


TALKS = ((SYSTEM, TEXT, message("assistant", "b")),) * 2


def test_marks_that_no_request_can_have(tmp_path: Path) -> None:
    def marked(form: str, marks: pa.Array, prompts: Any = TALKS) -> Any:
        return requests(tmp_path, form, pa.table({"prompt": list(map(list, prompts)), "cache_marks": marks}))

    for form in ("openai-batch", "openai-responses"):
        with pytest.raises(
            pp.RenderError, match=r"row 1, .*message 3, of 'assistant': cache_marks: no mark stands here"
        ):
            marked(form, pa.array([[1], [3]]))
    for number in (0, 4, -1, None):
        with pytest.raises(pp.RenderError, match=rf"row 1, .*there is no message {number}; it has 3"):
            marked("anthropic-batch", pa.array([[3], [number]]))
    with pytest.raises(pp.RenderError, match=r"row 1, .*cache_marks: it has 5, and a request at most 4"):
        requests(
            tmp_path, "anthropic-batch", pa.table({"prompt": [[TEXT] * 5] * 2, "cache_marks": [[1], [1, 2, 3, 4, 5]]})
        )
    for form in ("gemini-batch", "vllm-batch", "litellm-batch"):
        with pytest.raises(pp.RenderError, match=r'column "cache_marks": .* no marks of cached beginnings'):
            marked(form, pa.array([[1], [1]]))
    with pytest.raises(pp.RenderError, match='column "cache_marks": it has lists of whole numbers, and it is int64'):
        marked("openai-batch", pa.array([1, 1]))
    (line,) = requests(tmp_path, "openai-batch", pa.table({"prompt": ["a"], "cache_marks": [[1]]}))
    talk = pa.table({"prompt": [[TEXT, {"role": "assistant", "content": None}]], "cache_marks": pa.array([[]], LISTS)})
    assert requests(tmp_path, "openai-batch", talk)[0]["body"]["messages"] == [TEXT, {"role": "assistant"}]
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    assert line["body"]["messages"] == [message("user", [{"type": "text", "text": "a", **mark}])]


@pytest.mark.parametrize(
    ("form", "tools", "error"),
    [
        ("anthropic-batch", [{"name": "f", "input_schema": {}}], "a tool is "),
        ("gemini-batch", [{"type": "function", "function": {"name": "f", "strict": True}}], "as 'f' is"),
        ("openai-responses", [{"type": "function", "function": {"name": "f", "x": 1}}], "no place for 'x'"),
        *(
            (form, [{"type": "function", "function": {"name": "f"}, "cache_control": {}}], "place for 'cache_control'")
            for form in FORMS
        ),
        ("anthropic-batch", [{"type": "function", "function": {"name": "f", "parameters": "{}"}}], "are an object"),
    ],
)
def test_tools_that_a_service_has_no_place_for(tmp_path: Path, form: str, tools: list[Any], error: str) -> None:
    table = pa.table({"prompt": ["a", "b"], "tools": [None, json.dumps(tools)]})
    with pytest.raises(pp.RenderError, match=f'row 1, column "tools": .* its tools: .*{error}'):
        requests(tmp_path, form, table)


def test_ids_may_be_made_of_prompts(tmp_path: Path) -> None:
    lines = requests(tmp_path, "gemini-batch", pa.table({"prompt": ["a", "b"]}), custom_id="{prompt}-")
    assert [line["key"] for line in lines] == ["a-", "b-"]


def test_limits_of_services(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "id": ["x-_9", "é"], "long": ["y", "y" * 65]})
    for pattern, error in (("{id}", "row 1: its custom_id 'é' has more than letters"), ("{long}", "row 1: .* 64 are")):
        with pytest.raises(pp.RenderError, match=error):
            requests(tmp_path, "anthropic-batch", table, custom_id=pattern)
        assert len(requests(tmp_path, "gemini-batch", table, custom_id=pattern)) == 2
    written = export.gemini_batch(table, tmp_path / "in.jsonl", max_requests=1)
    assert [Path(path).name for path in written.paths] == ["in-00000.jsonl", "in-00001.jsonl"]
    with pytest.raises(pp.TemplateError, match=r"openai_responses .* writes those"):
        export.openai_batch(table, tmp_path / "out.jsonl", model="m", url="/v1/responses")


@pytest.mark.parametrize("form", RESULT_FORMS)
def test_results_are_joined_like_in_plain_python(form: str) -> None:
    lines, expected = results(3, form, 200)
    table = pa.table({"prompt": ["x"] * len(expected)})
    joined = export.join(iter(lines), table, choices=True)
    assert joined.drop_columns("prompt").to_pylist() == [
        {name: row[name] if row["status"] != "missing" else row.get(name) for name in joined.column_names[1:]}
        for row in expected
    ]


@pytest.mark.parametrize("form", RESULT_FORMS)
def test_a_retry_has_the_form_of_what_was_sent(tmp_path: Path, form: str) -> None:
    lines, expected = results(4, form, 40)
    table = pa.table({"prompt": ["é"] * len(expected)})
    given = {} if form == "gemini-batch" else {"model": "m"}
    sent = EXPORTS[form].load()(table, tmp_path / "in.jsonl", **given, body=BODIES.get(form), max_requests=9).paths
    kept = [line for path in sent for line in Path(path).read_bytes().splitlines(keepends=True)]
    export.join(lines, table, choices=True, requests=sent, retry=tmp_path / "again.jsonl")
    again = [line for path in sorted(tmp_path.glob("again*")) for line in path.read_bytes().splitlines(keepends=True)]
    status = [row["status"] for row in expected]
    assert again == [line for line, word in zip(kept, status, strict=True) if word in ("error", "missing")]


@pytest.mark.parametrize("form", RESULT_FORMS)
def test_a_retry_of_another_service_is_refused(tmp_path: Path, form: str) -> None:
    lines, expected = results(5, form, 40)
    table, retry = pa.table({"prompt": ["é"] * len(expected)}), tmp_path / "again.jsonl"
    for other in {*RESULT_FORMS} - {form}:
        given = {} if other == "gemini-batch" else {"model": "m"}
        sent = EXPORTS[other].load()(table, tmp_path / f"{other}.jsonl", **given, body=BODIES.get(other)).paths
        titles = [SERVICES[name].title for name in (other, form)]
        wrong = r"line 1: it is a request to {}, and the results are of {}; name"
        with pytest.raises(pp.RenderError, match=wrong.format(*titles)):
            export.join(lines, table, choices=True, requests=sent, retry=retry)
        assert not retry.exists()


@pytest.mark.parametrize("form", FORMS)
def test_the_command_writes_what_python_does(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talks.jsonl").write_text("".join(as_json({"messages": [SYSTEM, TEXT]}) + "\n" for _ in range(3)))
    model = [] if form == "gemini-batch" else ["--model-name", "m"]
    params = ["--params", json.dumps(BODIES.get(form, {}))]
    given = ["talks.jsonl", "--column", "messages", *params, "--max-requests", "2", "--out", "a.jsonl", "--quiet"]
    assert main(["export", form, *given, *model]) == 0
    lines = [json.loads(line) for path in sorted(tmp_path.glob("a-*")) for line in path.read_bytes().splitlines()]
    assert lines == requests(tmp_path, form, pa.table({"prompt": [[SYSTEM, TEXT]] * 3}))
    assert main(["export", form, *given, *model, "--url", "/v1/completions"]) == 2
    assert f"--url: not of {form}" in capsys.readouterr().err
    if form == "gemini-batch":
        assert main(["export", form, *given, "--model-name", "m"]) == 2
        assert (
            "--model-name: not of gemini-batch; the model is named when the batch is created" in capsys.readouterr().err
        )
