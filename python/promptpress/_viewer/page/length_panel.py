"""Lengths, bytes by origin and duplicates: plots, and rows to go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui import run, ui

from promptpress import Statistics, stats
from promptpress._file_errors import reason
from promptpress._view.visible import one_line
from promptpress._viewer.catalogue import Choice
from promptpress._viewer.measures import ORIGIN_COLOURS, Share, lengths_of, repeated_of, shares_of
from promptpress._viewer.sources import StoredPrompts
from promptpress._viewer.view import View

_INK = "#808791"  # legible on white and on black
_BAR = "#5b8def"
_AXIS = {"axisLabel": {"color": _INK}, "axisLine": {"lineStyle": {"color": _INK}}, "nameTextStyle": {"color": _INK}}
_MEASURED = 4  # choices whose figures are kept


class LengthPanel:
    """The tabs Lengths and Duplicates.

    Args:
        view: what the page shows.
        go: shows a row of the table.

    """

    def __init__(self, view: View, go: Callable[[int], None]) -> None:
        self._view = view
        self._go = go
        self._known: dict[Choice, Statistics] = {}
        self._shown: str | None = None
        self._place = ui.element("div").classes("pp-figures")

    async def show(self, name: str | None) -> None:
        """Show one of the tabs: its figures are taken when they are first wanted.

        Args:
            name: `lengths` or `duplicates`; None: neither is seen any more.

        """
        self._shown = name
        if name is None:
            return
        choice = self._view.choice
        if choice not in self._known:
            self._say("Reading and rendering every prompt…")
            figures, why = await run.io_bound(_measured, self._view, choice)
            if figures is None:
                self._say(why)
                return
            if len(self._known) >= _MEASURED:
                self._known.clear()
            self._known[choice] = figures
        if self._shown == name and self._view.choice == choice:
            self._place.clear()
            with self._place:
                (self._lengths if name == "lengths" else self._duplicates)(self._known[choice])

    async def again(self) -> None:
        """Show the same for another choice."""
        await self.show(self._shown)

    def _say(self, text: str) -> None:
        self._place.clear()
        with self._place:
            ui.label(one_line(text)).classes("pp-dim")

    def _lengths(self, figures: Statistics) -> None:
        of = "" if figures.samples in (None, figures.requests) else f" of {figures.samples:,} samples"
        ui.label(f"{figures.requests:,} prompts{of}, {figures.bytes.sum:,} bytes").classes("pp-title")
        with ui.element("div").classes("pp-grid-2"):
            with ui.element("section"):
                ui.label("Prompts by length in bytes").classes("pp-caption")
                _histogram(figures)
                _percentiles(figures)
            with ui.element("section"):
                shares = shares_of(figures)
                if shares:
                    ui.label("Bytes by origin").classes("pp-caption")
                    _origins(shares)
        with ui.element("div").classes("pp-grid-2"):
            self._rows("Longest", lengths_of(figures.longest))
            self._rows("Shortest", lengths_of(figures.shortest))

    def _duplicates(self, figures: Statistics) -> None:
        if not figures.repeated:
            ui.label(f"All {figures.requests:,} prompts differ from each other.").classes("pp-title")
            return
        said = f"{figures.repeated:,} of {figures.requests:,} prompts repeat an earlier one, "
        many = f"in {figures.duplicate_groups:,} groups" if figures.duplicate_groups != 1 else "in one group"
        ui.label(said + many).classes("pp-title")
        for requests, rows in repeated_of(figures):
            more = ", the first of them:" if requests > len(rows) else ":"
            self._rows(f"{requests:,} prompts are the same{more if rows else ''}", [(row, "") for row in rows])

    def _rows(self, caption: str, rows: Iterable[tuple[int, str]]) -> None:
        with ui.element("section"):
            ui.label(caption).classes("pp-caption")
            with ui.element("div").classes("pp-chips"):
                for row, said in rows:
                    text = f"row {row:,}{' · ' if said else ''}{one_line(said)}"
                    button = ui.button(text, on_click=lambda row=row: self._go(row))
                    button.props("flat dense no-caps size=sm").classes("pp-row")


def _measured(view: View, choice: Choice) -> tuple[Statistics | None, str]:
    try:
        view.store.wait_all()
        source = view.sources.of(choice)
        table = view.store.table()
        return (stats(source.renderer, table) if isinstance(source, StoredPrompts) else stats(table)), ""
    except Exception as error:  # whatever can't be rendered or measured is told on the page
        return None, reason(error)


def _chart(options: dict[str, Any], *, height: str) -> None:
    base = {"animation": False, "textStyle": {"color": _INK}, "tooltip": {"renderMode": "richText", "trigger": "item"}}
    ui.echart({**base, **options}, renderer="svg").style(f"height: {height}").classes("pp-chart")


def _histogram(figures: Statistics) -> None:
    bins = figures.bytes.histogram.to_pylist()
    names = [f"{one['start']:,}" for one in bins]
    options = {
        "grid": {"left": 8, "right": 12, "top": 12, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "category", "data": names, **_AXIS},
        "yAxis": {
            "type": "value",
            "minInterval": 1,
            "splitLine": {"lineStyle": {"color": _INK, "opacity": 0.25}},
            **_AXIS,
        },
        "series": [
            {
                "type": "bar",
                "barCategoryGap": "8%",
                "itemStyle": {"color": _BAR},
                "data": [{"value": one["requests"], "name": f"{one['start']:,} to {one['end'] - 1:,}"} for one in bins],
            }
        ],
    }
    _chart(options, height="240px")


def _percentiles(figures: Statistics) -> None:
    lengths = figures.bytes
    cells = [("min", lengths.min), *((f"{n} %", size) for n, size in lengths.percentiles.items()), ("max", lengths.max)]
    with ui.element("div").classes("pp-percentiles"):
        for name, size in cells:
            with ui.element("div"):
                ui.label(name).classes("pp-dim")
                ui.label("" if size is None else f"{size:,}").classes("pp-mono")


def _origins(shares: list[Share]) -> None:
    shares = shares[::-1]
    options = {
        "grid": {"left": 8, "right": 70, "top": 4, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "show": False},
        "yAxis": {
            "type": "category",
            "data": [share.name for share in shares],
            "axisLabel": {"color": _INK, "width": 290, "overflow": "truncate"},
            "axisTick": {"show": False},
            "axisLine": {"show": False},
        },
        "series": [
            {
                "type": "bar",
                "barMaxWidth": 20,
                "label": {"show": True, "position": "right", "color": _INK, "formatter": "{c} %"},
                "data": [
                    {
                        "value": round(100 * share.share, 2),
                        "name": f"{share.name}: {share.bytes:,} bytes",
                        "itemStyle": {"color": ORIGIN_COLOURS[share.kind]},
                    }
                    for share in shares
                ],
            }
        ],
    }
    # Where there is little room, names go over two lines: their ends are what tells them apart.
    narrow = {"yAxis": {"axisLabel": {"width": 150, "overflow": "break", "fontSize": 10, "lineHeight": 11}}}
    options["media"] = [{"query": {"maxWidth": 480}, "option": narrow}]
    _chart(options, height=f"{max(80, 26 * len(shares) + 16)}px")
