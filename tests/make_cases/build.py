"""Writes inputs as case files: named cases with the results of the models, as readable JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from case_files import table_of, value_of

from .oracle import Refused, columns_of

Columns = list[tuple[str, Any, list[Any]]]
WIDTH = 120


@dataclass
class Input:
    """One case's input; `refused` says the kind and place of the error where it is one."""

    settings: dict[str, Any]
    samples: Columns | None = None
    examples: Columns | None = None
    replies: list[list[str]] | None = None
    refused: dict[str, Any] | None = None


@dataclass
class File:
    """The cases of one rule, and what they have in common."""

    about: str
    settings: dict[str, Any] = field(default_factory=dict)
    samples: Columns | None = None
    examples: Columns | None = None
    cases: dict[str, Input] = field(default_factory=dict)


def case(
    *,
    samples: Columns | None = None,
    examples: Columns | None = None,
    replies: list[list[str]] | None = None,
    **settings: Any,
) -> Input:
    return Input(settings, samples, examples, replies)


def template_error(
    path: str | None, *, samples: Columns | None = None, examples: Columns | None = None, **settings: Any
) -> Input:
    """A case whose configuration is wrong at `path`."""
    return Input(settings, samples, examples, refused={"kind": "template", **({} if path is None else {"path": path})})


def render_error(
    *,
    row: int | None = None,
    column: str | None = None,
    samples: Columns | None = None,
    examples: Columns | None = None,
    **settings: Any,
) -> Input:
    """A case whose data is wrong at that place."""
    location = {key: value for key, value in (("row", row), ("column", column)) if value is not None}
    return Input(settings, samples, examples, refused={"kind": "render", **location})


def text_of(name: str, file: File) -> str:
    """A case file's text."""
    made = {"about": file.about, "settings": encoded(file.settings), **tables(file.samples, file.examples)}
    made["cases"] = {key: finished(f"{name}: {key}", file, case) for key, case in file.cases.items()}
    return pretty({key: value for key, value in made.items() if value not in ({}, None)}) + "\n"


def tables(samples: Columns | None, examples: Columns | None) -> dict[str, Any]:
    return {key: table for key, table in (("samples", samples), ("examples", examples)) if table is not None}


def finished(name: str, file: File, case: Input) -> dict[str, Any]:
    settings = {**file.settings, **case.settings}
    samples, examples = (
        of_case if of_case is not None else shared
        for of_case, shared in ((case.samples, file.samples), (case.examples, file.examples))
    )
    assert samples is not None, f"{name} has no samples"
    made = {"settings": encoded(case.settings), **tables(case.samples, case.examples)}
    if case.replies is not None:
        made["replies"] = case.replies
    # What the models read is what the file says: the settings as they come back out of it.
    settings = value_of(json.loads(json.dumps(encoded(settings))))
    rows, train = ([] if columns is None else table_of(columns).to_pylist() for columns in (samples, examples))
    refusal = None
    try:
        made["expected"] = columns_of(settings, rows, train, case.replies)
    except Refused as error:
        refusal, made["expected"] = error, {"error": case.refused}
    assert (refusal is None) == (case.refused is None), f"{name}: the model's refusal is {refusal}"
    return {key: value for key, value in made.items() if value != {}}


def encoded(value: Any) -> Any:
    """A value of the settings as JSON can hold it."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: encoded(item) for key, item in value.items()}
        return {"$dict": [[key, encoded(item)] for key, item in value.items()]}
    return [encoded(item) for item in value] if isinstance(value, (list, tuple)) else value


def pretty(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON with one entry a line where a line can't hold them all; `before` is what stands on its line already."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if indent + before + len(line) < WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, list):
        items = [pretty(item, indent + 1) for item in value]
        return "[\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + "]"
    items = [
        f"{(key_ := json.dumps(key, ensure_ascii=False))}: {pretty(item, indent + 1, len(key_) + 2)}"
        for key, item in value.items()
    ]
    return "{\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + "}"
