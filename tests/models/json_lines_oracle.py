"""JSON lines as Python writes them, row by row: what the core's have to be."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress_workbench.files.write.json_lines import json_text


def json_lines(table: pa.Table) -> str:
    """Write a rendered table: the requests come last, their messages have the keys that they have."""
    *kept, prompts = table.columns
    columns = [*(column.to_pylist() for column in kept), to_pylist(prompts)]
    keys = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    lines = []
    for row in zip(*columns, strict=True):
        members = [f"{key}: {json_text(value)}" for key, value in zip(keys, row, strict=True)]
        lines.append("{" + ", ".join(members) + "}\n")
    return "".join(lines)


def strict(text: str) -> Any:
    """Read a line as a reader that knows JSON alone: no NaN, no infinity."""

    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)
