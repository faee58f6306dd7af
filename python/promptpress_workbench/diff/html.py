"""Differences as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from promptpress.engine.errors import counted

from promptpress_workbench.diff.changes import Window, windows
from promptpress_workbench.diff.comparison import Comparison, Difference
from promptpress_workbench.diff.layout import location_text, request_name, summary
from promptpress_workbench.diff.text_pairs import PairedText, text_pairs
from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.prompts.html import STYLESHEET, pieces_html, text_html

_STYLE = """\
.pp-diff{margin:0 0 12px}.pp-diff table{border-collapse:collapse;width:100%;table-layout:fixed}
.pp-diff td{vertical-align:top;text-align:left;padding:2px 8px;width:50%;border:1px solid #8884;white-space:normal}
"""


def html_of(comparison: Comparison) -> str:
    """Return the result of a comparison, and the differences whose prompts were kept, as HTML with its style sheet."""
    kept = "".join(_html(item) for item in comparison.first if item.a is not None or item.b is not None)
    return f"<style>{STYLESHEET}{_STYLE}</style><p>{escape(summary(comparison))}</p>{kept}"


def _html(difference: Difference) -> str:
    head = f"{request_name(difference, ' · ')}: {location_text(difference.location, difference.a)}"
    out = f'<div class="pp-diff"><div class="pp-head">{escape(one_line(head))}</div>'
    if difference.a is None or difference.b is None:
        return out + "</div>"
    rows = ""
    for mine, yours in text_pairs(difference.a, difference.b):
        if mine is None or yours is None or mine.content != yours.content:
            rows += _rows(mine, yours)
    return f"{out}<table>{rows}</table></div>" if rows else out + "</div>"


def _rows(mine: PairedText | None, yours: PairedText | None) -> str:
    """Return the rows of one pair of texts: their roles, then each stretch in which they differ."""
    sides = (mine, yours)
    heads = ["" if side is None or side.message is None else side.message.role or "" for side in sides]
    rows = _row(f'<span class="pp-role">{escape(one_line(head))}</span>' for head in heads) if any(heads) else ""
    for stretches in windows(*(() if side is None else side.pieces for side in sides)):
        rows += _row("" if side is None else _text(window) for window, side in zip(stretches, sides, strict=True))
    return rows


def _row(cells: Iterable[str]) -> str:
    return (
        '<tr style="background:none">' + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"
    )


def _text(window: Window) -> str:
    before, after = (f"…({counted(count, 'character')})" if count else "" for count in (window.before, window.after))
    text = pieces_html(window.pieces, marks=window.marks)
    return text_html(f"{_left_out(before)}{text}{_left_out(after)}")


def _left_out(text: str) -> str:
    return f'<span class="pp-escape">{text}</span>' if text else ""
