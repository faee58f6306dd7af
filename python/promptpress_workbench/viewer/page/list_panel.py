"""The list of prompts: all rows of the table, or those that a search found."""

from __future__ import annotations

from nicegui import ui
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.viewer.search import DifferenceSearch, RowFinder, TextSearch
from promptpress_workbench.viewer.view import View

_GRID = {
    "columnDefs": [
        {"field": "row", "headerName": "Row", "width": 84, "cellClass": "pp-number", "headerClass": "pp-right"},
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
    ":rowClassRules": "{'pp-wrong': row => row.data?.wrong}",
    "theme": "quartz",
}


class ListPanel:
    """The list with its fields, go to a row and search. The browser fetches the view's lines by its name."""

    def __init__(self, view: View, name: str) -> None:
        self._view = view
        self._reported = (-1, False)
        self._was_done = view.store.done
        with ui.element("section").classes("pp-list").props("aria-label=List"):
            with ui.element("div").classes("pp-tools"):
                self._row = ui.input("Go to row").props("dense outlined inputmode=numeric").classes("pp-goto")
                self._row.on("keydown.enter", self._go_typed)
                self._wanted = ui.input("Search in all prompts").props("dense outlined clearable").classes("pp-search")
                self._wanted.on("keydown.enter", self.search)
                self._wanted.on("clear", self.end)
                self._case = ui.checkbox("Aa", value=False).props("dense").classes("pp-case")
                self._case.tooltip("Upper and lower case count").on_value_change(self.refresh)
            with ui.element("div").classes("pp-found") as self._status:
                self._bar = ui.linear_progress(0, show_value=False, size="3px").classes("pp-bar")
                self._says = ui.label().classes("pp-says").props("role=status")
                self._stop = ui.button("Stop", on_click=self._cancel).props("flat dense no-caps").classes("pp-stop")
                ui.button("All rows", on_click=self.end).props("flat dense no-caps").classes("pp-all")
            self._status.set_visibility(False)
            options = {
                **_GRID,
                ":datasource": f'promptpress.rows("{name}")',
                ":onGridReady": "event => promptpress.ready(event.api)",
                ":onCellFocused": "event => promptpress.focused(event)",
                ":onBodyScroll": "() => promptpress.shared()",
                ":onModelUpdated": "() => promptpress.shared()",
            }
            with ui.element("details").classes("pp-shared").props("id=pp-shared hidden"):
                with ui.element("summary"):
                    ui.element("span").props("id=pp-shared-size")
                ui.element("pre").props("id=pp-shared-text tabindex=0")
            self._grid = ui.aggrid(options, auto_size_columns=False).classes("pp-grid")

    def search(self) -> None:
        """Search for the text in the field; if it is empty, end the search."""
        wanted, view = self._wanted.value or "", self._view
        self._cancel()
        if wanted:
            self._show(TextSearch(view.source, wanted, ignore_case=not self._case.value, label=view.label))
        else:
            self._show(None)

    def compare(self) -> None:
        """Search for the rows for which the two choices differ."""
        view = self._view
        self._wanted.set_value("")
        self._cancel()
        self._show(DifferenceSearch(view.source, view.sources.of(view.other or view.choice)))

    def _show(self, finder: RowFinder | None) -> None:
        self._view.finder = finder
        self._status.set_visibility(finder is not None)
        self._reported = (-1, False)
        self.tick()
        ui.run_javascript("promptpress.refresh()")

    def refresh(self) -> None:
        """Show the present choice; a search is repeated."""
        if isinstance(self._view.finder, DifferenceSearch):
            self.compare()
        elif self._view.finder is not None:
            self.search()
        else:
            ui.run_javascript("promptpress.refresh(true)")

    def end(self) -> None:
        """End the search and show all rows."""
        self._wanted.set_value("")
        self.search()

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
        """Report the progress of a search, and show new results."""
        finder, store = self._view.finder, self._view.store
        if finder is None:
            if store.done and not self._was_done:
                ui.run_javascript("promptpress.recount()")  # the number of rows is known now
            self._was_done = store.done
            return
        count, done = len(finder.rows), finder.done
        reported_count, reported_done = self._reported
        if done and (count, done) == self._reported:
            return
        if (reported_count < 100 and count != reported_count) or (done and not reported_done):
            ui.run_javascript("promptpress.refresh()")  # the first results are shown while the search goes on
        self._reported = (count, done)
        total = store.num_rows
        self._bar.set_value(finder.seen / total if total else 0)
        self._bar.set_visibility(not done)
        self._stop.set_visibility(not done)
        self._says.set_text(one_line(finder.error or _progress(finder)))


def _progress(finder: RowFinder) -> str:
    count = len(finder.rows)
    verb = "found" if isinstance(finder, TextSearch) else "differ" if count != 1 else "differs"
    text = f"{count:,} {verb} in {counted(finder.seen, 'row')}"
    if finder.cancelled:
        return f"{text}, stopped"
    return text if finder.done else f"{text} so far"
