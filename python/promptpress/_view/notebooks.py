"""Spans in notebooks: what `Renderer.explain` returns is shown as the prompt that it explains.

It has to stay a `pyarrow.Table`, which knows nothing of notebooks. So IPython, where one is running, is told how to
show tables, and of each table that `explain` has made, what it is about. Any other table it shows as before.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from html import escape
from typing import Any

import pyarrow as pa

from promptpress._view.html import STYLESHEET, legend_html, prompt_html
from promptpress._view.prompt import Prompt
from promptpress._view.visible import one_line

__all__ = ["spans_html", "tell_notebook"]

_explained: dict[int, tuple[weakref.ref[pa.Table], Callable[[], Prompt]]] = {}
"""What tables are about, by their ids, as long as they live: Arrow's tables have no hash."""

_TABLE_STYLE = ".pp-spans td,.pp-spans th{text-align:left;padding:1px 8px;font:12px ui-monospace,monospace}"


def tell_notebook(spans: pa.Table, prompt: Callable[[], Prompt]) -> None:
    """Have a notebook show spans as the prompt that they are of; where none is running, do nothing.

    Args:
        spans: What `explain` returns.
        prompt: Makes the prompt when it is shown.

    >>> tell_notebook(pa.table({"start": [0]}), lambda: Prompt(0, ""))

    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    formatter.formatters["text/html"].for_type(pa.Table, spans_html)
    key = id(spans)
    _explained[key] = (weakref.ref(spans, lambda _: _explained.pop(key, None)), prompt)


def spans_html(table: Any) -> str | None:
    """Write spans as HTML.

    Args:
        table: Any `pyarrow.Table`.

    Returns:
        The prompt that it explains, and its rows; None for a table that `explain` didn't make, which is shown as
        IPython shows tables.

    >>> spans_html(pa.table({"a": [1]})) is None
    True

    """
    known = _explained.get(id(table))
    if known is None or not _is_same(known[0](), table):
        return None
    shown = known[1]()
    names = "".join(f"<th>{escape(one_line(name))}</th>" for name in table.column_names)
    rows = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in table.to_pylist())
    return (
        f"<style>{STYLESHEET}{_TABLE_STYLE}</style>{legend_html([shown])}{prompt_html(shown)}"
        f'<details><summary>{table.num_rows} spans</summary><table class="pp-spans"><tr>{names}</tr>{rows}</table>'
        "</details>"
    )


def _is_same(one: object, other: object) -> bool:
    return one is other


def _cell(value: Any) -> str:
    return f"<td>{'' if value is None else escape(one_line(str(value)))}</td>"
