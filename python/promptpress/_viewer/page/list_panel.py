"""The list of prompts: every row of the table, or those that a search found."""

from __future__ import annotations

from nicegui import ui

from promptpress._view.visible import one_line
from promptpress._viewer.comparing import Comparing
from promptpress._viewer.row_finder import RowFinder
from promptpress._viewer.search import Search
from promptpress._viewer.view import View

_GRID = {
    "columnDefs": [
        {"field": "row", "headerName": "Row", "width": 92, "cellClass": "pp-number", "headerClass": "pp-right"},
        {"field": "size", "headerName": "Bytes", "width": 98, "cellClass": "pp-number", "headerClass": "pp-right"},
        {"field": "text", "headerName": "Prompt", "flex": 1, "cellClass": "pp-line"},
    ],
    "defaultColDef": {"sortable": False, "resizable": True, "suppressMovable": True, "suppressHeaderMenuButton": True},
    "rowModelType": "infinite",
    "cacheBlockSize": 100,
    "maxBlocksInCache": 30,
    "blockLoadDebounceMillis": 40,
    "rowHeight": 27,
    "headerHeight": 30,
    "animateRows": False,
    "theme": "quartz",
}


class ListPanel:
    """The list with its fields, go to and search.

    Args:
        view: what the page shows.
        name: the view's name, under which the browser fetches.

    """

    def __init__(self, view: View, name: str) -> None:
        self._view = view
        self._told = (-1, False)
        self._was_done = view.store.done
        with ui.element("section").classes("pp-list").props("aria-label=List"):
            with ui.element("div").classes("pp-tools"):
                self._row = ui.input("Go to row").props("dense outlined inputmode=numeric").classes("pp-goto")
                self._row.on("keydown.enter", self._go_typed)
                self._wanted = ui.input("Search in all prompts").props("dense outlined clearable").classes("pp-search")
                self._wanted.on("keydown.enter", self.look)
                self._wanted.on("clear", self.end)
                self._case = ui.checkbox("Aa", value=False).props("dense").classes("pp-case")
                self._case.tooltip("Upper and lower case count").on_value_change(self.again)
            with ui.element("div").classes("pp-found") as self._found:
                self._bar = ui.linear_progress(0, show_value=False, size="3px").classes("pp-bar")
                self._says = ui.label().classes("pp-says").props("role=status")
                self._stop = ui.button("Stop", on_click=self._cancel).props("flat dense no-caps").classes("pp-stop")
                ui.button("All rows", on_click=self.end).props("flat dense no-caps").classes("pp-all")
            self._found.set_visibility(False)
            options = {
                **_GRID,
                ":datasource": f'promptpress.rows("{name}")',
                ":onGridReady": "event => promptpress.ready(event.api)",
                ":onCellFocused": "event => promptpress.focused(event)",
            }
            self._grid = ui.aggrid(options, auto_size_columns=False).classes("pp-grid")

    def look(self) -> None:
        """Begin to search for what stands in the field; end the search where nothing does."""
        wanted = self._wanted.value or ""
        view = self._view
        self._cancel()
        if wanted:
            self._show(Search(view.source, wanted, ignore_case=not self._case.value, label=view.label))
        else:
            self._show(None)

    def compare(self) -> None:
        """Begin to look for the rows in which both choices differ."""
        view = self._view
        self._wanted.set_value("")
        self._cancel()
        self._show(Comparing(view.source, view.sources.of(view.other or view.choice)))

    def _show(self, finder: RowFinder | None) -> None:
        self._view.finder = finder
        self._found.set_visibility(finder is not None)
        self._told = (-1, False)
        self.tick()
        ui.run_javascript("promptpress.refresh()")

    def again(self) -> None:
        """Show what is chosen now; what was found is looked for again."""
        if isinstance(self._view.finder, Comparing):
            self.compare()
        elif self._view.finder is not None:
            self.look()
        else:
            ui.run_javascript("promptpress.refresh(true)")

    def end(self) -> None:
        """End the search and show all rows."""
        self._wanted.set_value("")
        self.look()

    def go(self, row: int) -> None:
        """Go to a row of the table."""
        if self._view.finder is not None:
            self.end()
        ui.run_javascript(f"promptpress.go({row:d})")

    def _go_typed(self) -> None:
        text = (self._row.value or "").strip().replace(",", "").replace("_", "")
        total = self._view.total()
        if text.isascii() and text.isdigit() and (total is None or int(text) < total):
            self.go(int(text))
        else:
            rows = "rows count from 0" if total is None else f"there are rows 0 to {total - 1:,}"
            ui.notify(f"No such row: {rows}", type="warning", position="bottom")

    def _cancel(self) -> None:
        if self._view.finder is not None:
            self._view.finder.cancel()

    def tick(self) -> None:
        """Say how far a search is; show what it has found when there is something new."""
        finder, store = self._view.finder, self._view.store
        if finder is None:
            if store.done and not self._was_done:
                ui.run_javascript("promptpress.recount()")  # now it is known how many there are
            self._was_done = store.done
            return
        now = (len(finder.found), finder.done)
        if now == self._told and finder.done:
            return
        if (self._told[0] < 100 and now[0] != self._told[0]) or (now[1] and not self._told[1]):
            ui.run_javascript("promptpress.refresh()")  # the first that are found are shown while it goes on
        self._told = now
        total = store.num_rows
        self._bar.set_value(finder.seen / total if total else 0)
        self._bar.set_visibility(not finder.done)
        self._stop.set_visibility(not finder.done)
        self._says.set_text(one_line(finder.error or _said(finder)))


def _said(finder: RowFinder) -> str:
    what = "found" if isinstance(finder, Search) else "differ" if len(finder.found) != 1 else "differs"
    found = f"{len(finder.found):,} {what} in {finder.seen:,} rows"
    if finder.cancelled:
        return f"{found}, stopped"
    return found if finder.done else f"{found} so far"
