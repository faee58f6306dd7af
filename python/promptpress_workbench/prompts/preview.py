"""Prompts in notebooks and at Python's prompt: `preview` of the renderers, and tables of `explain` and `audit` as HTML.

Those tables have to stay `pyarrow.Table`s, which know nothing of notebooks. So if IPython is running, it gets a
formatter for tables. The formatter knows the tables that were announced here; IPython shows all others as before.
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from promptpress.engine import ConfiguredRenderer, TableRenderer, engine_of
from promptpress.engine.errors import render_error
from promptpress.engine.tokens import TokenSettings, load_tokenizer
from promptpress.typing import Mask, TableLike

from promptpress_workbench.prompts.layout import Layout, legend_html, plain, prompt_html, safe
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import RendererSource, source_of
from promptpress_workbench.prompts.stylesheet import STYLESHEET

_announced: dict[int, tuple[weakref.ref[pa.Table], Callable[[pa.Table], str]]] = {}
"""The live tables that have HTML, and what writes it, keyed by the table's id: Arrow's tables have no hash."""

_TABLE_STYLE = ".pp-spans td,.pp-spans th{text-align:left;padding:1px 8px;font:12px ui-monospace,monospace}"


class Preview:
    """Some prompts to look at: coloured by where their pieces come from in notebooks, text elsewhere.

    Made by `preview` of a `Renderer`, a `JinjaTemplate` or a `ChatTemplate`. Nothing of a value is markup: it is
    escaped, and characters that can't be seen, or that would steer a terminal, are shown as Python writes them.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> Renderer("Q: {q}").preview(pa.table({"q": ["1+1=?"]}))
    ── row 0 · 8 bytes · 8 characters
    Q: 1+1=?
    """

    __slots__ = ("_prompts",)

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self._prompts = tuple(prompts)

    def __len__(self) -> int:
        return len(self._prompts)

    def __str__(self) -> str:
        pages = [list(Layout().prompt(prompt)) for prompt in self._prompts]
        legend = list(Layout().legend(self._prompts))
        pages += [legend] if legend else []
        return "\n\n".join("\n".join(map(plain, page)) for page in pages) or "no prompts"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(map(prompt_html, self._prompts)) or "<p>no prompts</p>"
        return f"<style>{STYLESHEET}</style>{legend_html(self._prompts)}{body}"


def preview_of(
    renderer: TableRenderer[Any],
    samples: TableLike,
    n: int,
    *,
    rows: Sequence[int] | None,
    label: object = None,
    turn: int | None = None,
    tokenizer: object = None,
    mask: Mask | None = None,
) -> Preview:
    """Render and explain some samples for `preview`, with their tokens if there is a tokenizer."""
    if mask is not None and tokenizer is None:
        raise TypeError("mask: is of tokens; tokenizer= names the tokenizer that they are of")
    source = source_of(renderer, TableRows(samples, engine_of(renderer).value_reading))
    if operator.index(n) < 0:
        raise render_error("invalid_number", f"n: expected a number from 0 on, found {n}")
    numbers = range(min(n, source.num_samples)) if rows is None else [operator.index(row) for row in rows]
    turn = None if turn is None else operator.index(turn)
    if turn is not None and turn < 0:
        raise render_error("turn_out_of_range", "turn: turns count from 0")
    prompts = [source.prompts(row, label, turn) for row in numbers]
    if tokenizer is not None:
        from promptpress_workbench.prompts.tokenized import TokenView  # noqa: PLC0415 - seldom asked for

        view = TokenView(load_tokenizer(tokenizer), TokenSettings(mask=mask))
        prompts = [view.with_cells(source, of_row) for of_row in prompts]
    return Preview([prompt for of_row in prompts for prompt in of_row])


def show_table(table: pa.Table, write_html: Callable[[pa.Table], str]) -> None:
    """Make a notebook show a table as the HTML of a function, which may not keep the table alive; else do nothing."""
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
    """Make a notebook show spans as the prompt that they explain; the other arguments are those of `explain`."""

    def spans_html(table: pa.Table) -> str:
        source = RendererSource(renderer, TableRows(samples))
        labels = source.labels  # explain ignores the label if there are none
        number = labels.index(None) if labels is not None and label is None and None in labels else 0
        prompt = source.prompts(row, None if labels is None else label, turn)[number]
        names = "".join(f"<th>{safe(name)}</th>" for name in table.column_names)
        rows = ""
        for values in table.to_pylist():
            cells = "".join(f"<td>{'' if value is None else safe(value)}</td>" for value in values.values())
            rows += f"<tr>{cells}</tr>"
        return (
            f"<style>{STYLESHEET}{_TABLE_STYLE}</style>{legend_html([prompt])}{prompt_html(prompt)}"
            f'<details><summary>{table.num_rows} spans</summary><table class="pp-spans"><tr>{names}</tr>{rows}</table>'
            "</details>"
        )

    show_table(spans, spans_html)
