"""Answers as the files of predictions that OpenCompass and AISBench score."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from itertools import repeat
from typing import Any, Literal

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import as_table
from promptpress.engine.errors import OutputError, render_error, template_error
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress.typing import TableLike
from promptpress_harness.answers import answered

from promptpress_workbench.export.custom_ids import SAMPLE
from promptpress_workbench.files.write.output_file import output_file

_BATCH_ROWS = 4096


def predictions(
    table: TableLike,
    folder: str | os.PathLike[str],
    *,
    model: str,
    dataset: str,
    harness: Literal["opencompass", "aisbench"] = "opencompass",
    gold: str | None = None,
    unanswered: str | None = None,
    prefix: str = "",
) -> str:
    """Write joined answers as the predictions of a model for a dataset, which the harness scores.

    `folder` is that of a run, `WORK_DIR/TIMESTAMP`: `opencompass CONFIG -w WORK_DIR -r TIMESTAMP --mode eval` and
    `ais_bench CONFIG -w WORK_DIR --reuse TIMESTAMP --mode eval` score its predictions. The rows are those that the
    dataset has in the harness, in its order.

    Args:
        table: The rows that `join` returns, one for each row of the dataset.
        folder: The folder of the run, in which `predictions/MODEL/DATASET.json`, or `.jsonl` for AISBench, is written.
        model: The model's `abbr`.
        dataset: The dataset's `abbr`.
        harness: Whose form the file has.
        gold: The column of reference answers; the file holds them for people, because the harness scores with its own.
        unanswered: The prediction of rows without an answer, be it missing, an error or a refusal. None: an error.
        prefix: The beginning of the names of the columns that `join` has added.

    Returns:
        The path of the file.

    Raises:
        TemplateError: If a name is no name of a file.
        RenderError: If rows have no answer, or the table has no column of answers or of prompts, or rows for labels or
            turns, which are no predictions.
        OSError: If the file can't be written.

    >>> import tempfile
    >>> table = pa.table({"prompt": ["1+1=?"], "response": ["2"], "status": ["ok"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> print(open(predictions(table, folder.name, model="gpt", dataset="sums")).read())
    {
        "0": {
            "origin_prompt": "1+1=?",
            "prediction": "2"
        }
    }
    """
    for place, name in (("model", model), ("dataset", dataset)):
        if not name or os.path.isabs(name) or os.pardir in name.split("/"):
            raise template_error("wrong_type", place, f"{name!r} is no name of a file")
    rows = as_table(table)
    _check_rows(rows, harness)
    for column in (PROMPT_COLUMN, *([] if gold is None else [gold])):
        if column not in rows.column_names:
            raise render_error("missing_column", "the rows have no such column", column=column)
    answers = answered(rows, unanswered, prefix)
    if harness == "aisbench" and any(isinstance(answer, list) for answer in answers):
        raise render_error("invalid_result", "AISBench scores one text a row, and these are lists of choices")
    path = os.path.join(folder, "predictions", model, f"{dataset}.json{'l' if harness == 'aisbench' else ''}")
    entries = _entries(rows, answers, gold)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with output_file(path) as file:
            for text in _lines(entries, dataset) if harness == "aisbench" else _members(entries):
                file.write(text.encode("utf-8", "surrogatepass"))
    except OutputError as error:
        raise OSError(str(error)) from error
    return path


def _check_rows(rows: pa.Table, harness: str) -> None:
    """Refuse rows that aren't one for each sample, in their order."""
    if SAMPLE not in rows.column_names or rows[SAMPLE].to_pylist() == list(range(len(rows))):
        return
    for name, why in (("label", "scores labels by log-likelihoods"), ("turn", "scores the turns of a sample together")):
        if name in rows.column_names:
            message = f"the rows are of a {name} each; {harness} {why}, which answers of a batch can't be"
            raise render_error("invalid_result", message, column=name)
    message = (
        "isn't 0, 1, 2, ...: rows are left out or in another order, and a prediction's number is its row in the data"
    )
    raise render_error("invalid_result", message, column=SAMPLE)


def _entries(table: pa.Table, answers: list[Any], gold: str | None) -> Iterator[dict[str, Any]]:
    """Yield the entry of each row, as the harnesses' GenInferencer makes it: a reference that is false isn't there."""
    texts = iter(answers)
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        golds = repeat(None) if gold is None else batch.column(gold).to_pylist()
        for prompt, reference in zip(to_pylist(batch.column(PROMPT_COLUMN)), golds, strict=False):
            entry = {"origin_prompt": prompt, "prediction": next(texts)}
            yield entry | ({"gold": reference} if reference else {})


def _members(entries: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield the parts of a JSON object of all entries by number, indented as OpenCompass writes it."""
    yield "{"
    separator = ""
    for number, entry in enumerate(entries):
        text = json.dumps({str(number): entry}, indent=4, ensure_ascii=False, default=str)
        yield f"{separator}{text[1:-2]}"
        separator = ","
    yield "\n}" if separator else "}"


def _lines(entries: Iterator[dict[str, Any]], dataset: str) -> Iterator[str]:
    """Yield the lines of AISBench's file; the `uuid`, which is random there, is the same for the same row here."""
    for number, entry in enumerate(entries):
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{dataset}/{number}").hex
        head = {"data_abbr": dataset, "id": number, "success": True, "uuid": identity}
        yield json.dumps({**head, **entry}, ensure_ascii=False, default=str) + "\n"
