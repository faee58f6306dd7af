"""Results of batches, read from the files and objects of each service."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import chain
from lzma import LZMAError
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import DataError, PromptWarning
from promptpress.engine import as_table
from promptpress.engine.errors import reason, render_error

from promptpress_workbench.export.services import ANTHROPIC, GEMINI, OPENAI, RESPONSES
from promptpress_workbench.files.read.formats import find_files
from promptpress_workbench.files.read.sources import Source
from promptpress_workbench.files.write.json_lines import json_text

_FIRST_ERROR_STATUS = 400
_LARGEST_COUNT = 2**63 - 1
_BATCH_ROWS = 4096


class Result(NamedTuple):
    """The parts of a request's result that `join` needs; not all of it, because there may be millions.

    `texts` and `finish_reasons` have an item for each choice. `is_refused` is true if the model refuses to answer, and
    the texts say so. `services` are the titles of those whose form the result may have. `raw` is the result as it
    came, as JSON, if it is wanted.
    """

    custom_id: str
    texts: tuple[str | None, ...]
    finish_reasons: tuple[str | None, ...]
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None
    is_refused: bool = False
    services: tuple[str, ...] = ()
    raw: str | None = None

    @property
    def is_cut(self) -> bool:
        """True if the limit of tokens has cut an answer off."""
        return self.status == "ok" and not _CUT.isdisjoint(self.finish_reasons)

    @property
    def succeeded(self) -> bool:
        """True if the model has answered, be it by a refusal."""
        return self.error is None

    @property
    def status(self) -> str:
        """The word of the column `status`."""
        return "error" if self.error is not None else "refused" if self.is_refused else "ok"


def read_results(source: Any, *, raw: bool = False) -> Iterator[Result]:
    """Read results in order from a path of JSON lines, a table with such rows, a result, or several of these.

    Texts with half a character, which Arrow can't hold, are warned of.
    """
    reader = _Reader(raw)
    yield from reader.read(source)
    if reader.broken:
        have = "result has" if reader.broken == 1 else "results have"
        message = f"{reader.broken:,} {have} half a character (a surrogate without the other), which is now U+FFFD"
        warnings.warn(message, PromptWarning, stacklevel=2)


class _Reader:
    """Reads results, and counts those that can't be held as they are."""

    def __init__(self, raw: bool) -> None:
        self.broken = 0
        self._raw = raw

    def read(self, source: Any) -> Iterator[Result]:
        if isinstance(source, (str, os.PathLike)):
            for path, _ in find_files(os.fspath(source), "jsonl"):
                for location, _, value in file_values(path):
                    yield self._result(value, location)
        elif hasattr(source, "model_dump"):  # an object of a service's package
            yield self._result(source.model_dump(mode="json", by_alias=True), "the result")
        elif isinstance(source, Mapping) and id_of(source) is not None:
            yield self._result(source, "the result")
        elif (
            isinstance(source, Iterable) and not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "schema")
        ):
            for number, item in enumerate(source):
                if isinstance(item, Mapping):
                    yield self._result(item, f"result {number}")
                else:
                    yield from self.read(item)
        else:
            batches = as_table(source).to_batches(max_chunksize=_BATCH_ROWS)
            for row, value in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches)):
                yield self._result(value, f"row {row} of the results")

    def _result(self, value: Any, location: str) -> Result:
        custom_id = id_of(value)
        if not isinstance(custom_id, str):
            what = "it has no custom_id" if custom_id is None else f"its custom_id is no string, but {custom_id!r:.60}"
            message = f"{location}: it is no result of a batch: {what} ({json_text(value)[:60]})"
            raise render_error("invalid_result", message)
        if value.keys().isdisjoint(("response", "error", "result", "status")):
            what = "no result" if value.keys().isdisjoint(("body", "params", "request")) else "a request"
            raise render_error("invalid_result", f"{location}: it is {what}: it has neither a response nor an error")
        if "result" in value:
            answer = _anthropic_answer(_dict(value["result"]))
        else:
            answer = _gemini_answer(value) if "custom_id" not in value else _openai_answer(value)
        broken = self.broken
        prompt, completion, cached = answer.tokens
        result = Result(
            custom_id,
            tuple([self._held(choice.text) for choice in answer.choices]),
            tuple([self._held(choice.finish_reason) for choice in answer.choices]),
            self._held(answer.error),
            _count(prompt),
            _count(completion),
            _count(cached),
            answer.error is None and False not in [choice.is_refused for choice in answer.choices],
            answer.services,
            self._held(json_text(value)) if self._raw else None,
        )
        self.broken = min(self.broken, broken + 1)
        return result

    def _held(self, text: str | None) -> str | None:
        """Return a text that Arrow can hold: a model that is cut off within a character writes half of it."""
        if text is None or text.isascii():
            return text
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.broken += whole != text
        return whole


def file_values(path: str) -> Iterator[tuple[str, bytes, Any]]:
    """Read a file of JSON lines; yield the place of each line that isn't empty, the line and its value."""
    for number, line in enumerate(file_lines(path), 1):
        if not line.strip():
            continue
        location = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            cut = " (the file ends within it; it was probably not written or fetched to its end)"
            hint = "" if line.endswith(b"\n") else cut
            raise render_error("invalid_result", f"{location}: it is no JSON: {error}{hint}") from error
        yield location, line, value


def file_lines(path: str) -> Iterator[bytes]:
    """Read the lines of a file, which may be compressed; damaged data, or data that end early, are a DataError."""
    with ExitStack() as stack, Source(path, stack).open() as file:
        try:
            yield from file
        except (pa.ArrowException, EOFError, LZMAError, OSError) as error:
            raise DataError(f"{path}: {reason(error)}") from error


class _Choice(NamedTuple):
    """A choice among the answers to a request."""

    text: str | None
    finish_reason: str | None
    is_refused: bool


class _Answer(NamedTuple):
    """The answers to a request, or an error; and the tokens of the prompt, of the answers, and of the cache."""

    services: tuple[str, ...]
    choices: list[_Choice]
    error: str | None
    tokens: tuple[Any, Any, Any] = (None, None, None)


def id_of(value: Any) -> Any:
    """Return the id of a request or a result: a `custom_id`, or Gemini's `key`."""
    return _dict(value).get("custom_id", _dict(value).get("key"))


def services_of(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the titles of the services whose form a request may have, as `Result.services`; none for what is none."""
    if "body" in request and isinstance(url := request.get("url"), str):
        return _OPENAI[1:] if url.endswith("/responses") else _OPENAI[:1]
    return next((titles for key, titles in _SERVICES.items() if key in request), ())


_OPENAI = (OPENAI.title, RESPONSES.title)
_SERVICES = {OPENAI.body: _OPENAI, ANTHROPIC.body: (ANTHROPIC.title,), GEMINI.body: (GEMINI.title,)}
"""The titles of services by the keys of their requests' bodies."""


def _openai_answer(value: Mapping[str, Any]) -> _Answer:
    """Return the answer in a line of OpenAI, vLLM or LiteLLM: of chats, completions or the Responses API."""
    response = _dict(value.get("response"))
    body: Any = response.get("body")
    if hasattr(body, "model_dump"):
        body = body.model_dump()  # an object of the openai or litellm package
    if isinstance(body, str):
        with suppress(ValueError):
            body = json.loads(body)
    body = _dict(body)
    status = response.get("status_code")
    error = _error(value.get("error")) or _error(body.get("error"))
    if error is None and isinstance(status, int) and status >= _FIRST_ERROR_STATUS:
        error = _error(body) or f"HTTP status {status}"
    usage = _dict(body.get("usage"))
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    details = usage.get("prompt_tokens_details")
    choices = _choices(body.get("choices"))
    services = _OPENAI[:1] if choices else _OPENAI
    if isinstance(body.get("output"), list):  # of the Responses API, whose messages have parts like those of chats
        services = _OPENAI[1:]
        given = _string(body.get("status"))
        end = _string(_dict(body.get("incomplete_details")).get("reason")) or given
        error = error or (given if given in ("failed", "cancelled") else None)
        messages = [item for item in _dicts(body["output"]) if item.get("type") == "message"]
        parts = [part for item in messages for part in _dicts(item.get("content"))]
        choices = [{"message": {"content": parts or None}, "finish_reason": end}]
        prompt, completion = usage.get("input_tokens"), usage.get("output_tokens")
        details = usage.get("input_tokens_details")
    if error is None and not choices:
        error = "the response has no choices"
    ends = [_string(choice.get("finish_reason")) for choice in choices]
    answers = [
        _Choice(_text(choice), end, end == "content_filter" or _refusal(choice) is not None)
        for choice, end in zip(choices, ends, strict=True)
    ]
    return _Answer(services, answers, error, (prompt, completion, _dict(details).get("cached_tokens")))


def _anthropic_answer(result: Mapping[str, Any]) -> _Answer:
    """Return the answer in a result of Anthropic's Message Batches."""
    if result.get("type") != "succeeded":
        given = _dict(_dict(result.get("error")).get("error"))
        details = ": ".join(str(given[key]) for key in ("type", "message") if given.get(key))
        return _Answer(
            _SERVICES[ANTHROPIC.body],
            [],
            details or _error(result.get("error")) or str(result.get("type") or "no result"),
        )
    message = _dict(result.get("message"))
    texts = [str(block.get("text") or "") for block in _dicts(message.get("content")) if block.get("type") == "text"]
    end = _string(message.get("stop_reason"))
    explanation = _string(_dict(message.get("stop_details")).get("explanation"))
    usage = _dict(message.get("usage"))
    cached = usage.get("cache_read_input_tokens")
    prompt = _sum(usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), cached)
    choice = _Choice("".join(texts) if texts else explanation, end, end == "refusal")
    return _Answer(_SERVICES[ANTHROPIC.body], [choice], None, (prompt, usage.get("output_tokens"), cached))


def _gemini_answer(value: Mapping[str, Any]) -> _Answer:
    """Return the answer in a line of Gemini's Batch API."""
    response = _dict(value.get("response"))
    error = _error(value.get("error")) or _error(value.get("status"))
    choices = []
    for candidate in _choices(response.get("candidates")):
        parts = _dicts(_dict(candidate.get("content")).get("parts"))
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
        end = _string(candidate.get("finishReason"))
        choices.append(_Choice("".join(texts) if texts else None, end, _WITHHELD.fullmatch(end or "") is not None))
    feedback = _dict(response.get("promptFeedback"))
    if not choices and feedback.get("blockReason"):
        choices = [_Choice(_string(feedback.get("blockReasonMessage")), _string(feedback["blockReason"]), True)]
    if error is None and not choices:
        error = "the response has no candidates"
    usage = _dict(response.get("usageMetadata"))
    completion = _sum(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount"))
    tokens = (usage.get("promptTokenCount"), completion, usage.get("cachedContentTokenCount"))
    return _Answer(_SERVICES[GEMINI.body], choices, error, tokens)


_WITHHELD = re.compile("(IMAGE_)?(SAFETY|RECITATION|PROHIBITED_CONTENT)|BLOCKLIST|SPII|ESCALATION|MODEL_ARMOR")
"""The reasons for which Gemini withholds an answer."""

_CUT = frozenset({"length", "max_output_tokens", "max_tokens", "model_context_window_exceeded", "MAX_TOKENS"})
"""The words of all services for an answer that the limit of tokens, or the room of the model, has cut off."""


def _sum(*counts: Any) -> int | None:
    """Return the sum of counts; None if there is none."""
    given = [count for count in map(_count, counts) if count is not None]
    return sum(given) if given else None


def _choices(value: Any) -> list[Mapping[str, Any]]:
    """Return the choices, sorted by their `index` field."""
    choices = _dicts(value)
    if len(choices) > 1 and all(isinstance(choice.get("index"), int) for choice in choices):
        choices.sort(key=lambda choice: choice["index"])  # streaming servers sort them by their ends
    return choices


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(choice: Mapping[str, Any]) -> str | None:
    """Return the text of a choice: of a completion, or a message's content or refusal."""
    if choice.get("message") is None:
        return _string(choice.get("text"))
    message = _dict(choice["message"])
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(_dict(part).get("text") or "") for part in content) or _refusal(choice) or ""
    return content if isinstance(content, str) and content else _refusal(choice) or _string(content)


def _refusal(choice: Mapping[str, Any]) -> str | None:
    """Return what a message refuses by, if it has nothing else to say: its own refusal, or those of its parts."""
    message = _dict(choice.get("message"))
    content = message.get("content")
    parts = [_dict(part) for part in content] if isinstance(content, list) else []
    if (isinstance(content, str) and content) or any(part.get("text") for part in parts):
        return None
    refusals = [_string(part.get("refusal")) for part in parts] + [_string(message.get("refusal"))]
    return "".join(filter(None, refusals)) or None


def _error(value: Any) -> str | None:
    """Return the text of an error, at any depth."""
    if isinstance(value, str):
        return value or None
    if not isinstance(value, Mapping):
        return None
    inner = _error(value.get("error"))
    if inner is not None:
        return inner
    code, message = value.get("code"), value.get("message")
    parts = [str(part) for part in (code, message) if part not in (None, "")]
    return ": ".join(parts) or None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, (dict, Mapping)) else {}  # dict first, which is checked fast


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [_dict(item) for item in value] if isinstance(value, list) else []


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) <= _LARGEST_COUNT else None
