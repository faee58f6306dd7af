"""Services that take batches: the names, the limits and the request bodies of each.

`SERVICES` lists them. A service converts OpenAI's messages one by one; `message_columns.py` makes the same texts of
whole columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from mimetypes import guess_type
from operator import itemgetter
from typing import Any

from promptpress_workbench.files.write.json_lines import json_text

SYSTEM = ("system", "developer")
"""The roles of system prompts."""

_VALUES = {"text": str, "image_url": (str, dict)}
"""The types of values of parts, which are dicts otherwise."""

_WEB = ("https://", "http://")
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

    `messages` makes the items of a request of a message and a mark, and `tool` a tool of a function. `system` takes the
    value of `system_key` from such an item, if the system prompt isn't among the messages. `mark` is the key and the
    value that end a cached beginning. `words` has the words of other services and the right one, or None.
    """

    title: str
    messages: Callable[[Item, Item], list[Item]]
    prompts: str = "messages"
    tool: Callable[[Item], Item] | None = None
    body: str = "body"
    id_key: str = "custom_id"
    id_length: int | None = None
    id_pattern: str | None = None
    max_requests: int | None = None
    max_bytes: int | None = None
    mark: Item | None = None
    marks_assistants: bool = False
    system_key: str | None = None
    system: Callable[[Item], Any] = dict
    required: tuple[str, ...] = ()
    has_model: bool = True
    takes_blank: bool = True
    words: Mapping[str, str | None] = field(default_factory=dict)

    def members(self, messages: Iterable[Item], marks: Collection[int] = (), *, has_system: bool = False) -> str:
        """Return the members of a request's body that hold the messages, as JSON; `marks` count from 1."""
        items: list[Item] = []
        system = None
        number = 0
        for number, message in enumerate(messages, 1):
            role = message["role"]
            try:
                if self._is_apart(role) and (number > 1 or has_system):
                    right = "is in the parameters already" if has_system else "is one message, at the beginning"
                    raise RefusedError("invalid_role", f"the system prompt {right}; join them")
                made = self._items(message, marked=number in marks)
            except RefusedError as error:
                text = f"{self.title} doesn't take message {number}, of {role!r}: {error}"
                raise RefusedError(error.code, text) from None
            if self._is_apart(role):
                system = json_text(made[0])
            else:
                items += made
        outside = [mark for mark in marks if not 1 <= mark <= number]
        if outside:
            raise RefusedError("row_out_of_range", f"cache_marks: there is no message {outside[0]}; it has {number}")
        if not items:
            raise RefusedError("incomplete_message", f"{self.title} needs a message besides the system prompt")
        start = "" if system is None else f'"{self.system_key}": {system}, '
        return f'{start}"{self.prompts}": {json_text(items)}'

    def frame(self, role: str, *, marked: bool) -> tuple[str, str]:
        """Return the JSON around a message's text, for messages of a role and a text alone."""
        head, tail = json_text(self._items({"role": role, "content": "\0"}, marked=marked)[0]).split('"\\u0000"')
        return head, tail

    def _is_apart(self, role: str) -> bool:
        return self.system_key is not None and role in SYSTEM

    def _items(self, message: Item, *, marked: bool) -> list[Any]:
        """Return the items of a message, or the value of its system prompt."""
        if marked and self.mark is None:
            raise RefusedError("unsupported_mode", "no caches are marked here; leave cache_marks out")
        if marked and message["role"] == "assistant" and not self.marks_assistants:
            raise RefusedError("invalid_role", "cache_marks: no mark stands in what an assistant says")
        mark = (self.mark if marked else None) or {}
        items = self.messages({key: value for key, value in message.items() if value not in (None, [])}, mark)
        return [self.system(items[0])] if self._is_apart(message["role"]) else items

    def tools(self, tools: Iterable[Item]) -> str:
        """Return the JSON of a request's tools, which are of OpenAI's form."""
        if self.tool is None:
            return json_text(tools)
        made = [self.tool(_function(tool)) for tool in tools]
        return json_text([{"functionDeclarations": made}] if self is GEMINI else made)


def _function(tool: Item) -> Item:
    """Return the function of a tool, with parameters."""
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict) or "name" not in function:
        text = f'a tool is {{"type": "function", "function": {{"name": ..., ...}}}}, not {json_text(tool)[:60]}'
        raise RefusedError("wrong_column_type", text)
    _refuse_keys(function, ("name", "description", "parameters", "strict"))
    given = {key: value for key, value in function.items() if value is not None}
    return {**given, "parameters": given.get("parameters", {"type": "object", "properties": {}})}


def _refuse_keys(value: Item, taken: Collection[str], remedy: str = "") -> None:
    for key in value:
        if key not in taken:
            raise RefusedError("wrong_column_type", f"there is no place for {key!r}{remedy}")


def _parts(message: Item, kinds: Collection[str], *, takes_blank: bool) -> list[Item]:
    """Return the parts of a message, each of one of these kinds with no more than its value."""
    content = message.get("content")
    if content is None:
        raise RefusedError("incomplete_message", "it has no content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in kinds or not isinstance(part.get(kind), _VALUES.get(kind, dict)):
            text = f"a part is one of {', '.join(map(repr, kinds))} with its value, not {json_text(part)[:60]}"
            raise RefusedError("wrong_column_type", text)
        _refuse_keys(part, ("type", kind))
        if kind == "text" and not takes_blank and not part["text"].strip():
            raise RefusedError("incomplete_message", "its text is empty; leave it out")
    return parts


def _medium(part: Item, schemes: tuple[str, ...] = _WEB) -> tuple[str, str | None, str | None, Item]:
    """Return the URL of a medium, its type and data if the URL holds them, and what else is said of it."""
    kind = part["type"]
    value = {"url": part[kind]} if isinstance(part[kind], str) else part[kind]
    rest = {key: item for key, item in value.items() if item is not None}
    if kind == "input_audio":
        return "", f"audio/{rest.pop('format', None)}", rest.pop("data", ""), rest
    url = str(rest.pop("file_data" if kind == "file" else "url", ""))
    found = re.fullmatch(r"data:([^;,]+)[^,]*;base64,(.*)", url, re.DOTALL)
    if found is None and (kind == "file" or not url.startswith(schemes)):
        right = "a data URL in 'file_data'" if kind == "file" else "a URL or a data URL"
        raise RefusedError("invalid_media", f"{kind} takes {right}, not {json_text(part)[:60]}")
    if rest.get("detail") == "auto":
        del rest["detail"]
    return url, *(found.groups() if found else (None, None)), rest


def _marked(blocks: list[Item], mark: Item) -> list[Item]:
    return [*blocks[:-1], {**blocks[-1], **mark}] if mark else blocks


def _content(message: Item, mark: Item, parts: list[Item], convert: Callable[[Item], Item]) -> str | list[Item]:
    """Return a content: a text stays one unless it is marked."""
    if isinstance(message["content"], str) and not mark:
        return message["content"]
    return _marked([convert(part) for part in parts], mark)


def _chat_message(message: Item, mark: Item) -> list[Item]:
    """Return a message for chats, which have all as it is."""
    if not mark:
        return [message]
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not parts:
        raise RefusedError("incomplete_message", "cache_marks: it has no content")
    return [{**message, "content": _marked(parts, mark)}]


def _responses_message(message: Item, mark: Item) -> list[Item]:
    """Return the items of a message: calls of tools and their results are items of their own."""
    role, calls, call_id = message["role"], message.get("tool_calls", []), message.get("tool_call_id")
    is_result = role == "tool" and call_id is not None
    if role not in (*SYSTEM, "user", "assistant") and not is_result:
        raise RefusedError("invalid_role", "openai-batch takes it; a result of a 'tool' needs its 'tool_call_id'")
    _refuse_keys(message, ("role", "content", "tool_call_id" if is_result else "tool_calls"), "; openai-batch has one")
    items = [_call(call) for call in calls]
    if items and not message.get("content"):
        return items
    parts = _parts(message, ("text",) if role == "assistant" else ("text", "image_url", "file"), takes_blank=True)
    if role == "assistant":
        if len(parts) > 1:
            raise RefusedError("wrong_column_type", "what an assistant says is one text; join its parts")
        return [{"role": role, "content": parts[0]["text"]}, *items]
    content = _content(message, mark, parts, _responses_part)
    if is_result:
        return [{"type": "function_call_output", "call_id": call_id, "output": content}]
    return [{"role": role, "content": content}, *items]


def _call(call: Any) -> Item:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or "name" not in function or "id" not in call:
        text = f"a call is {{'id': ..., 'function': {{'name': ..., 'arguments': ...}}}}, not {json_text(call)[:60]}"
        raise RefusedError("wrong_column_type", text)
    arguments = function.get("arguments", "{}")
    arguments = arguments if isinstance(arguments, str) else json_text(arguments)
    return {"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": arguments}


def _responses_part(part: Item) -> Item:
    if part["type"] == "text":
        return {**part, "type": "input_text"}
    if part["type"] == "file":
        return {"type": "input_file", **{key: value for key, value in part["file"].items() if value is not None}}
    url, _, _, rest = _medium(part)
    return {"type": "input_image", "image_url": url, "detail": "auto", **rest}


def _words_alone(message: Item, kinds: Collection[str]) -> list[Item]:
    """Return the parts of a message of Anthropic or Gemini; refuse roles and keys of tools."""
    remedy = "write calls of tools and results as texts, or take openai-batch or openai-responses"
    if message["role"] not in ("user", "assistant", *SYSTEM):
        raise RefusedError("invalid_role", f"there is no such role in this form; {remedy}")
    _refuse_keys(message, ("role", "content"), f" in this form; {remedy}" if "tool_calls" in message else "")
    return _parts(message, ("text",) if message["role"] in SYSTEM else kinds, takes_blank=False)


def _anthropic_message(message: Item, mark: Item) -> list[Item]:
    parts = _words_alone(message, ("text", "image_url", "file"))
    return [{"role": message["role"], "content": _content(message, mark, parts, _anthropic_part)}]


def _anthropic_part(part: Item) -> Item:
    if part["type"] == "text":
        return part
    url, media, data, rest = _medium(part)
    source = {"type": "base64", "media_type": media, "data": data} if media else {"type": "url", "url": url}
    title = {"title": rest.pop("filename")} if "filename" in rest else {}
    _refuse_keys(rest, ())
    taken = ("application/pdf",) if part["type"] == "file" else _ANTHROPIC_IMAGES
    if media not in (None, *taken):
        raise RefusedError("invalid_media", f"{part['type']} takes {', '.join(taken)}, not {media}")
    return {"type": "document" if part["type"] == "file" else "image", "source": source, **title}


def _gemini_message(message: Item, _: Item) -> list[Item]:
    parts = _words_alone(message, ("text", "image_url", "input_audio", "file"))
    role = "model" if message["role"] == "assistant" else message["role"]
    return [{"role": role, "parts": [_gemini_part(part) for part in parts]}]


def _gemini_part(part: Item) -> Item:
    if part["type"] == "text":
        return {"text": part["text"]}
    url, media, data, rest = _medium(part, (*_WEB, "gs://"))
    _refuse_keys(rest, ("filename",))
    if media:
        return {"inlineData": {"mimeType": media, "data": data}}
    media = guess_type(url.partition("?")[0])[0]
    if media is None:
        text = f"the type of a file is needed, and {url[:60]!r} doesn't end in one, such as .png; give a data URL"
        raise RefusedError("invalid_media", text)
    return {"fileData": {"mimeType": media, "fileUri": url}}


def _responses_tool(function: Item) -> Item:
    return {"type": "function", "strict": False, **function}  # the API's default is true, and that of chats false


def _anthropic_tool(function: Item) -> Item:
    return {"input_schema" if key == "parameters" else key: value for key, value in function.items()}


def _gemini_tool(function: Item) -> Item:
    if function.pop("strict", False):
        raise RefusedError("wrong_column_type", f"Gemini has no strict functions, and {function['name']!r} is one")
    return {"parametersJsonSchema" if key == "parameters" else key: value for key, value in function.items()}


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
    (("logit_bias",), None, None, None),
    (("response_format",), "text.format", "output_config.format", "generationConfig.responseSchema"),
    (("reasoning_effort",), "reasoning.effort", "output_config.effort", "generationConfig.thinkingConfig"),
    (("tool_choice",), "tool_choice", "tool_choice", "toolConfig"),
    ((), "instructions", "system", "systemInstruction"),
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
_OPENAI_LIMITS: dict[str, Any] = {"max_requests": 50_000, "max_bytes": 200_000_000, "id_length": 512}
"""OpenAI's limits of a file, which other services have too. An id longer than this is a mistake."""

OPENAI = Service("OpenAI", _chat_message, mark=_BREAKPOINT, **_OPENAI_LIMITS)
VLLM = Service("vLLM", _chat_message)
LITELLM = Service("LiteLLM", _chat_message, **{**_OPENAI_LIMITS, "id_length": 64})
RESPONSES = Service(
    "the Responses API",
    _responses_message,
    prompts="input",
    tool=_responses_tool,
    mark=_BREAKPOINT,
    words=_words_of_others(0),
    **_OPENAI_LIMITS,
)
ANTHROPIC = Service(
    "Anthropic",
    _anthropic_message,
    tool=_anthropic_tool,
    body="params",
    id_length=64,
    id_pattern="^[a-zA-Z0-9_-]*$",
    max_requests=100_000,
    max_bytes=256_000_000,
    mark={"cache_control": {"type": "ephemeral"}},
    marks_assistants=True,
    system_key="system",
    system=itemgetter("content"),
    required=("max_tokens",),
    takes_blank=False,
    words=_words_of_others(1),
)
GEMINI = Service(
    "Gemini",
    _gemini_message,
    prompts="contents",
    tool=_gemini_tool,
    body="request",
    id_key="key",
    max_bytes=2_000_000_000,
    system_key="systemInstruction",
    system=lambda item: {"parts": item["parts"]},
    has_model=False,
    takes_blank=False,
    words=_words_of_others(2),
)

SERVICES = (OPENAI, VLLM, LITELLM, RESPONSES, ANTHROPIC, GEMINI)
"""All services."""
