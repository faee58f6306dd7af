"""Results of batches beside the rows that were asked, in the rows' order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from promptpress._errors import PromptWarning, render_error
from promptpress._export.custom_ids import CustomIds, as_texts
from promptpress._export.results import Result, read_results
from promptpress._export.written import Path
from promptpress._tables import as_table
from promptpress.typing import TableLike

__all__ = ["join"]

_SHOWN = 3


def join(
    results: Path | TableLike | Iterable[Any],
    table: TableLike,
    *,
    custom_id: str = "{sample}",
    choices: bool = False,
    raw: bool = False,
    prefix: str = "",
) -> pa.Table:
    """Bring the results of batches back to the rows that were asked, in the rows' order.

    Results may come in any order, from any number of files, and some may be missing. Output and error files of OpenAI's
    Batch API are read, and what vLLM's `run-batch` and LiteLLM write. A success counts more than an error for the same
    request, a later result more than an earlier one, so files of a second try are simply added.

    Args:
        results: A path of JSON lines (`out.jsonl.gz` and `"out-*.jsonl"` too), a table or dicts of such lines, or a
            list of these.
        table: What was exported.
        custom_id: The pattern that it was exported with.
        choices: Whether `response` and `finish_reason` are lists, with one item for each choice (`n` in the body).
            Otherwise they are the first choice's.
        raw: Whether to add each result as it came, as JSON: `result`.
        prefix: What the new columns' names begin with.

    Returns:
        The table with `response`, `finish_reason`, `status` (`"ok"`, `"error"`, or `"missing"` where there is no
        result), `error`, `prompt_tokens` and `completion_tokens`.

    Raises:
        TemplateError: If the pattern names no column of the table.
        RenderError: If a line is no result, no result is of a row of the table, or a new column's name is taken.
        OSError: If a file can't be read.

    Warns:
        PromptWarning: Of results that are of no row, of rows with several results, of choices that are left out, and of
            answers with half a character, which is replaced by U+FFFD.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> body = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}
    >>> results = [{"custom_id": "1", "response": {"status_code": 200, "body": body}, "error": None}]
    >>> export.join(results, pa.table({"prompt": ["1+1=?", "2+2=?"]})).select(["response", "status"]).to_pylist()
    [{'response': None, 'status': 'missing'}, {'response': '4', 'status': 'ok'}]

    """
    asked = as_table(table)
    names = [f"{prefix}{name}" for name in (*_COLUMNS, *(["result"] if raw else []))]
    taken = [name for name in names if name in asked.column_names]
    if taken:
        message = (
            'the table has a column of this name already; prefix="answer_", or the like, gives the new ones others'
        )
        raise render_error("duplicate_output_column", message, column=taken[0])
    ids = CustomIds(custom_id, asked.schema)
    rows = {
        text: row for row, text in enumerate(as_texts([a for batch in asked.to_batches() for a in ids.checked(batch)]))
    }
    found = _by_row(read_results(results, raw=raw), rows, custom_id)
    if not choices:
        several = sum(len(result.texts) > 1 for result in found if result is not None)
        if several:
            have = _counted(several, "result has", "results have")
            _warn(f"{have} more than one choice, and the first is taken; choices=True gives all")
    columns = [_column(name, found, choices) for name in _COLUMNS]
    if raw:
        columns.append(pa.array([None if r is None else r.raw for r in found], pa.large_string()))
    for name, column in zip(names, columns, strict=True):
        asked = asked.append_column(name, column)
    return asked


_COLUMNS = {
    "response": pa.large_string(),
    "finish_reason": pa.string(),
    "status": pa.string(),
    "error": pa.string(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
}


def _by_row(results: Iterable[Result], rows: dict[str, int], pattern: str) -> list[Result | None]:
    """Find each row's result, and tell of the others."""
    out: list[Result | None] = [None] * len(rows)
    unknown: list[str] = []
    repeated: dict[str, None] = {}
    number_unknown = count = 0
    for result in results:
        count += 1
        row = rows.get(result.custom_id)
        if row is None:
            number_unknown += 1
            if len(unknown) < _SHOWN:
                unknown.append(result.custom_id)
            continue
        before = out[row]
        if before is not None and before.succeeded == result.succeeded:
            repeated[result.custom_id] = None
        if before is None or result.succeeded or not before.succeeded:
            out[row] = result
    if number_unknown:
        shown = ", ".join(map(repr, unknown)) + (", ..." if number_unknown > _SHOWN else "")
        what = f"custom_id={pattern!r} the pattern that it was exported with, and the table the same?"
        if number_unknown == count:
            example = next(iter(rows), None)
            has = "the table has no rows" if example is None else f"the table's first row has {example!r}"
            message = (
                f"none of the {count:,} results is of a row of the table: they are of {shown}, and {has}; is {what}"
            )
            raise render_error("invalid_result", message)
        results_are = _counted(number_unknown, "result is", "results are")
        _warn(f"{results_are} of no row of the table, and left out: {shown}; is {what}")
    if repeated:
        shown = ", ".join(map(repr, list(repeated)[:_SHOWN])) + (", ..." if len(repeated) > _SHOWN else "")
        rows_have = _counted(len(repeated), "row has", "rows have")
        _warn(f"{rows_have} more than one result, and the last of them is taken: {shown}")
    return out


def _column(name: str, found: list[Result | None], choices: bool) -> pa.Array:
    kind = _COLUMNS[name]
    if name in ("response", "finish_reason"):
        lists = [None if r is None else (r.texts if name == "response" else r.finish_reasons) for r in found]
        if choices:
            return pa.array(lists, pa.list_(kind))
        return pa.array([values[0] if values else None for values in lists], kind)
    if name == "status":
        words = {None: "missing", True: "ok", False: "error"}
        return pa.array([words[r if r is None else r.succeeded] for r in found], kind)
    return pa.array([None if r is None else getattr(r, name) for r in found], kind)


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _warn(message: str) -> None:
    warnings.warn(message, PromptWarning, stacklevel=4)
