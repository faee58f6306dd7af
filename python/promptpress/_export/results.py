"""Results of batches, as OpenAI, vLLM and LiteLLM write them: what came of each request."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from lzma import LZMAError
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from promptpress._errors import PromptWarning, render_error
from promptpress._file_errors import DataError, reason
from promptpress._inputs.found_files import found_files
from promptpress._inputs.sources import Source
from promptpress._outputs.json_lines import json_text
from promptpress._tables import as_table

__all__ = ["Result", "read_results"]

FIRST_ERROR_STATUS = 400
_LARGEST_COUNT = 2**63 - 1


class Result(NamedTuple):
    """What came of a request; no more of it, for there may be millions.

    Args:
        custom_id: the request's.
        texts: what the model said, a text for each choice; None where it said nothing, as with calls of tools.
        finish_reasons: why each choice ended.
        error: what went wrong; None where nothing did.
        prompt_tokens: how many tokens the request had.
        completion_tokens: how many the model wrote.
        raw: the result as it came, as JSON; None where nobody asks for it.

    """

    custom_id: str
    texts: tuple[str | None, ...]
    finish_reasons: tuple[str | None, ...]
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    raw: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether there is an answer.

        >>> Result("0", (), (), "expired", None, None).succeeded
        False

        """
        return self.error is None


def read_results(source: Any, *, raw: bool = False) -> Iterator[Result]:
    """Read results.

    Args:
        source: a path of JSON lines (compressed, a pattern or a folder, as samples may be), a table with such rows, a
            result, or several of these.
        raw: whether each is kept as it came, too.

    Yields:
        The results, in order.

    Raises:
        RenderError: when a line or a row is no result.
        OSError: when a file can't be read.

    Warns:
        PromptWarning: of texts with half a character, which Arrow can't hold.

    >>> import pyarrow as pa
    >>> line = {"custom_id": "7", "response": None, "error": {"message": "expired"}}
    >>> [(result.custom_id, result.error) for result in read_results(pa.Table.from_pylist([line]))]
    [('7', 'expired')]

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
            for path, _ in found_files(os.fspath(source), "jsonl"):
                yield from self._of_file(path)
        elif isinstance(source, Mapping) and "custom_id" in source:
            yield self._result(source, "the result")
        elif (
            isinstance(source, Iterable) and not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "schema")
        ):
            for number, one in enumerate(source):
                if isinstance(one, Mapping):
                    yield self._result(one, f"result {number}")
                else:
                    yield from self.read(one)
        else:
            table = as_table(source)
            row = 0
            for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
                for value in batch.to_pylist():
                    yield self._result(value, f"row {row} of the results")
                    row += 1

    def _of_file(self, path: str) -> Iterator[Result]:
        with ExitStack() as stack, Source(path, stack).open() as file:
            for number, line in enumerate(_lines(file, path), 1):
                if not line.strip():
                    continue
                place = f"{path}, line {number}"
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    cut = " (the file ends within it; it was probably not written or fetched to its end)"
                    hint = "" if line.endswith(b"\n") else cut
                    raise render_error("invalid_result", f"{place}: it is no JSON: {error}{hint}") from error
                yield self._result(value, place)

    def _result(self, value: Any, place: str) -> Result:
        if not isinstance(value, Mapping) or not isinstance(value.get("custom_id"), str):
            found = json_text(value)[:60]
            given = _dict(value).get("custom_id")
            what = "it has no custom_id" if given is None else f"its custom_id is no string, but {given!r:.60}"
            message = f"{place}: it is no result of a batch: {what} ({found})"
            raise render_error("invalid_result", message)
        if "response" not in value and "error" not in value:
            what = "a request" if "body" in value else "no result"
            raise render_error("invalid_result", f"{place}: it is {what}: it has neither a response nor an error")
        response = _dict(value.get("response"))
        body: Any = response.get("body")
        if hasattr(body, "model_dump"):
            body = body.model_dump()  # an object of the openai or litellm package
        body = _dict(_parsed(body) if isinstance(body, str) else body)
        status = response.get("status_code")
        error = _error(value.get("error")) or _error(body.get("error"))
        if error is None and isinstance(status, int) and status >= FIRST_ERROR_STATUS:
            error = _error(body) or f"HTTP status {status}"
        choices = _choices(body.get("choices"))
        if error is None and not choices:
            error = "the response has no choices"
        usage = _dict(body.get("usage"))
        broken = self.broken
        result = Result(
            custom_id=value["custom_id"],
            texts=tuple([self._held(_text(choice)) for choice in choices]),
            finish_reasons=tuple([self._held(_string(choice.get("finish_reason"))) for choice in choices]),
            error=self._held(error),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            raw=self._held(json_text(value)) if self._raw else None,
        )
        self.broken = min(self.broken, broken + 1)
        return result

    def _held(self, text: str | None) -> str | None:
        """Return a text as Arrow can hold it: a model that is cut off within a character writes half of it."""
        if text is None or text.isascii():
            return text
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.broken += whole != text
        return whole


_BATCH_ROWS = 4096


def _lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Read lines; compressed data that are damaged or end early are errors of the file."""
    try:
        yield from file
    except (pa.ArrowException, EOFError, LZMAError, OSError) as error:
        raise DataError(f"{path}: {reason(error)}") from error


def _choices(value: Any) -> list[Mapping[str, Any]]:
    """Sort choices by what they say their places are."""
    choices = [_dict(choice) for choice in value] if isinstance(value, list) else []
    if len(choices) > 1 and all(isinstance(choice.get("index"), int) for choice in choices):
        choices.sort(key=lambda choice: choice["index"])  # those of a streaming server come as they end
    return choices


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(choice: Mapping[str, Any]) -> str | None:
    """What a choice says; a completion's text, or a message's content or refusal."""
    if choice.get("message") is None:
        text = choice.get("text")
        return text if isinstance(text, str) else None
    message = _dict(choice["message"])
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(_dict(part).get("text") or "") for part in content)
    return content if isinstance(content, str) else _string(message.get("refusal"))


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
    return value if isinstance(value, (dict, Mapping)) else {}  # dict first: it is told at once


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) <= _LARGEST_COUNT else None
