"""Random rows for batches with their requests read back, and random results with the rows that `join` makes of them."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

FORMS = ("openai-responses", "anthropic-batch", "gemini-batch")
TEXTS = (
    "1+1=?",
    "é\u2028",
    '"\\',
    "😀 {q}",
    "\x00\x1f\x7f",
    "</s>\n\n",
    " two  words ",
    "答",
    "\ufeffx",
    "\\u0000",
    "'",
)
KINDS = {
    "openai-responses": ("text", "image_url", "file"),
    "anthropic-batch": ("text", "image_url", "file"),
    "gemini-batch": ("text", "image_url", "input_audio", "file"),
    "openai-batch": ("text", "image_url", "input_audio", "file"),
}
"""The kinds of parts that each form takes."""

Row = dict[str, Any]


def data(draw: random.Random) -> str:
    return base64.b64encode(draw.randbytes(draw.randrange(1, 9))).decode()


def part(draw: random.Random, form: str) -> Row:
    kind = draw.choice(KINDS[form])
    if kind == "text":
        return {"type": "text", "text": draw.choice(TEXTS)}
    if kind == "input_audio":
        return {"type": kind, kind: {"data": data(draw), "format": draw.choice(["wav", "mp3"])}}
    if kind == "file":
        named = {"filename": "é.pdf"} if draw.random() < 0.5 else {}
        return {"type": kind, kind: {"file_data": f"data:application/pdf;base64,{data(draw)}", **named}}
    url = draw.choice(["https://example.org/é.png?a=1", f"data:image/jpeg;base64,{data(draw)}"])
    detail = {"detail": draw.choice(["auto", "low"] if form == "openai-responses" else ["auto"])}
    return {"type": kind, kind: {"url": url, **(detail if draw.random() < 0.5 else {})}}


def row(draw: random.Random, form: str, *, plain: bool) -> Row:
    """Draw the messages, the tools and the marks of a row that a form takes; plain ones have texts and no tools."""
    messages: list[Row] = []
    if draw.random() < 0.5:
        parts = [{"type": "text", "text": draw.choice(TEXTS)} for _ in range(draw.randrange(1, 3))]
        content = draw.choice(TEXTS) if plain or draw.random() < 0.5 else parts
        messages.append({"role": draw.choice(["system", "developer"]), "content": content})
    for _ in range(draw.randrange(1, 5)):
        parts = [part(draw, form) for _ in range(draw.randrange(1, 4))]
        messages.append({"role": "user", "content": draw.choice(TEXTS) if plain or draw.random() < 0.4 else parts})
        if draw.random() < 0.6:
            messages.append({"role": "assistant", "content": draw.choice(TEXTS)})
        if form == "openai-responses" and not plain and draw.random() < 0.3:
            call = {"id": "call_é", "type": "function", "function": {"name": "f", "arguments": '{"x": 1.0}'}}
            messages.append({"role": "assistant", "content": draw.choice(["so", None]), "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "call_é", "content": draw.choice(TEXTS)})
    unmarked = ("assistant",) if form != "anthropic-batch" else ()
    numbers = [n for n, message in enumerate(messages, 1) if message["role"] not in unmarked]
    marks = sorted(draw.sample(numbers, min(len(numbers), draw.randrange(3))))
    tools = [tool(draw, form) for _ in range(0 if plain else draw.randrange(3))]
    return {"messages": messages, "tools": tools, "marks": [] if form == "gemini-batch" else marks}


def tool(draw: random.Random, form: str) -> Row:
    function: Row = {"name": draw.choice(["f", "look_up"])}
    if draw.random() < 0.7:
        function["description"] = draw.choice(TEXTS)
    if draw.random() < 0.7:
        function["parameters"] = {"type": "object", "properties": {"é": {"type": ["string", "null"]}}, "required": []}
    if form != "gemini-batch" and draw.random() < 0.5:
        function["strict"] = draw.random() < 0.5
    return {"type": "function", "function": function}


def rows(seed: int, form: str, count: int, *, plain: bool = False) -> list[Row]:
    draw = random.Random(f"{seed} {form}")
    return [row(draw, form, plain=plain) for _ in range(count)]


def odd_messages(draw: random.Random) -> list[Row]:
    """Draw messages that may have any value anywhere, as files of users have."""
    out = []
    for _ in range(draw.randrange(1, 4)):
        given: Row = {"role": draw.choice(["user", "user", "assistant", "system", "tool", "developer", "function"])}
        for key in ("content", "tool_calls", "tool_call_id", "name"):
            if draw.random() < (0.9 if key == "content" else 0.1):
                given[key] = odd_value(draw)
        out.append(given)
    return out


def odd_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.choice(KINDS["openai-batch"])
    plain: list[Any] = [None, 0, 1.5, True, "", " ", "a", "a", "a", "https://a/b.png", "data:image/png;base64,AA=="]
    keys = ("type", "text", "url", "detail", "file_data", "filename", "id", "function", "name", "arguments", "data")
    match draw.randrange(8 if depth < 4 else 1):
        case 0 | 1 | 2:
            return draw.choice(plain)
        case 3:
            return [odd_value(draw, depth + 1) for _ in range(draw.randrange(3))]
        case 4 | 5:
            return {draw.choice(keys): odd_value(draw, depth + 1) for _ in range(draw.randrange(3))}
        case 6:
            return {"type": kind, kind: odd_value(draw, depth + 1)}
        case _:
            return [{"type": "text", "text": "x"}, {"type": kind, kind: odd_value(draw, depth + 1)}]


def normal(given: Row) -> Row:
    """Return a row in the form in which `read_back` gives requests."""
    messages = []
    for number, message in enumerate(given["messages"], 1):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        role = "system" if message["role"] == "developer" else message["role"]
        parts = [_normal_part(item) for item in parts]
        if parts and number in given["marks"]:
            parts[-1] = (*parts[-1], "marked")
        if parts:
            messages.append((role, message.get("tool_call_id"), parts))
        for call in message.get("tool_calls") or ():
            messages.append(("call", call["id"], [call["function"]["name"], call["function"]["arguments"]]))
    return {"messages": messages, "tools": [_normal_tool(item["function"]) for item in given["tools"]]}


def _normal_tool(function: Row) -> Row:
    empty = {"type": "object", "properties": {}}
    return {"description": None, "strict": False, "parameters": empty, **function}


def _normal_part(item: Row) -> tuple[Any, ...]:
    kind = item["type"]
    if kind == "text":
        return ("text", item["text"])
    value = item[kind]
    if kind == "input_audio":
        return ("medium", f"data:audio/{value['format']};base64,{value['data']}", None)
    if kind == "file":
        return ("medium", value["file_data"], value.get("filename"))
    return ("medium", value["url"], value.get("detail", "auto"))


def read_back(form: str, line: Row) -> Row:
    """Return what a request says, whatever its form."""
    if form == "gemini-batch":
        return _of_gemini(line["request"])
    return _of_responses(line["body"]) if form == "openai-responses" else _of_anthropic(line["params"])


def _blocks(content: Any, mark: str) -> Iterator[tuple[Row, tuple[str, ...]]]:
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        given = dict(block)
        value = given.pop(mark, None)
        assert value in (None, {"mode": "explicit"}, {"type": "ephemeral"})
        yield given, () if value is None else ("marked",)


def _of_responses(body: Row) -> Row:
    messages: list[Any] = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            messages.append(("call", item["call_id"], [item["name"], item["arguments"]]))
            continue
        parts: list[Any] = []
        for block, mark in _blocks(item["output"] if "output" in item else item["content"], "prompt_cache_breakpoint"):
            kind = block.pop("type")
            if kind == "input_image":
                parts.append(("medium", block.pop("image_url"), block.pop("detail"), *mark))
            elif kind == "input_file":
                parts.append(("medium", block.pop("file_data"), block.pop("filename", None), *mark))
            else:
                assert kind == ("text" if isinstance(item.get("output", item.get("content")), str) else "input_text")
                parts.append(("text", block.pop("text"), *mark))
            assert not block
        role = "tool" if item.get("type") == "function_call_output" else item["role"]
        messages.append(("system" if role == "developer" else role, item.get("call_id"), parts))
    tools = [{"description": None, **item} for item in body.get("tools", [])]
    assert all(item.pop("type") == "function" for item in tools)
    return {"messages": messages, "tools": tools}


def _of_anthropic(params: Row) -> Row:
    given = [{"role": "system", "content": params["system"]}] if "system" in params else []
    messages: list[Any] = []
    for message in [*given, *params["messages"]]:
        assert set(message) == {"role", "content"}
        parts: list[Any] = []
        for block, mark in _blocks(message["content"], "cache_control"):
            source = block.pop("source", None)
            if source is None:
                assert set(block) == {"type", "text"}
                parts.append(("text", block["text"], *mark))
                continue
            url = source["url"] if source["type"] == "url" else f"data:{source['media_type']};base64,{source['data']}"
            what = block.get("title") if block["type"] == "document" else "auto"
            parts.append(("medium", url, what, *mark))
        messages.append((message["role"], None, parts))
    tools = [{"description": None, "strict": False, **item} for item in params.get("tools", [])]
    for item in tools:
        item["parameters"] = item.pop("input_schema")
    return {"messages": messages, "tools": tools}


def _of_gemini(request: Row) -> Row:
    given = [{"role": "system", **request["systemInstruction"]}] if "systemInstruction" in request else []
    messages: list[Any] = []
    for message in [*given, *request["contents"]]:
        parts: list[Any] = []
        for item in message["parts"]:
            ((kind, value),) = item.items()
            if kind == "text":
                parts.append(("text", value))
            elif kind == "inlineData":
                parts.append(("medium", f"data:{value['mimeType']};base64,{value['data']}", ...))
            else:
                assert value["mimeType"] == "image/png"
                parts.append(("medium", value["fileUri"], ...))
        messages.append(({"model": "assistant"}.get(message["role"], message["role"]), None, parts))
    declared = [item["functionDeclarations"] for item in request.get("tools", [])]
    tools = [{"description": None, "strict": False, **item} for item in (declared[0] if declared else [])]
    for item in tools:
        item["parameters"] = item.pop("parametersJsonSchema")
    return {"messages": messages, "tools": tools}


def without_details(given: Row) -> Row:
    """Return a normal row as Gemini's form keeps it: a name of a file or a detail of an image isn't in it."""
    messages = [
        (role, call, [("medium", item[1], ...) if item[0] == "medium" else item for item in parts])
        for role, call, parts in given["messages"]
    ]
    return {**given, "messages": messages}


class Drawn(NamedTuple):
    """The outcome of a request, whatever the service."""

    custom_id: str
    fate: str
    texts: list[str]
    prompt: int
    new: int
    cached: int


RESULT_FORMS = ("openai-batch", *FORMS)
Expected = dict[str, Any]


def results(seed: int, form: str, count: int) -> tuple[list[Row], list[Expected]]:
    """Draw the results of rows, in any order, and the columns that `join(choices=True)` adds to each row."""
    draw = random.Random(f"{seed} {form}")
    lines, expected = [], []
    for number in range(count):
        line, row_of = result(draw, form, str(number))
        lines += [] if line is None else [line]
        expected.append(row_of)
    draw.shuffle(lines)
    return lines, expected


def result(draw: random.Random, form: str, custom_id: str) -> tuple[Row | None, Expected]:
    """Draw the result of a row, or None, and what `join` says of it."""
    columns = ("response", "finish_reason", "error", "prompt_tokens", "completion_tokens", "cached_tokens")
    none: Expected = dict.fromkeys(columns)
    fate = draw.choice(["ok", "ok", "refused", "error", "gone", "missing"])
    if fate == "missing":
        return None, {**none, "status": "missing"}
    several = draw.randrange(1, 4) if form in ("openai-batch", "gemini-batch") else 1
    texts = [draw.choice(TEXTS) for _ in range(several)]
    prompt, new, cached = draw.randrange(50), draw.randrange(50), draw.randrange(9)
    maker = {"openai-batch": _chat, "openai-responses": _response, "anthropic-batch": _message, "gemini-batch": _gemini}
    line, row_of = maker[form](draw, Drawn(custom_id, fate, texts, prompt, new, cached))
    if fate in ("error", "gone"):
        return line, {**none, **row_of, "response": [], "finish_reason": [], "status": "error"}
    counts = {"prompt_tokens": prompt, "completion_tokens": new, "cached_tokens": cached}
    return line, {**none, **counts, "response": texts, "status": fate, **row_of}


def _openai_line(custom_id: str, status: int, body: Any, error: Any = None) -> Row:
    response = None if body is None else {"status_code": status, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": error}


def _openai_error(custom_id: str, fate: str) -> tuple[Row, Expected] | None:
    if fate == "error":
        error = {"message": "too long", "type": "invalid_request_error", "param": None, "code": "context"}
        return _openai_line(custom_id, 400, {"error": error}), {"error": "context: too long"}
    if fate == "gone":
        error = {"code": "batch_expired", "message": "not in time"}
        return _openai_line(custom_id, 0, None, error), {"error": "batch_expired: not in time"}
    return None


def _chat(draw: random.Random, drawn: Drawn) -> tuple[Row, Expected]:
    custom_id, fate, texts, prompt, new, cached = drawn
    failed = _openai_error(custom_id, fate)
    if failed is not None:
        return failed
    ends = [draw.choice(["stop", "length"] if fate == "ok" else ["stop", "content_filter"]) for _ in texts]
    key = {"content_filter": "content", "stop": "content" if fate == "ok" else "refusal", "length": "content"}
    choices = [
        {"index": n, "message": {"role": "assistant", "content": None, key[end]: text}, "finish_reason": end}
        for n, (text, end) in enumerate(zip(texts, ends, strict=True))
    ]
    draw.shuffle(choices)
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    usage = {"prompt_tokens": prompt, "completion_tokens": new, "total_tokens": prompt + new, **details}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return _openai_line(custom_id, 200, {**head, "choices": choices, "usage": usage}), {"finish_reason": ends}


def _response(draw: random.Random, drawn: Drawn) -> tuple[Row, Expected]:
    custom_id, fate, texts, prompt, new, cached = drawn
    failed = _openai_error(custom_id, fate)
    if failed is not None:
        return failed
    is_cut = draw.random() < 0.3
    is_withheld = is_cut and fate == "refused"
    if fate == "ok" or is_withheld:
        content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    else:
        content = [{"type": "refusal", "refusal": text} for text in texts]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    output = [{"id": "rs_1", "type": "reasoning", "summary": []}, message]
    end = "content_filter" if is_withheld else "max_output_tokens" if is_cut else "completed"
    body = {
        **{"id": "resp_1", "object": "response", "created_at": 1.0, "model": "m", "output": output, "tools": []},
        **{"parallel_tool_calls": True, "tool_choice": "auto", "error": None},
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": end} if is_cut else None,
        "usage": {
            **{"input_tokens": prompt, "output_tokens": new, "total_tokens": prompt + new},
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    if fate == "ok" and draw.random() < 0.2:
        call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
        body["output"] = [call]
        return _openai_line(custom_id, 200, body), {"finish_reason": [end], "response": [None]}
    return _openai_line(custom_id, 200, body), {"finish_reason": [end]}


def _message(draw: random.Random, drawn: Drawn) -> tuple[Row, Expected]:
    custom_id, fate, texts, prompt, new, cached = drawn
    if fate == "error":
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}, "request_id": None}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}, {
            "error": "invalid_request_error: no"
        }
    if fate == "gone":
        kind = draw.choice(["expired", "canceled"])
        return {"custom_id": custom_id, "result": {"type": kind}}, {"error": kind}
    end = "refusal" if fate == "refused" else draw.choice(["end_turn", "max_tokens", "stop_sequence"])
    written = draw.randrange(9)
    message: Row = {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None},
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            *({"type": "text", "text": text, "citations": None} for text in texts),
        ],
        "stop_reason": end,
        "usage": {
            **{"input_tokens": prompt, "output_tokens": new, "cache_read_input_tokens": cached},
            "cache_creation_input_tokens": written,
        },
    }
    answer: Expected = {"finish_reason": [end], "prompt_tokens": prompt + cached + written}
    if fate == "refused" and draw.random() < 0.5:
        message["content"] = []
        message["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "It harms."}
        answer["response"] = ["It harms."]
    return {"custom_id": custom_id, "result": {"type": "succeeded", "message": message}}, answer


def _gemini(draw: random.Random, drawn: Drawn) -> tuple[Row, Expected]:
    custom_id, fate, texts, prompt, new, cached = drawn
    if fate in ("error", "gone"):
        key = "error" if fate == "error" else "status"
        return {"key": custom_id, key: {"code": 3, "message": "no"}}, {"error": "3: no"}
    thoughts = draw.randrange(9)
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": new, "thoughtsTokenCount": thoughts}
    usage = {"usageMetadata": {**counts, "cachedContentTokenCount": cached}}
    if fate == "refused" and draw.random() < 0.5:
        feedback = {"promptFeedback": {"blockReason": "SAFETY"}}
        answer = {"response": [None], "finish_reason": ["SAFETY"], "completion_tokens": new + thoughts}
        return {"key": custom_id, "response": {**feedback, **usage}}, answer
    ends = [draw.choice(["STOP", "MAX_TOKENS"] if fate == "ok" else ["SAFETY", "SPII"]) for _ in texts]
    candidates: list[Row] = []
    for number, (text, end) in enumerate(zip(texts, ends, strict=True)):
        parts = [{"text": "hm", "thought": True}, {"text": text[:1]}, {"text": text[1:]}]
        candidates.append({"index": number, "content": {"role": "model", "parts": parts}, "finishReason": end})
    draw.shuffle(candidates)
    answer = {"finish_reason": ends, "completion_tokens": new + thoughts}
    return {"key": custom_id, "response": {"candidates": candidates, **usage}}, answer


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return what pydantic has validated as plain values, because it reads lists lazily."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return (
        value if isinstance(value, str) or not isinstance(value, Iterator | list) else [plain(item) for item in value]
    )
