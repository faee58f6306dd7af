"""Differences as HTML, in notebooks."""

from __future__ import annotations

from html import escape

from promptpress._diff.changes import windows
from promptpress._diff.comparison import Comparison, Difference
from promptpress._diff.shown import place_text, summary, which
from promptpress._view.html import STYLESHEET, pieces_html
from promptpress._view.visible import one_line

__all__ = ["html_of"]

_STYLE = """\
.pp-diff{margin:0 0 12px}.pp-diff table{border-collapse:collapse;width:100%;table-layout:fixed}
.pp-diff td{vertical-align:top;text-align:left;padding:2px 8px;width:50%;border:1px solid #8884;white-space:normal}
"""


def html_of(found: Comparison) -> str:
    """Write what was found, with the prompts that were kept.

    Args:
        found: What comparing two sources has found.

    Returns:
        HTML with its style sheet; values are text in it.

    >>> "0 requests compared, none differs" in html_of(Comparison())
    True

    """
    shown = "".join(_html(one) for one in found.first if one.a is not None or one.b is not None)
    return f"<style>{STYLESHEET}{_STYLE}</style><p>{escape(summary(found))}</p>{shown}"


def _html(found: Difference) -> str:
    head = f"{which(found, ' · ')}: {place_text(found.place, found.a)}"
    out = f'<div class="pp-diff"><div class="pp-head">{escape(one_line(head))}</div>'
    if found.a is None or found.b is None:
        return out + "</div>"
    mine = {(number, part): pieces for number, part, pieces in found.a.texts()}
    yours = {(number, part): pieces for number, part, pieces in found.b.texts()}
    rows = ""
    for key in dict.fromkeys([*mine, *yours]):
        pair = mine.get(key, ()), yours.get(key, ())
        if "".join(piece.text for piece in pair[0]) != "".join(piece.text for piece in pair[1]):
            cells = "".join(
                f'<td><pre class="pp-text">{"…" * bool(window.before)}{pieces_html(window.pieces, marks=window.marks)}'
                f"{'…' * bool(window.after)}</pre></td>"
                for window in windows(*pair)
            )
            rows += f"<tr>{cells}</tr>"
    return f"{out}<table>{rows}</table></div>" if rows else out + "</div>"
