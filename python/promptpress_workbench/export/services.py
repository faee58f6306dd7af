"""Services that take batches: the names, the limits and the request bodies of each.

A service converts OpenAI's messages one by one; `message_columns.py` makes the same texts of whole columns.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from mimetypes import guess_type
from typing import Any

from promptpress_workbench.files.write.json_lines import json_text

SYSTEM = ("system", "developer")
"""The roles of system prompts."""

MOST_MARKS = 4
"""The most marks of cached beginnings in a request, of OpenAI and of Anthropic."""

_VALUES: dict[Any, Any] = {"text": str, "image_url": (str, dict)}
"""The types of the values of parts by kind; others are dicts."""

_ANTHROPIC_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")

Item = dict[str, Any]


class RefusedError(Exception):
    """Says what of a row a service doesn't take, with the code of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Service:
    """A service, and how its requests are written.

    `prompts` and `system` are the keys of messages and of a system prompt that isn't among them. `roles` has the names
    of roles, and `parts` converts parts by their kinds; without roles, messages are sent as they are. `mark` ends a
    cached beginning. `words` has the words of other services and the right one, or None.
    """

    title: str
    prompts: str = "messages"
    system: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    contents: str = "content"
    parts: Mapping[str, Callable[[Item], Item]] = field(default_factory=dict)
    tool: Item = field(default_factory=dict)
    tool_parameters: str = "parameters"
    body: str = "body"
    id_key: str = "custom_id"
    id_length: int | None = None
    id_pattern: str | None = None
    max_requests: int | None = None
    max_bytes: int | None = None
    mark: Item | None = None
    marks_assistants: bool = False
    required: tuple[str, ...] = ()
    has_model: bool = True
    takes_blank: bool = True
    words: Mapping[str, str | None] = field(default_factory=dict)

    def members(self, messages: Iterable[Item], marks: Collection[int] = (), *, has_system: bool = False) -> str:
        """Return the members of a request's body that hold the messages, as JSON; `marks` count from 1."""
        out: list[Item] = []
        system, number = "", 0
        for number, message in enumerate(messages, 1):
            role = message["role"]
            try:
                if self._is_apart(role) and (number > 1 or has_system):
                    right = "is in the parameters already" if has_system else "is one message, at the beginning"
                    raise RefusedError("invalid_role", f"the system prompt {right}; join them")
                made = self.items(message, marked=number in marks)
            except RefusedError as error:
                text = f"{self.title} doesn't take message {number}, of {role!r}: {error}"
                raise RefusedError(error.code, text) from None
            if self._is_apart(role):
                system = f'"{self.system}": {json_text(made[0])}, '
            else:
                out += made
        if len(marks) > MOST_MARKS:
            text = f"cache_marks: it has {len(marks)}, and a request at most {MOST_MARKS}"
            raise RefusedError("limit_exceeded", text)
        outside = [mark for mark in marks if mark is None or not 1 <= mark <= number]
        if outside:
            raise RefusedError("row_out_of_range", f"cache_marks: there is no message {outside[0]}; it has {number}")
        if not out:
            raise RefusedError("incomplete_message", f"{self.title} needs a message besides the system prompt")
        return f'{system}"{self.prompts}": {json_text(out)}'

    def items(self, message: Item, *, marked: bool) -> list[Any]:
        """Return the items of a message, or the value of its system prompt."""
        role = message["role"]
        if marked and (self.mark is None or (role == "assistant" and not self.marks_assistants)):
            raise RefusedError("invalid_role", "cache_marks: no mark stands here")
        mark = (self.mark if marked else None) or {}
        if not self.roles:
            return [_marked_chat(message, mark) if mark else message]
        given = without_nulls(message)
        calls = _calls(given, marked=marked) if self is RESPONSES else []
        if calls and not given.get("content"):
            return calls
        if role not in self.roles:
            raise RefusedError("invalid_role", f"there is no such message in this form; {_REMEDY}")
        _refuse_keys(given, ("role", "content"), f" in this form; {_REMEDY}" if "tool_calls" in given else "")
        content = given.get("content")
        parts = self._parts(content, ("text",) if role not in ("user", "tool") else self.parts)
        if not isinstance(content, str) or mark or self.contents != "content":
            content = [self.parts[part["type"]](part) for part in parts]
            content[-1] |= mark
        if role == "assistant" and self is RESPONSES:
            if len(parts) > 1:
                raise RefusedError("wrong_column_type", "what an assistant says is one text; join its parts")
            content = parts[0]["text"]
        if self._is_apart(role):
            return [content if self.contents == "content" else {self.contents: content}]
        return [{"role": self.roles[role], self.contents: content}, *calls]

    def frame(self, role: str, *, marked: bool) -> tuple[str, str]:
        """Return the JSON around a message's text, for messages of a role and a text alone."""
        head, tail = json_text(self.items({"role": role, "content": "\0"}, marked=marked)[0]).split('"\\u0000"')
        return head, tail

    def tools(self, tools: Iterable[Item]) -> str:
        """Return the JSON of a request's tools, which are of OpenAI's form."""
        made = []
        for tool in map(without_nulls, tools if self.roles else ()):
            function = tool.get("function")
            if tool.get("type") != "function" or not isinstance(function, dict) or "name" not in function:
                text = f'a tool is {{"type": "function", "function": {{"name": ...}}}}, not {json_text(tool)[:60]}'
                raise RefusedError("wrong_column_type", text)
            if self is GEMINI and function.get("strict"):
                raise RefusedError("wrong_column_type", f"no function is strict here, as {function['name']!r} is")
            _refuse_keys(tool, ("type", "function"))
            _refuse_keys(function, ("name", "description", "parameters", "strict"))
            given = {"parameters": {"type": "object", "properties": {}}} | without_nulls(function)
            if not isinstance(given["parameters"], dict):
                text = f"a tool's parameters are an object, not {json_text(given['parameters'])[:60]}"
                raise RefusedError("wrong_column_type", text)
            given[self.tool_parameters] = given.pop("parameters")
            made.append({**self.tool, **given})
        if self is GEMINI:
            return json_text([{"functionDeclarations": [{k: v for k, v in f.items() if k != "strict"} for f in made]}])
        return json_text(made if self.roles else tools)

    def spelt(self, names: list[str]) -> list[str]:
        """Return the way to a parameter with the service's own names as it writes them; Gemini takes two spellings."""
        count = 0 if self is not GEMINI else 2 if _camel(names[0]) == "generationConfig" else 1
        return [*map(_camel, names[:count]), *names[count:]]

    def hint(self, names: list[str]) -> str | None:
        """Return what is right instead of the way to a parameter in another service's words; None if it isn't."""
        way, right = self.spelt(names[:2]), self.words.values()
        whole = ".".join(way)
        tried = [(".".join(names[:2]), whole), (names[0], way[0])]
        if len(way) > 1 and any(word and word.startswith(f"{way[0]}.") for word in right):  # others hold data
            tried.append((names[1], whole))
        words = [word for given, path in tried if path not in right for word in (given, _camel(given))]
        hints = (self.words[word] for word in words if word in self.words)
        return next(("has no such parameter" if hint is None else f"calls it {hint!r}" for hint in hints), None)

    def _is_apart(self, role: str) -> bool:
        return self.system is not None and role in SYSTEM

    def _parts(self, content: Any, kinds: Collection[str]) -> list[Item]:
        """Return the parts of a content, each of one of these kinds with no more than its value."""
        if content is None:
            raise RefusedError("incomplete_message", "it has no content")
        parts = content if isinstance(content, list) else [content]
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        for part in parts:
            kind: Any = part.get("type") if isinstance(part, dict) else None
            value = part.get(kind) if isinstance(kind, str) and kind in kinds else None
            texts = without_nulls(value).values() if isinstance(value, dict) else ()
            if not isinstance(value, _VALUES.get(str(kind), dict)) or not all(isinstance(text, str) for text in texts):
                text = f"a part is one of {', '.join(map(repr, kinds))} with its value, not {json_text(part)[:60]}"
                raise RefusedError("wrong_column_type", text)
            _refuse_keys(part, ("type", kind))
            if kind == "text" and not self.takes_blank and not part["text"].strip():
                raise RefusedError("incomplete_message", "its text is empty; leave it out")
        return parts


_REMEDY = "write calls of tools and results as texts, or take openai-batch or openai-responses"


def without_nulls(value: Item) -> Item:
    return {key: item for key, item in value.items() if item not in (None, [])}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name)


def _refuse_broken(data: str, kind: str) -> None:
    """Refuse data that isn't base64."""
    with suppress(ValueError):
        if b64decode(data, validate=True):
            return
    raise RefusedError("invalid_media", f"{kind}: its data isn't base64: {data[:60]!r}")


def _refuse_keys(value: Item, keys: Collection[str], remedy: str = "") -> None:
    for key in value:
        if key not in keys:
            raise RefusedError("wrong_column_type", f"there is no place for {key!r}{remedy}")


def _medium(part: Item, *schemes: str) -> tuple[str, str | None, str | None, Item]:
    """Return the URL of a medium, its type and data if the URL holds them, and what else is said of it."""
    kind = part["type"]
    rest = {"url": part[kind]} if isinstance(part[kind], str) else without_nulls(part[kind])
    if kind == "input_audio" and rest.keys() >= {"data", "format"}:
        _refuse_broken(rest["data"], kind)
        return "", f"audio/{rest.pop('format')}", rest.pop("data"), rest
    url = str(rest.pop("file_data" if kind == "file" else "url", ""))
    match = re.fullmatch(r"data:([^;,]+)[^,]*;base64,(.*)", url, re.DOTALL)
    if match is None and (kind != "image_url" or not url.startswith(("https://", "http://", *schemes))):
        right = {"file": "a data URL in 'file_data'", "input_audio": "'data' and a 'format'"}
        raise RefusedError("invalid_media", f"{kind} takes {right.get(kind, 'a URL or a data URL')}, not {part[kind]}")
    if match is not None:
        _refuse_broken(match[2], kind)
    if rest.get("detail") == "auto":
        del rest["detail"]
    return url, *(match.groups() if match else (None, None)), rest


def _marked_chat(message: Item, mark: Item) -> Item:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not parts or not isinstance(parts[-1], dict):
        raise RefusedError("incomplete_message", "cache_marks: it has no content, a text or parts, to be marked")
    return {**message, "content": [*parts[:-1], {**parts[-1], **mark}]}


def _calls(message: Item, *, marked: bool) -> list[Item]:
    """Return calls of tools or the result of one as items of the Responses API, and take them out of the message."""
    call_id, out = message.pop("tool_call_id", None) if message["role"] == "tool" else None, []
    if isinstance(call_id, str):
        (given,) = RESPONSES.items({"role": "user", "content": message.pop("content", None)}, marked=marked)
        out.append({"type": "function_call_output", "call_id": call_id, "output": given["content"]})
    calls = message.pop("tool_calls", [])
    for call in calls if isinstance(calls, list) else [calls]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not all(
            isinstance(x, str) for x in (function.get("name"), call.get("id"))
        ):
            text = f"a call is {{'id': ..., 'function': {{'name': ...}}}}, not {json_text(call)[:60]}"
            raise RefusedError("wrong_column_type", text)
        given = function.get("arguments", "{}")
        arguments = given if isinstance(given, str) else json_text(given)
        out.append({"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": arguments})
    if out:
        _refuse_keys(message, ("role", "content"))
    return out


def _responses_image(part: Item) -> Item:
    url, _, _, rest = _medium(part)
    _refuse_keys(rest, ("detail",))
    if rest.get("detail", "low") not in ("low", "high", "original"):
        raise RefusedError("invalid_media", f"detail is auto, low, high or original, not {rest['detail']!r}")
    return {"type": "input_image", "image_url": url, "detail": "auto", **rest}


def _responses_file(part: Item) -> Item:
    given = without_nulls(part["file"])
    _refuse_keys(given, ("file_data", "file_id", "filename"))
    if given.get("file_data", "").startswith("data:"):
        _medium(part)
    return {"type": "input_file", **given}


def _anthropic_medium(part: Item) -> Item:
    url, media, data, rest = _medium(part)
    source = {"type": "base64", "media_type": media, "data": data} if media else {"type": "url", "url": url}
    title = {"title": rest.pop("filename")} if "filename" in rest else {}
    _refuse_keys(rest, ())
    types = ("application/pdf",) if part["type"] == "file" else _ANTHROPIC_IMAGES
    if media not in (None, *types):
        raise RefusedError("invalid_media", f"{part['type']} takes {', '.join(types)}, not {media}")
    return {"type": "document" if part["type"] == "file" else "image", "source": source, **title}


def _gemini_medium(part: Item) -> Item:
    url, media, data, rest = _medium(part, "gs://")
    _refuse_keys(rest, ("filename",))
    if media:
        return {"inlineData": {"mimeType": media, "data": data}}
    media = guess_type(url.partition("?")[0])[0]
    if media is None:
        text = f"the type of a file is needed, and {url[:60]!r} doesn't end in one, such as .png; give a data URL"
        raise RefusedError("invalid_media", text)
    return {"fileData": {"mimeType": media, "fileUri": url}}


_PARAMETERS: tuple[tuple[tuple[str, ...], str | None, str | None, str | None], ...] = (
    (("max_tokens", "max_completion_tokens"), "max_output_tokens", "max_tokens", "generationConfig.maxOutputTokens"),
    (("stop",), None, "stop_sequences", "generationConfig.stopSequences"),
    (("temperature",), "temperature", "temperature", "generationConfig.temperature"),
    (("top_p",), "top_p", "top_p", "generationConfig.topP"),
    (("top_k",), None, "top_k", "generationConfig.topK"),
    (("n",), None, None, "generationConfig.candidateCount"),
    (("seed",), None, None, "generationConfig.seed"),
    (("frequency_penalty",), None, None, "generationConfig.frequencyPenalty"),
    (("presence_penalty",), None, None, "generationConfig.presencePenalty"),
    (("logprobs",), "top_logprobs", None, "generationConfig.responseLogprobs"),
    (("top_logprobs",), "top_logprobs", None, "generationConfig.logprobs"),
    (("logit_bias",), None, None, None),
    (("response_format",), "text.format", "output_config.format", "generationConfig.responseSchema"),
    (("reasoning_effort",), "reasoning.effort", "output_config.effort", "generationConfig.thinkingConfig"),
    (("tool_choice",), "tool_choice", "tool_choice", "toolConfig"),
    ((), "instructions", "system", "systemInstruction"),
    ((), "reasoning", "thinking", "generationConfig.thinkingConfig"),
    ((), None, None, "generationConfig"),
    (("messages",), "input", "messages", "contents"),
)
"""Parameters in the words of OpenAI's chats, the Responses API, Anthropic and Gemini; None: there is no such one."""


def _words_of_others(column: int) -> dict[str, str | None]:
    """Return the words of all services but one, with the right word of that one."""
    out: dict[str, str | None] = {}
    for chats, *others in _PARAMETERS:
        right = others[column]
        words = {*chats, *(word for other in others if other for word in (other, other.rpartition(".")[2]))}
        out |= dict.fromkeys(words - {right}, right)
    return out


_BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_SAME_ROLES = {role: role for role in (*SYSTEM, "user", "assistant")}
_OPENAI_LIMITS: dict[str, Any] = {"max_requests": 50_000, "max_bytes": 200_000_000, "id_length": 512}
"""OpenAI's limits of a file, which other services have too. An id longer than this is a mistake."""

_NOT_OF_CHATS = dict.fromkeys(("input", "contents", "generationConfig", "systemInstruction", "system"))

OPENAI = Service("OpenAI", mark=_BREAKPOINT, words=_NOT_OF_CHATS, **_OPENAI_LIMITS)
VLLM = Service("vLLM", words=_NOT_OF_CHATS)
LITELLM = Service("LiteLLM", words=_NOT_OF_CHATS, **{**_OPENAI_LIMITS, "id_length": 64})
RESPONSES = Service(
    "the Responses API",
    prompts="input",
    roles=_SAME_ROLES,
    parts={
        "text": lambda part: {"type": "input_text", "text": part["text"]},
        "image_url": _responses_image,
        "file": _responses_file,
    },
    tool={"type": "function", "strict": False},  # the API's default is true, and that of chats false
    mark=_BREAKPOINT,
    words=_words_of_others(0),
    **_OPENAI_LIMITS,
)
ANTHROPIC = Service(
    "Anthropic",
    system="system",
    roles=_SAME_ROLES,
    parts={"text": dict, "image_url": _anthropic_medium, "file": _anthropic_medium},
    tool_parameters="input_schema",
    body="params",
    id_length=64,
    id_pattern="[a-zA-Z0-9_-]*",
    max_requests=100_000,
    max_bytes=256_000_000,
    mark={"cache_control": {"type": "ephemeral"}},
    marks_assistants=True,
    required=("max_tokens",),
    takes_blank=False,
    words=_words_of_others(1),
)
GEMINI = Service(
    "Gemini",
    prompts="contents",
    system="systemInstruction",
    roles={**_SAME_ROLES, "assistant": "model"},
    contents="parts",
    parts={
        "text": lambda part: {"text": part["text"]},
        **dict.fromkeys(("image_url", "input_audio", "file"), _gemini_medium),
    },
    tool_parameters="parametersJsonSchema",
    body="request",
    id_key="key",
    max_bytes=2_000_000_000,
    has_model=False,
    takes_blank=False,
    words=_words_of_others(2),
)

SERVICES = {
    "openai-batch": OPENAI,
    "openai-responses": RESPONSES,
    "anthropic-batch": ANTHROPIC,
    "gemini-batch": GEMINI,
    "vllm-batch": VLLM,
    "litellm-batch": LITELLM,
}
"""The services by the forms of their requests."""
