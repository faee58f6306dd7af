"""The tabs Lengths, Duplicates and Audit: plots and lists over all prompts, with rows to go to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import pyarrow as pa
from nicegui import run, ui
from promptpress import Statistics, stats
from promptpress.engine.errors import counted

from promptpress_workbench.audit.collect import audit
from promptpress_workbench.audit.findings import Finding
from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.viewer.search import ERROR_COLUMN
from promptpress_workbench.viewer.sources import Choice, Source, StoredPrepared, StoredRendered
from promptpress_workbench.viewer.view import (
    ORIGIN_COLOURS,
    Share,
    View,
    lengths_of,
    listed_findings,
    repeated_of,
    shares_of,
)

_INK = "#808791"  # legible on white and on black
_BAR = "#5b8def"
_AXIS = {"axisLabel": {"color": _INK}, "axisLine": {"lineStyle": {"color": _INK}}, "nameTextStyle": {"color": _INK}}
_MAX_CACHED = 4  # choices

Figures = TypeVar("Figures")


async def attempt(function: Callable[[], Figures]) -> tuple[Figures | None, str]:
    """Call a function in a thread and return its result; if it raises any error, None and the error's text."""
    try:
        return await run.io_bound(function), ""
    except Exception as error:
        return None, str(error) or type(error).__name__


class FigurePanel(ABC, Generic[Figures]):
    """Shows figures of all prompts of a choice, computed when a tab is first opened; `go` shows a row of the table."""

    progress: str
    """The text that is shown while the figures are computed."""

    def __init__(self, view: View, go: Callable[[int], None]) -> None:
        self._view = view
        self._go = go
        self._cache: dict[Choice, Figures] = {}
        self._tab: str | None = None
        self._seen = 0
        self._container = ui.element("div").classes("pp-figures")
        self._container.set_visibility(False)

    async def show(self, tab: str | None) -> None:
        """Show a tab of the panel, or hide the panel if the tab is None."""
        self._tab = tab
        self._container.set_visibility(tab is not None)
        if tab is None:
            return
        choice = self._view.choice
        if choice not in self._cache:
            figures, error = await self._awaited(choice)
            if figures is None:
                self._say(error, "pp-error")
                return
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[choice] = figures
        if self._tab == tab and self._view.choice == choice:
            self._container.clear()
            with self._container:
                self._draw(tab, self._cache[choice])

    async def _awaited(self, choice: Choice) -> tuple[Figures | None, str]:
        """Compute the figures of a choice below a progress bar."""
        self._say(self.progress)
        with self._container:  # which also owns the timer
            bar = ui.linear_progress(0, show_value=False, size="6px").classes("pp-progress")
            count = ui.label().classes("pp-dim")

            def tick() -> None:
                total = self._view.store.num_rows
                bar.set_value(self._seen / total if total else 0)
                count.set_text(f"{self._seen:,}{f' of {total:,}' if total else ''} rows")

            timer = ui.timer(0.1, tick)
        try:
            return await attempt(lambda: self._computed(choice))
        finally:
            timer.cancel()

    async def refresh(self) -> None:
        """Show the same tab for another choice."""
        await self.show(self._tab)

    def _say(self, text: str, classes: str = "pp-dim") -> None:
        self._container.clear()
        with self._container:
            ui.label(visible(text)).classes(classes)

    def _rows(self, rows: Iterable[tuple[int, str]]) -> None:
        """Draw a button for each row, with a text about it."""
        with ui.element("div").classes("pp-chips"):
            for row, text in rows:
                name = f"row {row:,}{' · ' if text else ''}{one_line(text)}"
                button = ui.button(name, on_click=lambda row=row: self._go(row))
                button.props("flat dense no-caps size=sm").classes("pp-row")

    def _computed(self, choice: Choice) -> Figures:
        source = self._view.sources.of(choice)
        samples = pa.RecordBatchReader.from_batches(source.rows.schema, self._counted(source))
        return self._compute(source, samples, choice)

    def _counted(self, source: Source) -> Iterator[pa.RecordBatch]:
        """Yield all samples, and count those that have been taken."""
        self._seen = 0
        for batch in source.rows.batches():
            yield batch
            self._seen += batch.num_rows

    @abstractmethod
    def _compute(self, source: Source, samples: pa.RecordBatchReader, choice: Choice) -> Figures:
        """Compute the figures; this runs in a thread."""

    @abstractmethod
    def _draw(self, tab: str, figures: Figures) -> None:
        """Draw a tab."""


class AuditPanel(FigurePanel[list[Finding]]):
    """The tab Audit: the findings of the audit."""

    progress = "Going over every prompt…"

    def _compute(self, source: Source, samples: pa.RecordBatchReader, choice: Choice) -> list[Finding]:
        if isinstance(source, (StoredRendered, StoredPrepared)):
            message = "an audit is of a configuration or a template: a file of prompts doesn't say how they were made"
            raise TypeError(message)
        return listed_findings(audit(source.renderer, samples, None, None, self._view.sources.allowed(choice)))

    def _draw(self, tab: str, figures: list[Finding]) -> None:  # noqa: ARG002 - there is one tab
        ui.label(counted(len(figures), "finding") if figures else "Nothing is found.").classes("pp-title")
        for finding in figures:
            with ui.element("section").classes(f"pp-finding pp-of-{finding.severity}"):
                ui.label(f"{finding.severity}: {finding.code}").classes("pp-caption")
                ui.label(finding.message)
                ui.label(finding.remedy).classes("pp-dim")
                self._rows((row, "") for row in finding.first_rows or ())


class LengthPanel(FigurePanel[Statistics]):
    """The tabs Lengths, with the bytes of each origin, and Duplicates; `want` lists rows by a part of a figure."""

    def __init__(self, view: View, go: Callable[[int], None], want: Callable[..., None]) -> None:
        super().__init__(view, go)
        self._want = want

    progress = "Reading and rendering every prompt…"

    def _compute(self, source: Source, samples: pa.RecordBatchReader, choice: Choice) -> Statistics:  # noqa: ARG002 - it is the source's
        tokens = self._view.sources.tokens
        tokenizer = None if tokens is None else tokens.loaded
        if isinstance(source, StoredRendered):
            return stats(samples, column=source.prompt_column, tokenizer=tokenizer)
        assert not isinstance(source, StoredPrepared)  # which has no such tab
        return stats(source.renderer, samples, tokenizer=tokenizer)

    def _draw(self, tab: str, figures: Statistics) -> None:
        (self._lengths if tab == "lengths" else self._duplicates)(figures)

    def _lengths(self, figures: Statistics) -> None:
        of = "" if figures.samples in (None, figures.requests) else f" of {counted(figures.samples or 0, 'sample')}"
        ui.label(f"{counted(figures.requests, 'prompt')}{of}, {counted(figures.bytes.sum, 'byte')}").classes("pp-title")
        if figures.unrendered:
            with ui.element("div").classes("pp-chips pp-wrong"):
                ui.label(f"{counted(figures.unrendered, 'row')} can't be rendered, and no figure counts them")
                only = ui.button("Only these", on_click=lambda: self._want(column=ERROR_COLUMN))
                only.props("flat dense no-caps size=sm").classes("pp-row")
        for kind in figures.errors.to_pylist():
            caption = f"{one_line(kind['error'])} ({counted(kind['rows'], 'row')})"
            self._section(caption, [(row, "") for row in kind["first_rows"]])
        with ui.element("div").classes("pp-grid-2"):
            with ui.element("section"):
                ui.label("Prompts by length in bytes; click on a bar to list them").classes("pp-caption")
                _histogram(figures, lambda start, end: self._want(bytes=f"{start}-{end}"))
                _percentiles(figures)
            with ui.element("section"):
                shares = shares_of(figures)
                if shares:
                    ui.label("Bytes by origin").classes("pp-caption")
                    _origins(shares)
        with ui.element("div").classes("pp-grid-2"):
            self._section("Longest", lengths_of(figures.longest))
            self._section("Shortest", lengths_of(figures.shortest))

    def _duplicates(self, figures: Statistics) -> None:
        if not figures.repeated:
            ui.label(f"All {figures.requests:,} prompts differ from each other.").classes("pp-title")
            return
        repeated = f"{figures.repeated:,} of {figures.requests:,} prompts repeat an earlier one, "
        groups = f"in {figures.duplicate_groups:,} groups" if figures.duplicate_groups != 1 else "in one group"
        ui.label(repeated + groups).classes("pp-title")
        for requests, rows in repeated_of(figures):
            more = ", the first of them:" if requests > len(rows) else ":"
            self._section(f"{requests:,} prompts are the same{more if rows else ''}", [(row, "") for row in rows])

    def _section(self, caption: str, rows: Iterable[tuple[int, str]]) -> None:
        with ui.element("section"):
            ui.label(caption).classes("pp-caption")
            self._rows(rows)


def _chart(options: dict[str, Any], *, height: str) -> ui.echart:
    base = {"animation": False, "textStyle": {"color": _INK}, "tooltip": {"renderMode": "richText", "trigger": "item"}}
    return ui.echart({**base, **options}, renderer="svg").style(f"height: {height}").classes("pp-chart")


def _histogram(figures: Statistics, on_click: Callable[[int, int], None]) -> None:
    """Draw how many prompts are how long; a click on a bar gives its least and greatest length."""
    bins = figures.bytes.histogram.to_pylist()
    bars = [{"value": bar["requests"], "name": f"{bar['start']:,} to {bar['end'] - 1:,}"} for bar in bins]
    lines = {"splitLine": {"lineStyle": {"color": _INK, "opacity": 0.25}}, **_AXIS}
    options = {
        "grid": {"left": 8, "right": 12, "top": 12, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "category", "data": [f"{bar['start']:,}" for bar in bins], **_AXIS},
        "yAxis": {"type": "value", "minInterval": 1, **lines},
        "series": [{"type": "bar", "barCategoryGap": "8%", "itemStyle": {"color": _BAR}, "data": bars}],
    }
    chart = _chart(options, height="240px")
    chart.on_point_click(lambda event: on_click(bins[event.data_index]["start"], bins[event.data_index]["end"] - 1))


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
    bars = [
        {
            "value": round(100 * share.share, 2),
            "name": f"{share.name}: {counted(share.bytes, 'byte')}",
            "itemStyle": {"color": ORIGIN_COLOURS[share.kind]},
        }
        for share in shares
    ]
    label = {"show": True, "position": "right", "color": _INK, "formatter": "{c} %"}
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
        "series": [{"type": "bar", "barMaxWidth": 20, "label": label, "data": bars}],
    }
    # Where there is little room, names take two lines, because their ends tell them apart.
    narrow = {"yAxis": {"axisLabel": {"width": 150, "overflow": "break", "fontSize": 10, "lineHeight": 11}}}
    options["media"] = [{"query": {"maxWidth": 480}, "option": narrow}]
    _chart(options, height=f"{max(80, 26 * len(shares) + 16)}px")
