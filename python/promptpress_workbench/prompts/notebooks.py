"""Tables in notebooks: those of `Renderer.explain` and of `audit` are shown as HTML that says what is in them.

They have to stay `pyarrow.Table`s, which know nothing of notebooks. So if IPython is running, it gets a formatter for
tables. The formatter knows the tables that were announced here; IPython shows all others as before.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import pyarrow as pa
from promptpress.engine import ConfiguredRenderer

from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.prompts.html import STYLESHEET, legend_html, prompt_html
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.sample_rows import TableRows

_announced: dict[int, tuple[weakref.ref[pa.Table], Callable[[pa.Table], str]]] = {}
"""The live tables that have HTML, and what writes it, keyed by the table's id: Arrow's tables have no hash."""

_TABLE_STYLE = ".pp-spans td,.pp-spans th{text-align:left;padding:1px 8px;font:12px ui-monospace,monospace}"


def show_table(table: pa.Table, write_html: Callable[[pa.Table], str]) -> None:
    """Make a notebook show a table as the HTML that a function writes; do nothing if no notebook is running.

    The function may not keep the table alive.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    formatter.formatters["text/html"].for_type(pa.Table, _html)
    key = id(table)
    _announced[key] = (weakref.ref(table, lambda _: _announced.pop(key, None)), write_html)


def _html(table: Any) -> str | None:
    """Return the HTML of a table; None if it has none, and is shown as IPython shows it."""
    reference, write_html = _announced.get(id(table), (lambda: None, None))
    live_table: Any = reference()
    return write_html(table) if write_html is not None and live_table is table else None


def show_spans(
    spans: pa.Table, renderer: ConfiguredRenderer, samples: pa.Table, row: int, *, label: object, turn: int | None
) -> None:
    """Make a notebook show spans as the prompt that they explain, which is rendered when it is shown.

    The arguments after `spans` are those of `explain`.
    """
    make_prompt = partial(_explained_prompt, renderer, samples, row, label, turn)
    show_table(spans, partial(_spans_html, make_prompt))


def _explained_prompt(
    renderer: ConfiguredRenderer, samples: pa.Table, row: int, label: object, turn: int | None
) -> Prompt:
    """Return the prompt that `explain` explains: if no label is given, the one of the label None if there is one."""
    source = RendererSource(renderer, TableRows(samples))
    labels = source.labels
    if labels is None:  # explain ignores the label then
        return source.prompts(row, None, turn)[0]
    return source.prompts(row, label, turn)[labels.index(None) if label is None and None in labels else 0]


def _spans_html(make_prompt: Callable[[], Prompt], table: pa.Table) -> str:
    """Return the explained prompt and the rows of its spans as HTML."""
    prompt = make_prompt()
    names = "".join(f"<th>{escape(one_line(name))}</th>" for name in table.column_names)
    rows = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in table.to_pylist())
    return (
        f"<style>{STYLESHEET}{_TABLE_STYLE}</style>{legend_html([prompt])}{prompt_html(prompt)}"
        f'<details><summary>{table.num_rows} spans</summary><table class="pp-spans"><tr>{names}</tr>{rows}</table>'
        "</details>"
    )


def _cell(value: Any) -> str:
    return f"<td>{'' if value is None else escape(one_line(str(value)))}</td>"
