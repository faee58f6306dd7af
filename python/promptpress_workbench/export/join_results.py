"""Results of batches, joined to the rows of the exported table, and the failed requests for a second try."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import chain, islice
from lzma import LZMAError
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import DataError, PromptWarning
from promptpress.engine import PREFIX_ORDER, as_table
from promptpress.engine.errors import OutputError, callers_level, reason, render_error, template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import rows_in_any_order
from promptpress.typing import TableLike

from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.export.streams import Path, Written
from promptpress_workbench.files.read.formats import find_files
from promptpress_workbench.files.read.sources import Source
from promptpress_workbench.files.write.json_lines import json_text
from promptpress_workbench.files.write.shards import sharded_lines

_FIRST_ERROR_STATUS = 400
_LARGEST_COUNT = 2**63 - 1
_BATCH_ROWS = 4096


class Result(NamedTuple):
    """The parts of a request's result that `join` needs; not all of it, because there may be millions.

    `texts` and `finish_reasons` have an item for each choice. `is_refused` is true if the model refuses to answer, and
    the texts say so. `raw` is the result as it came, as JSON, if it is wanted.
    """

    custom_id: str
    texts: tuple[str | None, ...]
    finish_reasons: tuple[str | None, ...]
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    is_refused: bool = False
    raw: str | None = None

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
        elif isinstance(source, Mapping) and "custom_id" in source:
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
        if not isinstance(value, Mapping) or not isinstance(value.get("custom_id"), str):
            given = _dict(value).get("custom_id")
            what = "it has no custom_id" if given is None else f"its custom_id is no string, but {given!r:.60}"
            message = f"{location}: it is no result of a batch: {what} ({json_text(value)[:60]})"
            raise render_error("invalid_result", message)
        if "response" not in value and "error" not in value:
            what = "a request" if "body" in value else "no result"
            raise render_error("invalid_result", f"{location}: it is {what}: it has neither a response nor an error")
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
            is_refused=error is None and None not in map(_refusal, choices),
            raw=self._held(json_text(value)) if self._raw else None,
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


def _choices(value: Any) -> list[Mapping[str, Any]]:
    """Return the choices, sorted by their `index` field."""
    choices = [_dict(choice) for choice in value] if isinstance(value, list) else []
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


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) <= _LARGEST_COUNT else None


_BATCH_LINES = 4096


def write_retry(requests: Path | Iterable[Path], path: Path, failed: Iterable[str]) -> Written:
    """Write the requests that failed as they were sent; warn if some of them aren't in the files that were sent.

    If there were several files, no file of the retry has more lines or bytes than the largest of them, so that it
    keeps the limits of the service.
    """
    given = [requests] if isinstance(requests, (str, os.PathLike)) else requests
    files = [file for item in given for file, _ in find_files(os.fspath(item), "jsonl")]
    if any(os.path.realpath(file) == os.path.realpath(path) for file in files):
        raise OutputError(f"{os.fspath(path)}: it is one of the files that were sent; take another name")
    left = dict.fromkeys(failed)
    count = len(left)
    with sharded_lines(os.fspath(path), *_limits(files)) as out:
        lines = (line for file in files for line in _failed_lines(file, left))
        while some := list(islice(lines, _BATCH_LINES)):
            out.write(pa.array(some, pa.large_binary()))
        if left:
            ids = ", ".join(map(repr, islice(left, _EXAMPLES))) + (", ..." if len(left) > _EXAMPLES else "")
            message = f"{len(left):,} of {count:,} failed requests are in none of the files that were sent: {ids}"
            if len(left) == count:
                raise render_error("invalid_result", f"{message}; are these the files?")
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
    return Written(out.paths, out.lines, out.bytes)


def _limits(files: list[str]) -> tuple[int | None, int | None]:
    """Return the lines and the bytes of the largest of several files; one file has no limits."""
    if len(files) == 1:
        return None, None
    sizes = [[len(line) + (not line.endswith(b"\n")) for line in file_lines(file)] for file in files]
    return max(map(len, sizes), default=0) or None, max(map(sum, sizes), default=0) or None


def _failed_lines(file: str, left: dict[str, None]) -> Iterator[bytes]:
    """Yield the lines whose ids are left, each once, and take these ids out of them."""
    for location, line, request in file_values(file):
        custom_id = request.get("custom_id") if isinstance(request, dict) else None
        if not isinstance(custom_id, str) or "body" not in request:
            message = f"{location}: it is no request of a batch: it has no custom_id, or no body"
            raise render_error("invalid_result", message)
        if custom_id in left:
            del left[custom_id]
            yield line if line.endswith(b"\n") else line + b"\n"


_EXAMPLES = 3
"""The largest number of ids that a message lists."""

_COLUMNS = {
    "response": pa.large_string(),
    "finish_reason": pa.string(),
    "status": pa.string(),
    "error": pa.string(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
}


def join(
    results: Path | TableLike | Iterable[Any],
    table: TableLike,
    *,
    custom_id: str = "{sample}",
    choices: bool = False,
    raw: bool = False,
    prefix: str = "",
    requests: Path | Iterable[Path] | None = None,
    retry: Path | None = None,
) -> pa.Table:
    """Join the results of batches to the rows of the exported table, in the rows' order.

    Rows that were rendered in prefix order come in the order of their samples again, if the table has the metadata that
    `render` gives it, as files of Parquet and Arrow keep it.

    Results may come in any order, from any number of files, and some may be missing. The output and error files
    of OpenAI's Batch API, of vLLM's `run-batch` and of LiteLLM are read. If a request has several results, a success
    counts more than an error, and a later result more than an earlier one, so files of a second try are simply added.

    Args:
        results: A path of JSON lines (`out.jsonl.gz` and `"out-*.jsonl"` too), a table or dicts of such lines, or a
            list of these.
        table: The exported table.
        custom_id: The pattern that it was exported with.
        choices: Make `response` and `finish_reason` lists with one item for each choice (`n` in the body). Otherwise
            they are the first choice's.
        raw: Add the column `result`, each result as it came, as JSON.
        prefix: The beginning of the new columns' names.
        requests: The batch files that were sent, for `retry`: a path, a pattern, a folder, or a list of these.
        retry: A file for the requests that failed or have no result, line by line as they were sent. Its results are
            joined together with the first ones: `join([first, second], table)`. If nothing failed, it is empty.

    Returns:
        The table with `response`, `finish_reason`, `status` (`"ok"`, `"error"`, `"refused"` where the response is a
        refusal to answer, or `"missing"` where there is no result), `error`, `prompt_tokens` and `completion_tokens`.

    Raises:
        TemplateError: If the pattern names no column of the table, or `retry` is given without `requests`.
        RenderError: If a line is no result, no result is of a row of the table, the table has a new column's name, or
            none of the failed requests is in the files that were sent.
        OSError: If a file can't be read, or the retry can't be written.

    Warns:
        PromptWarning: For results that belong to no row, rows with several results, choices that are left out, failed
            requests that aren't in the files that were sent, and answers with half a character, which is replaced by
            U+FFFD.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> body = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}
    >>> results = [{"custom_id": "1", "response": {"status_code": 200, "body": body}, "error": None}]
    >>> export.join(results, pa.table({"prompt": ["1+1=?", "2+2=?"]})).select(["response", "status"]).to_pylist()
    [{'response': None, 'status': 'missing'}, {'response': '4', 'status': 'ok'}]
    """
    if (requests is None) != (retry is None):
        message = "requests= names the files that were sent, and retry= the file for those that failed; give both"
        raise template_error("missing_key", "requests" if requests is None else "retry", message)
    out, failed = joined(results, table, custom_id=custom_id, choices=choices, raw=raw, prefix=prefix)
    if requests is not None and retry is not None:
        try:
            write_retry(requests, retry, failed)
        except OutputError as error:
            raise OSError(str(error)) from error
    return out


def joined(
    results: Path | TableLike | Iterable[Any],
    table: TableLike,
    *,
    custom_id: str,
    choices: bool,
    raw: bool,
    prefix: str,
) -> tuple[pa.Table, list[str]]:
    """Join results to the rows of the exported table, as `join`; return the ids of the rows without an answer, too."""
    exported = _in_order_of_samples(as_table(table))
    names = [f"{prefix}{name}" for name in (*_COLUMNS, *(["result"] if raw else []))]
    clashes = [name for name in names if name in exported.column_names]
    if clashes:
        message = (
            'the table has a column of this name already; prefix="answer_", or the like, gives the new ones others'
        )
        raise render_error("duplicate_output_column", message, column=clashes[0])
    ids = CustomIds(custom_id, exported.schema)
    arrays = chain.from_iterable(map(ids.checked, exported.to_batches()))
    rows = {text.decode(): row for row, text in enumerate(chain.from_iterable(map(pa.Array.to_pylist, arrays)))}
    by_row = _by_row(read_results(results, raw=raw), rows, custom_id)
    if not choices:
        several = sum(len(result.texts) > 1 for result in by_row if result is not None)
        if several:
            have = _counted(several, "result has", "results have")
            _warn(f"{have} more than one choice, and the first is taken; choices=True gives all")
    columns = [_column(name, by_row, choices) for name in _COLUMNS]
    if raw:
        columns.append(pa.array([None if r is None else r.raw for r in by_row], pa.large_string()))
    for name, column in zip(names, columns, strict=True):
        exported = exported.append_column(name, column)
    return exported, [text for text, row in rows.items() if (result := by_row[row]) is None or not result.succeeded]


def _in_order_of_samples(table: pa.Table) -> pa.Table:
    """Return a table with its rows in the order of their samples, if it was rendered in another one."""
    metadata = table.schema.metadata or {}
    index = metadata.get(PREFIX_ORDER.encode(), b"").decode()
    if index not in table.schema.names or not len(table):
        return table
    rows = pc.sort_indices(table.column(index)).cast(pa.int64())
    columns = [rows_in_any_order(column, rows) for column in table.columns]
    metadata = {key: value for key, value in metadata.items() if key != PREFIX_ORDER.encode()}
    return pa.Table.from_arrays(columns, schema=table.schema.with_metadata(metadata))


def _by_row(results: Iterable[Result], rows: dict[str, int], pattern: str) -> list[Result | None]:
    """Return each row's result; warn of the others."""
    out: list[Result | None] = [None] * len(rows)
    unknown: list[str] = []
    repeated: dict[str, None] = {}
    number_unknown = count = 0
    for result in results:
        count += 1
        row = rows.get(result.custom_id)
        if row is None:
            number_unknown += 1
            if len(unknown) < _EXAMPLES:
                unknown.append(result.custom_id)
            continue
        before = out[row]
        if before is not None and before.succeeded == result.succeeded:
            repeated[result.custom_id] = None
        if before is None or result.succeeded or not before.succeeded:
            out[row] = result
    if number_unknown:
        listed = _listed(unknown, number_unknown)
        what = f"custom_id={pattern!r} the pattern that it was exported with, and the table the same?"
        if number_unknown == count:
            example = next(iter(rows), None)
            has = "the table has no rows" if example is None else f"the table's first row has {example!r}"
            message = (
                f"none of the {count:,} results is of a row of the table: they are of {listed}, and {has}; is {what}"
            )
            raise render_error("invalid_result", message)
        results_are = _counted(number_unknown, "result is", "results are")
        _warn(f"{results_are} of no row of the table, and left out: {listed}; is {what}")
    if repeated:
        rows_have = _counted(len(repeated), "row has", "rows have")
        _warn(
            f"{rows_have} more than one result, and the last of them is taken: {_listed(list(repeated), len(repeated))}"
        )
    return out


def _listed(ids: list[str], count: int) -> str:
    return ", ".join(map(repr, ids[:_EXAMPLES])) + (", ..." if count > _EXAMPLES else "")


def _column(name: str, results: list[Result | None], choices: bool) -> pa.Array:
    kind = _COLUMNS[name]
    if name in ("response", "finish_reason"):
        lists = [None if r is None else (r.texts if name == "response" else r.finish_reasons) for r in results]
        if choices:
            return pa.array(lists, pa.list_(kind))
        return pa.array([values[0] if values else None for values in lists], kind)
    if name == "status":
        return pa.array(["missing" if r is None else r.status for r in results], kind)
    return pa.array([None if r is None else getattr(r, name) for r in results], kind)


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _warn(message: str) -> None:
    warnings.warn(message, PromptWarning, stacklevel=callers_level())
