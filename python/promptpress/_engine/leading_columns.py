"""The columns that requests begin with, in the order in which requests show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from promptpress._arrow.core_tables import core_schema
from promptpress._core import RenderError, TemplateError
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import TableEngine

_PROBE_ROWS = 4
"""The samples that are rendered at each of three places of the table, to see the columns of their requests."""

_PROBE_REQUESTS = 64
"""The most of their requests that are read, since a sample may have thousands."""


def leading_columns(engine: TableEngine, table: pa.Table, labels: list[Any] | None) -> list[str]:
    """Return the columns whose values requests show, from the first to the last.

    A few samples are rendered with the origins of their bytes, and the request that shows most columns counts. Of
    requests that show their columns in different orders, the others are only ordered less well.
    """
    examples = engine.example_column
    required = [name for name in engine.required_columns if name in table.column_names]
    # A span may be of a column that a mask stands for: its values make no difference.
    read = {examples, *engine.columns_read(table.column_names)}
    longest: list[str] = []
    try:
        for spans in _spans(engine, table, labels):
            columns = [name for name in _columns_of(spans, examples, required) if name in read]
            longest = max(longest, columns, key=len)
    except (RenderError, TemplateError):
        # These requests have no spans, or the rendering itself will say what is wrong.
        longest = []
    if not longest:
        longest = [*([] if examples is None else [examples]), *(name for name in required if name != examples)]
    return longest


def _spans(engine: TableEngine, table: pa.Table, labels: list[Any] | None) -> Iterator[list[dict[str, Any]]]:
    """Yield the spans of the requests of some samples."""
    if engine.spans_type(core_schema(table.schema), True) is None:
        return
    options = RenderOptions(spans="detailed", errors="skip")
    rows = len(table)
    for start in sorted({0, rows // 2, max(0, rows - _PROBE_ROWS)}):
        run = engine.begin(options, None if labels is None else labels[:1])
        for part in run.parts(table.slice(start, _PROBE_ROWS), 0):
            spans: Any = part.spans
            yield from (request for request in spans.slice(0, _PROBE_REQUESTS).to_pylist() if request is not None)


def _columns_of(spans: list[dict[str, Any]], examples: str | None, required: list[str]) -> Iterator[str]:
    """Yield the columns of a request's spans, each once."""
    seen: set[str] = set()
    for span in spans:
        names = [span["column"]]
        if span["example"] is not None:
            names = [] if examples is None else [examples]
        elif span["column"] is None:
            # A value of several columns may show any of them.
            names = required if span["source"] in {"computed", "jinja2"} else []
        for name in names:
            if name not in seen:
                seen.add(name)
                yield name
