"""The rates as a chart: one panel a workload, one bar a peer, on a logarithmic scale. Plain SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from results import Results, Run, label, rows_per_second

WIDTH, LABELS, VALUES = 860, 200, 110  # of the whole, of the names, of the figures behind the bars
BAR, GAP, HEAD, MARGIN = 16, 4, 50, 16
COLOURS = {"ours": "#0f766e", "limit": "#cbd5e1", "peer": "#64748b"}
LEGEND = {"ours": "promptpress", "limit": "copy limit", "peer": "others"}


def chart(results: Results) -> str:
    """The whole picture."""
    panels = [(name, chosen(runs)) for name, runs in results.workloads("rate").items()]
    rates = [rows_per_second(run) for _, runs in panels for run in runs] or [1.0]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    scale = Scale(low, max(high, low + 1))
    height = MARGIN + 70 + sum(HEAD + len(runs) * (BAR + GAP) for _, runs in panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="system-ui, sans-serif" font-size="12" fill="#0f172a" role="img"'
        ' aria-label="Rows a second by workload and peer, logarithmic scale">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(MARGIN, 30, "Rows a second, logarithmic scale", size=16, weight="bold"),
        *legend(),
    ]
    top = 70.0
    for name, runs in panels:
        parts += panel(name, runs, top, scale)
        top += HEAD + len(runs) * (BAR + GAP)
    return "\n".join([*parts, "</svg>", ""])


class Scale:
    """From rows a second to places on the axis; powers of ten are its ticks."""

    def __init__(self, low: int, high: int) -> None:
        self.ticks = range(low, high + 1)
        self._low, self._span = low, high - low

    def x_of(self, rate: float) -> float:
        return LABELS + (math.log10(rate) - self._low) / self._span * (WIDTH - LABELS - VALUES)


def chosen(runs: list[Run]) -> list[Run]:
    """All but the runs on one thread of what also ran on all of them, the fastest first."""
    kept = (run for run in runs if label(run, runs) == run["way"])
    return sorted(kept, key=rows_per_second, reverse=True)


def panel(name: str, runs: list[Run], top: float, scale: Scale) -> Iterator[str]:
    start, end = top + HEAD - 12, top + HEAD - 12 + len(runs) * (BAR + GAP)
    yield text(MARGIN, top + 18, name, size=14, weight="bold")
    for tick in scale.ticks:
        x = scale.x_of(10.0**tick)
        yield f'<line x1="{x:.1f}" y1="{start:.0f}" x2="{x:.1f}" y2="{end:.0f}" stroke="#e2e8f0"/>'
        yield text(x, start - 4, short(10.0**tick), size=10, anchor="middle", fill="#64748b")
    for number, run in enumerate(runs):
        y = start + number * (BAR + GAP) + GAP / 2
        x = scale.x_of(rows_per_second(run))
        width = max(x - LABELS, 1)
        yield text(LABELS - 8, y + BAR - 4, run["way"], anchor="end")
        yield f'<rect x="{LABELS}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{COLOURS[run["role"]]}"/>'
        yield text(x + 6, y + BAR - 4, f"{rows_per_second(run):,.0f}")


def legend() -> Iterator[str]:
    for number, (role, name) in enumerate(LEGEND.items()):
        x = MARGIN + number * 130
        yield f'<rect x="{x}" y="42" width="12" height="12" fill="{COLOURS[role]}"/>'
        yield text(x + 18, 52, name)


def text(
    x: float, y: float, content: str, *, size: int = 12, weight: str = "", anchor: str = "", fill: str = ""
) -> str:
    given = {"font-size": size if size != 12 else "", "font-weight": weight, "text-anchor": anchor, "fill": fill}
    attributes = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(content)}</text>'


def short(value: float) -> str:
    for bound, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= bound:
            return f"{value / bound:g}{suffix}"
    return f"{value:g}"
