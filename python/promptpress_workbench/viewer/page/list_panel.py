"""The list of rows with its fields: go to a row, search, filter by a column, sort by length."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace

from nicegui import ui
from promptpress import DataError
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.viewer.search import ERROR_COLUMN, DifferenceSearch, RowFinder, Wanted
from promptpress_workbench.viewer.view import View

SELECT = "dense outlined options-dense"
"""NiceGUI's properties of the fields in which something is chosen."""

_MAX_VALUE = 60  # characters of a value that is offered

_GRID = {
    "columnDefs": [
        {"field": "row", "headerName": "Row", "width": 84, "cellClass": "pp-number", "headerClass": "pp-right"},
        {
            **{"field": "size", "headerName": "Bytes", "width": 98, "cellClass": "pp-number"},
            **{
                "headerClass": "pp-right",
                "sortable": True,
                "sortingOrder": ["desc", "asc", None],
                "headerTooltip": "Sort",
            },
        },
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
    """The list with its fields: rows, search, filter. The browser fetches the view's lines by its name."""

    def __init__(
        self, view: View, name: str, parse_rows: Callable[[str], list[int]], show_error: Callable[[str], None]
    ) -> None:
        self._view = view
        self._parse_rows = parse_rows
        self._show_error = show_error
        self._reported = (-1, False)
        self._was_done = view.store.done
        self._aim: int | None = None
        wanted = view.wanted
        columns = list(dict.fromkeys([ERROR_COLUMN, *view.store.schema.names]))
        with ui.element("section").classes("pp-list").props("aria-label=List"):
            with ui.element("div").classes("pp-tools"):
                self._row = ui.input("Go to row", value=wanted.rows).props("dense outlined").classes("pp-goto")
                self._row.on("keydown.enter", self._go_typed).tooltip("17 goes to that row; 3,17,100-105 lists some")
                self._wanted = ui.input("Search in all prompts", value=wanted.search)
                self._wanted.props("dense outlined clearable").classes("pp-search")
                self._wanted.on("keydown.enter", self.search)
                self._wanted.on("clear", self._clear_search)
                self._case = ui.checkbox("Aa", value=bool(wanted.case)).props("dense").classes("pp-case")
                self._case.tooltip("Upper and lower case count").on_value_change(self.search)
                toggle = ui.button(icon="filter_list", on_click=self._turn_filter)
                toggle.props('flat dense round size=sm aria-label="Filter"').classes("pp-filtering")
                toggle.tooltip("Filter by a column, or list the rows that can't be rendered")
            with ui.element("div").classes("pp-tools pp-filter") as self._filter:
                names = {name: one_line(name) for name in columns}
                self._column = ui.select(names, value=wanted.column if wanted.column in names else None, label="Column")
                self._column.props(f"{SELECT} clearable").classes("pp-select pp-column-name")
                self._column.on_value_change(self._choose_column)
                self._value = ui.select([], label="Value", with_input=True, new_value_mode="add-unique")
                self._value.props(f"{SELECT} clearable").classes("pp-value")
                self._offer_values(wanted.value)
                self._value.on_value_change(self.search)
                self._token = ui.input("Token: text or id", value=wanted.token)
                self._token.props("dense outlined clearable").classes("pp-value").on("keydown.enter", self.search)
                self._token.on("clear", self.search)
                self._untrained = ui.checkbox("Nothing trained", value=bool(wanted.untrained)).props("dense")
                self._untrained.on_value_change(self.search)
                for field in (self._token, self._untrained):
                    field.set_visibility(view.sources.tokens is not None)
            self._filter.set_visibility(bool(wanted.column or wanted.token or wanted.untrained))
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
                ":onCellClicked": "() => promptpress.open(true)",
                ":onBodyScroll": "() => promptpress.shared()",
                ":onModelUpdated": "() => promptpress.shared()",
            }
            with ui.element("details").classes("pp-shared").props("id=pp-shared hidden"):
                with ui.element("summary"):
                    ui.element("span").props("id=pp-shared-size")
                ui.element("pre").props("id=pp-shared-text tabindex=0")
            self._grid = ui.aggrid(options, auto_size_columns=False).classes("pp-grid")
            self._grid.on(
                "sortChanged", lambda event: self._sort(event.args), js_handler="() => emit(promptpress.order())"
            )

    def search(self) -> None:
        """Look for what the fields say; if they are empty, show all rows."""
        column = self._column.value or ""
        fields = {"search": self._wanted.value or "", "case": "yes" if self._case.value else ""}
        fields |= {"token": self._token.value or "", "untrained": "yes" if self._untrained.value else ""}
        fields |= {"column": column, "value": (self._value.value or "") if column else ""}
        self.want(replace(self._view.wanted, **fields))

    def _clear_search(self) -> None:
        self._wanted.set_value("")
        self.search()

    def want(self, wanted: Wanted) -> None:
        """Look for rows, and show it in the fields; if nothing is wanted, show all rows."""
        if wanted == self._view.wanted and isinstance(self._view.finder, RowFinder) and not self._view.finder.cancelled:
            return  # a field says again what is shown
        if not wanted.search:
            wanted = replace(wanted, case="")
        self._view.wanted = wanted
        self._set_fields(wanted)
        self._start()

    def _set_fields(self, wanted: Wanted) -> None:
        self._wanted.set_value(wanted.search)
        if wanted.search:
            self._case.set_value(bool(wanted.case))
        if (self._column.value or "") != wanted.column:
            self._column.set_value(wanted.column or None)
        if (self._value.value or "") != wanted.value:
            self._offer_values(wanted.value)
        if self._token.value != wanted.token:
            self._token.set_value(wanted.token)
        if bool(self._untrained.value) != bool(wanted.untrained):
            self._untrained.set_value(bool(wanted.untrained))
        if wanted.column or wanted.token or wanted.untrained:
            self._filter.set_visibility(True)
        sort = {"longest": "desc", "shortest": "asc"}.get(wanted.order)
        self._grid.run_grid_method("applyColumnState", {"state": [{"colId": "size", "sort": sort}]})

    def _start(self) -> None:
        try:
            self._view.start_search(self._parse_rows)
        except DataError as error:
            self._show_error(str(error))
        self._show()

    def compare(self) -> None:
        """Search for the rows for which the two choices differ."""
        self._set_fields(Wanted())
        self._view.start_comparison()
        self._show()

    def _turn_filter(self) -> None:
        self._filter.set_visibility(not self._filter.visible)

    def _choose_column(self) -> None:
        if (self._column.value or "") != self._view.wanted.column:
            self._offer_values("")
            self.search()

    def _offer_values(self, value: str) -> None:
        """Offer the commonest values of the column, with `value` as the one that is chosen."""
        values = [*(self._view.values_of(self._column.value) if self._column.value else []), value]
        options = {text: one_line(text[:_MAX_VALUE]) + "…" * (len(text) > _MAX_VALUE) for text in values if text}
        self._value.set_options(options, value=value or None)

    def _sort(self, order: str) -> None:
        if order != self._view.wanted.order:
            self.want(replace(self._view.wanted, order=order))

    def _show(self) -> None:
        self._status.set_visibility(self._view.finder is not None)
        self._reported = (-1, False)
        self.tick()
        ui.run_javascript("promptpress.refresh()")

    def refresh(self) -> None:
        """Show the present choice; a search is repeated."""
        if isinstance(self._view.finder, DifferenceSearch):
            self.compare()
        elif self._view.finder is not None:
            self._start()
        else:
            ui.run_javascript("promptpress.refresh(true)")

    def end(self) -> None:
        """End the search and show all rows."""
        self._row.set_value("")
        self._view.wanted = Wanted()
        self._set_fields(Wanted())
        self._start()

    def go(self, row: int) -> None:
        """Go to a row of the table; if the list doesn't have it, all rows are listed."""
        if self._view.line_of(row) is None:
            self.end()
        self._aim = None
        ui.run_javascript(f"promptpress.go({self._view.line_of(row):d})")

    def aim(self, row: int) -> None:
        """Go to a row as soon as the list has all of its rows."""
        self._aim = row

    def _go_typed(self) -> None:
        text = (self._row.value or "").strip()
        total = self._view.total()
        try:
            rows = self._parse_rows(text) if text else []
        except ArgumentTypeError as error:
            ui.notify(one_line(str(error)), type="warning", position="bottom")
            return
        if total is not None and (beyond := [row for row in rows if row >= total]):
            message = f"No row {beyond[0]}: there are rows 0 to {total - 1}"
            ui.notify(message, type="warning", position="bottom")
        elif len(rows) == 1:
            self._row.set_value("")
            self.go(rows[0])
        else:
            self.want(replace(self._view.wanted, rows=text))

    def _cancel(self) -> None:
        if self._view.finder is not None:
            self._view.finder.cancel()

    def tick(self) -> None:
        """Report the progress of a search, and show new results."""
        finder, store = self._view.finder, self._view.store
        if self._aim is not None and (finder is None or (finder.done and self._reported[1])):
            row, self._aim = self._aim, None
            if (line := self._view.line_of(row)) is not None:
                ui.run_javascript(f"promptpress.go({line:d})")
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
        self._says.set_text(one_line(finder.error or _progress(finder, self._view.wanted)))


def _progress(finder: RowFinder, wanted: Wanted) -> str:
    count = len(finder.rows)
    verb = "found" if not isinstance(finder, DifferenceSearch) else "differ" if count != 1 else "differs"
    text = f"{count:,} {verb} in {counted(finder.seen, 'row')}"
    if finder.failed and wanted.column != ERROR_COLUMN:
        text += f", {finder.failed:,} can't be rendered"
    text += ", stopped" if finder.cancelled else "" if finder.done else " so far"
    return " · ".join(filter(None, [text, wanted.described()]))
