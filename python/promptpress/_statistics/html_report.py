"""Statistics as HTML, for a notebook."""

from __future__ import annotations

from html import escape

from promptpress._statistics.statistics import Statistics
from promptpress._statistics.tables import Shown, heading, shown_tables

__all__ = ["html_report"]

# Colours are the notebook's own, so that they fit it, dark or light.
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:0 .8em 0 0;text-align:{};white-space:pre-wrap;overflow-wrap:anywhere"
_BAR = "background:currentColor;opacity:.45;height:.8em;width:{:.2f}em"
_BAR_EM = 20


def html_report(own: Statistics) -> str:
    """Write a page; whatever the data say is text in it.

    Args:
        own: The statistics.

    Returns:
        One element, which loads nothing.

    """
    parts = [f"<p><b>{escape(heading(own))}</b></p>", *map(_table, shown_tables(own))]
    return f'<div class="promptpress-stats">{"".join(parts)}</div>'


def _table(table: Shown) -> str:
    title = f"<p>{escape(table.title)}</p>"
    if not table.rows:
        return title
    rows = [_row(table, table.names, "th", None)]
    shares: list[float] | list[None] = table.shares or [None] * len(table.rows)
    rows += [_row(table, row, "td", share) for row, share in zip(table.rows, shares, strict=True)]
    return f'{title}<table style="{_TABLE}">{"".join(rows)}</table>'


def _row(table: Shown, cells: list[str], tag: str, share: float | None) -> str:
    out = []
    for at, cell in enumerate(cells):
        style = _CELL.format("left" if at < table.texts else "right")
        out.append(f'<{tag} style="{style}">{escape(cell)}</{tag}>')
    if share is not None:
        out.append(f'<td><div style="{_BAR.format(share * _BAR_EM)}"></div></td>')
    return f"<tr>{''.join(out)}</tr>"
