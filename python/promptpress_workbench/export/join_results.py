"""Results of batches, joined to the rows of the exported table, and the failed requests for a second try."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import PREFIX_ORDER, as_table
from promptpress.engine.errors import OutputError, callers_level, render_error, template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import rows_in_any_order
from promptpress.typing import TableLike

from promptpress_workbench.export.batch_results import Result, file_lines, file_values, id_of, read_results, services_of
from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.export.streams import Path, Written
from promptpress_workbench.files.read.formats import find_files
from promptpress_workbench.files.write.shards import sharded_lines

_BATCH_LINES = 4096


class Joined(NamedTuple):
    """Rows with their results.

    `failed` has the ids of rows without an answer, `cut` is the number of rows with one that the limit of tokens has
    cut off, and `services` are the titles of those whose form the results may have.
    """

    table: pa.Table
    failed: list[str]
    cut: int
    services: frozenset[str]


def write_retry(requests: Path | Iterable[Path], path: Path, given: Joined) -> Written:
    """Write the requests that failed as they were sent; warn if some of them aren't in the files that were sent.

    Requests in the form of a service that none of the results is of are an error.
    If there were several files, no file of the retry has more lines or bytes than the largest of them, so that it
    keeps the limits of the service.
    """
    sent = [requests] if isinstance(requests, (str, os.PathLike)) else requests
    files = [file for item in sent for file, _ in find_files(os.fspath(item), "jsonl")]
    if any(os.path.realpath(file) == os.path.realpath(path) for file in files):
        raise OutputError(f"{os.fspath(path)}: it is one of the files that were sent; take another name")
    left = dict.fromkeys(given.failed)
    count = len(left)
    with sharded_lines(os.fspath(path), *_limits(files)) as out:
        lines = (line for file in files for line in _failed_lines(file, left, given.services))
        while some := list(islice(lines, _BATCH_LINES)):
            out.write(pa.array(some, pa.large_binary()))
        if left:
            ids = ", ".join(map(repr, islice(left, _EXAMPLES))) + (", ..." if len(left) > _EXAMPLES else "")
            message = f"{len(left):,} of {count:,} failed requests are in none of the files that were sent: {ids}"
            # Where other rows have answers, these may be rows that were never sent.
            if len(left) == count == len(given.table):
                raise render_error("invalid_result", f"{message}; are these the files?")
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
    return Written(out.paths, out.lines, out.bytes)


def _limits(files: list[str]) -> tuple[int | None, int | None]:
    """Return the lines and the bytes of the largest of several files; one file has no limits."""
    if len(files) == 1:
        return None, None
    sizes = [[len(line) + (not line.endswith(b"\n")) for line in file_lines(file)] for file in files]
    return max(map(len, sizes), default=0) or None, max(map(sum, sizes), default=0) or None


def _failed_lines(file: str, left: dict[str, None], services: frozenset[str]) -> Iterator[bytes]:
    """Yield the lines whose ids are left, each once, and take these ids out of them."""
    for location, line, request in file_values(file):
        custom_id = id_of(request)
        of_request = services_of(request)
        if not isinstance(custom_id, str) or not of_request:
            message = f"{location}: it is no request of a batch: it has no custom_id or key, or no body"
            raise render_error("invalid_result", message)
        if services and services.isdisjoint(of_request):
            titles = [" or ".join(sorted(titles)) for titles in (of_request, services)]
            message = f"{location}: it is a request to {titles[0]}, and the results are of {titles[1]}"
            raise render_error("invalid_result", f"{message}; name the files that were sent")
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
    "cached_tokens": pa.int64(),
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

    Results may come in any order, from any number of files, and some may be missing. The output and error files of
    OpenAI's Batch API (chats and Responses), of vLLM's `run-batch` and of LiteLLM, and the results of Anthropic's
    Message Batches and of Gemini's Batch API are read. If a request has several results, a success
    counts more than an error, and a later result more than an earlier one, so files of a second try are simply added.

    Args:
        results: A path of JSON lines (`out.jsonl.gz` and `"out-*.jsonl"` too), a table or dicts of such lines, what
            `client.messages.batches.results` of Anthropic's package yields, or a list of these.
        table: The exported table.
        custom_id: The pattern that it was exported with.
        choices: Make `response` and `finish_reason` lists with one item for each choice (`n` in the body, or
            `candidateCount`). Otherwise they are the first choice's.
        raw: Add the column `result`, each result as it came, as JSON.
        prefix: The beginning of the new columns' names.
        requests: The batch files that were sent, for `retry`: a path, a pattern, a folder, or a list of these.
        retry: A file for the requests that failed or have no result, line by line as they were sent. Its results are
            joined together with the first ones: `join([first, second], table)`. If nothing failed, it is empty.

    Returns:
        The table with `response`, `finish_reason`, `status` (`"ok"`, `"error"`, `"refused"` where the model refuses to
        answer or the service withholds it, or `"missing"` where there is no result), `error`, `prompt_tokens` (with
        those that a cache has), `completion_tokens` (with those of reasoning) and `cached_tokens`. Reasons are in the
        service's own words.

    Raises:
        TemplateError: If the pattern names no column of the table, or `retry` is given without `requests`.
        RenderError: If a line is no result, no result is of a row of the table, the table has a new column's name, or
            the files that were sent have none of the failed requests, or are of another service than the results.
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
    out = joined(results, table, custom_id=custom_id, choices=choices, raw=raw, prefix=prefix)
    if requests is not None and retry is not None:
        try:
            write_retry(requests, retry, out)
        except OutputError as error:
            raise OSError(str(error)) from error
    return out.table


def joined(
    results: Path | TableLike | Iterable[Any],
    table: TableLike,
    *,
    custom_id: str,
    choices: bool,
    raw: bool,
    prefix: str,
) -> Joined:
    """Join results to the rows of the exported table, as `join`."""
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
    failed = [text for text, row in rows.items() if (result := by_row[row]) is None or not result.succeeded]
    given = [result for result in by_row if result is not None]
    titles = {frozenset(result.services) for result in given}
    services = chain.from_iterable(some for some in titles if not any(fewer < some for fewer in titles))
    return Joined(exported, failed, sum(result.is_cut for result in given), frozenset(services))


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
