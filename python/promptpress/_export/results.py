"""Results of batches, as OpenAI, vLLM and LiteLLM write them: what came of each request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from promptpress._errors import render_error
from promptpress._outputs.json_lines import json_text
from promptpress._tables import as_table

__all__ = ["Result", "read_results"]

FIRST_ERROR_STATUS = 400


@dataclass(frozen=True)
class Result:
    """What came of a request.

    Args:
        custom_id: the request's.
        texts: what the model said, a text for each choice; None where it said nothing, as with calls of tools.
        finish_reasons: why each choice ended.
        error: what went wrong; None where nothing did.
        prompt_tokens: how many tokens the request had.
        completion_tokens: how many the model wrote.
        raw: the result as it came.

    """

    custom_id: str
    texts: list[str | None]
    finish_reasons: list[str | None]
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    raw: Mapping[str, Any]

    @property
    def succeeded(self) -> bool:
        """Whether there is an answer.

        >>> Result("0", [], [], "expired", None, None, {}).succeeded
        False

        """
        return self.error is None


def read_results(source: Any) -> Iterator[Result]:
    """Read results.

    Args:
        source: a path of JSON lines, a table with such rows, or several of these.

    Yields:
        The results, in order.

    Raises:
        RenderError: when a line or a row is no result.
        OSError: when a file can't be read.

    >>> import pyarrow as pa
    >>> line = {"custom_id": "7", "response": None, "error": {"message": "expired"}}
    >>> [(result.custom_id, result.error) for result in read_results(pa.Table.from_pylist([line]))]
    [('7', 'expired')]

    """
    if isinstance(source, (str, os.PathLike)):
        yield from _of_file(os.fspath(source))
    elif isinstance(source, Iterable) and not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "schema"):
        for number, one in enumerate(source):
            if isinstance(one, Mapping):
                yield _result(one, f"result {number}")
            else:
                yield from read_results(one)
    else:
        table = as_table(source)
        for row, value in enumerate(table.to_pylist()):
            yield _result(value, f"row {row} of the results")


def _of_file(path: str) -> Iterator[Result]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                value = json.loads(line)
            except ValueError as error:
                cut = " (the file ends within it; it was probably not written or fetched to its end)"
                hint = "" if line.endswith(b"\n") else cut
                raise render_error("invalid_result", f"{place}: it is no JSON: {error}{hint}") from error
            yield _result(value, place)


def _result(value: Any, place: str) -> Result:
    if not isinstance(value, Mapping) or not isinstance(value.get("custom_id"), str):
        found = json_text(value)[:60]
        message = f"{place}: it is no result of a batch: it has no custom_id ({found})"
        raise render_error("invalid_result", message)
    if "response" not in value and "error" not in value:
        what = "a request" if "body" in value else "no result"
        raise render_error("invalid_result", f"{place}: it is {what}: it has neither a response nor an error")
    response = _dict(value.get("response"))
    body = response.get("body")
    body = _dict(_parsed(body) if isinstance(body, str) else body)
    status = response.get("status_code")
    error = _error(value.get("error")) or _error(body.get("error"))
    if error is None and isinstance(status, int) and status >= FIRST_ERROR_STATUS:
        error = _error(body) or f"HTTP status {status}"
    choices = [_dict(choice) for choice in body.get("choices") or ()]
    if error is None and not choices:
        error = "the response has no choices"
    usage = _dict(body.get("usage"))
    return Result(
        custom_id=value["custom_id"],
        texts=[_text(choice) for choice in choices],
        finish_reasons=[choice.get("finish_reason") for choice in choices],
        error=error,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        raw=value,
    )


def _text(choice: Mapping[str, Any]) -> str | None:
    """What a choice says; a completion's text, or a message's content or refusal."""
    if choice.get("message") is None:
        text = choice.get("text")
        return text if isinstance(text, str) else None
    message = _dict(choice["message"])
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(_dict(part).get("text") or "") for part in content)
    return content if isinstance(content, str) else message.get("refusal")


def _error(value: Any) -> str | None:
    """What an error says, however deep it does."""
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


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None
