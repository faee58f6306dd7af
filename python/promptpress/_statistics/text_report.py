"""Statistics as a page of text."""

from __future__ import annotations

from promptpress._statistics.statistics import Statistics
from promptpress._statistics.tables import Shown, heading, shown_tables
from promptpress._statistics.visible import fitted, shown_width

__all__ = ["BLOCKS", "text_report"]

BLOCKS = " ▏▎▍▌▋▊▉█"
"""What bars are drawn with: nothing up to a whole block, by eighths."""

_MIN_WIDTH = 80
_MIN_BAR = 10
_MAX_BAR = 60


def text_report(own: Statistics, width: int = _MIN_WIDTH, *, is_ascii: bool = False) -> str:
    """Draw a page.

    Args:
        own: The statistics.
        width: Columns of the terminal; 80 at least.
        is_ascii: Draw bars with `#` instead of blocks. Names of the data stay as they are.

    Returns:
        Lines of at most `width` columns, without an end of line behind the last one.

    """
    lines = [heading(own)]
    for table in shown_tables(own):
        lines += ["", table.title, *_lines(table, max(width, _MIN_WIDTH), is_ascii=is_ascii)]
    return "\n".join(line.rstrip() for line in lines)


def _lines(table: Shown, width: int, *, is_ascii: bool) -> list[str]:
    rows = [table.names, *table.rows] if table.rows else []
    if not rows:
        return []
    widths = [max(shown_width(row[at]) for row in rows) for at in range(len(table.names))]
    room = width - 2 * len(widths) - (_MIN_BAR if table.shares is not None else 0)
    while sum(widths) > room:  # the widest gives way
        widths[widths.index(max(widths))] -= 1
    bar = min(_MAX_BAR, width - sum(widths) - 2 * len(widths) - 2)
    out = []
    for number, row in enumerate(rows):
        cells = [fitted(cell, widths[at], right=at >= table.texts) for at, cell in enumerate(row)]
        line = "  " + "  ".join(cells)
        if table.shares is not None and number:
            line += "  " + _bar(table.shares[number - 1], bar, is_ascii=is_ascii)
        out.append(line)
    return out


def _bar(share: float, width: int, *, is_ascii: bool) -> str:
    """Draw a bar; what is more than nothing shows."""
    if is_ascii:
        return "#" * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return BLOCKS[-1] * (eighths // 8) + BLOCKS[eighths % 8].strip()
