"""Answers as the files of predictions that OpenCompass and AISBench score."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Literal
from uuid import NAMESPACE_URL, uuid5

from promptpress import to_pylist
from promptpress.engine import as_table
from promptpress.engine.errors import OutputError, render_error, template_error
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress.typing import TableLike
from promptpress_harness.answers import answered

from promptpress_workbench.export.custom_ids import SAMPLE
from promptpress_workbench.files.write.output_file import output_file


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
        RenderError: If rows have no answer, or aren't one for each row of the data, as those of labels and turns.
        OSError: If the file can't be written.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> table = pa.table({"prompt": ["1+1=?"], "response": ["2"], "status": ["ok"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> print(Path(predictions(table, folder.name, model="gpt", dataset="sums")).read_text())
    {
        "0": {
            "origin_prompt": "1+1=?",
            "prediction": "2"
        }
    }
    >>> folder.cleanup()
    """
    for argument, name in (("model", model), ("dataset", dataset)):
        if not name or os.path.isabs(name) or os.pardir in name.split("/"):
            raise template_error("wrong_type", argument, f"{name!r} is no name of a file")
    rows = as_table(table)
    for column in {PROMPT_COLUMN, gold or PROMPT_COLUMN} - set(rows.column_names):
        raise render_error("missing_column", "the rows have no such column", column=column)
    if SAMPLE in rows.column_names and rows[SAMPLE].to_pylist() != list(range(len(rows))):
        several = {"label", "turn"} & set(rows.column_names)
        what = f"the rows are of a {min(several)} each" if several else "rows are left out, or in another order"
        message = f"isn't 0, 1, 2, ...: {what}, and predictions are one text for each row of the data"
        raise render_error("invalid_result", message, column=SAMPLE)
    choices = [answer if isinstance(answer, list) else [answer] for answer in answered(rows, unanswered, prefix)]
    answers = [texts[0] if len(texts) == 1 else texts for texts in choices]
    if harness == "aisbench" and any(isinstance(answer, list) for answer in answers):
        raise render_error("invalid_result", "AISBench scores one text a row, and these are lists of choices")
    golds = [None] * len(rows) if gold is None else rows[gold].to_pylist()
    # As the harnesses' GenInferencer makes them: a reference that is false isn't there.
    entries = [
        {"origin_prompt": prompt, "prediction": answer} | ({"gold": reference} if reference else {})
        for prompt, answer, reference in zip(to_pylist(rows[PROMPT_COLUMN]), answers, golds, strict=True)
    ]
    path = os.path.join(folder, "predictions", model, f"{dataset}.json")
    if harness == "aisbench":
        path += "l"
        names = [uuid5(NAMESPACE_URL, f"{dataset}/{row}").hex for row in range(len(rows))]
        heads = [{"data_abbr": dataset, "id": row, "success": True, "uuid": name} for row, name in enumerate(names)]
        text = "".join(_json(head | entry) + "\n" for head, entry in zip(heads, entries, strict=True))
    else:
        text = _json({str(row): entry for row, entry in enumerate(entries)}, indent=4)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with output_file(path) as file:
            file.write(text.encode("utf-8", "surrogatepass"))
    except OutputError as error:
        raise OSError(str(error)) from error
    return path


_json = partial(json.dumps, ensure_ascii=False, default=str)
