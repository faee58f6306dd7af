"""How inputs become case files: by name, with what the models make of them, as readable JSON."""

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
    places = {key: place for key, place in (("row", row), ("column", column)) if place is not None}
    return Input(settings, samples, examples, refused={"kind": "render", **places})


def text_of(name: str, file: File) -> str:
    """A case file's text."""
    made = {"about": file.about, "settings": encoded(file.settings), **tables(file.samples, file.examples)}
    made["cases"] = {key: finished(f"{name}: {key}", file, one) for key, one in file.cases.items()}
    return pretty({key: value for key, value in made.items() if value not in ({}, None)}) + "\n"


def tables(samples: Columns | None, examples: Columns | None) -> dict[str, Any]:
    return {key: table for key, table in (("samples", samples), ("examples", examples)) if table is not None}


def finished(name: str, file: File, one: Input) -> dict[str, Any]:
    settings = {**file.settings, **one.settings}
    samples, examples = (
        own if own is not None else shared
        for own, shared in ((one.samples, file.samples), (one.examples, file.examples))
    )
    assert samples is not None, f"{name} has no samples"
    made = {"settings": encoded(one.settings), **tables(one.samples, one.examples)}
    if one.replies is not None:
        made["replies"] = one.replies
    # What the models read is what the file says: the settings as they come back out of it.
    settings = value_of(json.loads(json.dumps(encoded(settings))))
    rows, train = ([] if columns is None else table_of(columns).to_pylist() for columns in (samples, examples))
    refusal = None
    try:
        made["expected"] = columns_of(settings, rows, train, one.replies)
    except Refused as error:
        refusal, made["expected"] = error, {"error": one.refused}
    assert (refusal is None) == (one.refused is None), f"{name}: the model's refusal is {refusal}"
    return {key: value for key, value in made.items() if value != {}}


def encoded(value: Any) -> Any:
    """A value of the settings as JSON can hold it."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: encoded(one) for key, one in value.items()}
        return {"$dict": [[key, encoded(one)] for key, one in value.items()]}
    return [encoded(one) for one in value] if isinstance(value, (list, tuple)) else value


def pretty(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON with one entry a line where a line can't hold them all; `before` is what stands on its line already."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if indent + before + len(line) < WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, list):
        items = [pretty(one, indent + 1) for one in value]
        return "[\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + "]"
    items = [
        f"{(key_ := json.dumps(key, ensure_ascii=False))}: {pretty(one, indent + 1, len(key_) + 2)}"
        for key, one in value.items()
    ]
    return "{\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + "}"
