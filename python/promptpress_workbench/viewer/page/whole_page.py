"""The page: choices at the top, the list on the left, a prompt on the right; other tabs have figures of all prompts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.viewer.page.figure_panels import AuditPanel, LengthPanel, attempt
from promptpress_workbench.viewer.page.server import STATIC, add_routes
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources
from promptpress_workbench.viewer.view import DifferenceSearch, ErrorSearch, RowFinder, TextSearch, View

_TABS = ("prompts", "compare", "lengths", "duplicates", "audit")
_SELECT = "dense outlined options-dense"
"""NiceGUI's properties of the fields in which something is chosen."""

_RENDERED_TABS = ("prompts", "lengths", "duplicates")

_KEYS = {
    "↓ ↑ or j k": "next and previous prompt",
    "g": "go to a row",
    "/": "search in all prompts",
    "Tab": "from piece to piece: where each comes from",
    "w": "white space made visible, or not",
    "d": "dark or light",
    "Esc": "leave a field; end a search",
    "?": "this list",
}

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


@dataclass(frozen=True)
class PageSetup:
    """The contents of every page: first the choice `choice`, compared with `other` or with itself.

    If there is no catalogue, the samples are rendered prompts. If `starts_comparing` is true, both choices are shown
    side by side at first.
    """

    title: str
    store: SampleStore
    sources: Sources
    catalogue: Catalogue | None
    choice: Choice
    other: Choice | None = None
    starts_comparing: bool = False


def add_page(setup: PageSetup) -> None:
    """Add the page, and the routes of its fetches, to NiceGUI's app."""
    views: dict[str, View] = {}
    add_routes(views)

    def page() -> None:
        name = secrets.token_urlsafe(12)
        views[name] = View(setup.store, setup.sources, setup.choice)
        ui.context.client.on_delete(lambda: _forget(views, name))
        _Page(setup, views[name], name).build()

    ui.page("/")(page)


def _forget(views: dict[str, View], name: str) -> None:
    view = views.pop(name, None)
    if view is not None and view.finder is not None:
        view.finder.cancel()


class _Page:
    def __init__(self, setup: PageSetup, view: View, name: str) -> None:
        self._setup = setup
        self._view = view
        self._name = name
        self._latest: Choice | None = None
        self._dark = ui.dark_mode(None)

    def build(self) -> None:
        path, catalogue = STATIC.lstrip("/"), self._setup.catalogue
        ui.add_head_html(f'<link rel="stylesheet" href="{path}/viewer.css">')
        ui.add_head_html('<link rel="stylesheet" href="prompts.css">')
        ui.add_head_html(f'<script src="{path}/viewer.js"></script>')
        with ui.element("div").classes("pp-page"):
            self._header()
            self._errors = ui.label().classes("pp-error").props("role=alert")
            self._errors.set_visibility(False)
            with ui.element("div").classes("pp-controls") as controls:
                if catalogue is not None:
                    _ChoiceFields("Show", catalogue, self._view.choice, self._choose)
                self._label = ui.select({"": "all"}, value="", label="Label").props(_SELECT)
                self._label.classes("pp-select pp-label")
                self._label.on_value_change(lambda event: self._set_label(event.value))
                self._label.set_visibility(False)
            controls.set_visibility(not self._view.sources.is_rendered)
            with ui.element("div").classes("pp-controls pp-other") as self._others:
                if catalogue is not None and catalogue.compares:
                    ui.label("with").classes("pp-with")
                    other = self._setup.other or self._view.choice
                    _ChoiceFields("Compare with", catalogue, other, self._compare)
            self._others.set_visibility(False)
            with ui.element("main").classes("pp-body") as self._body:
                self._list = ListPanel(self._view, self._name)
                _prompt_panel()
            with ui.element("main").classes("pp-plots") as self._plots:
                self._lengths = LengthPanel(self._view, self._go)
                self._audit = AuditPanel(self._view, self._go)
            self._plots.set_visibility(False)
        ui.timer(0.2, self._read, once=False)
        ui.timer(0, self._first, once=True)

    def _header(self) -> None:
        with ui.element("header").classes("pp-header"):
            ui.label("promptpress").classes("pp-brand")
            ui.label(one_line(self._setup.title)).classes("pp-file")
            self._status = ui.label().classes("pp-status").props("role=status")
            catalogue = self._setup.catalogue
            names = [name for name in _TABS if name != "compare" or catalogue is None or catalogue.compares]
            self._tabs = ui.tabs(value="prompts", on_change=lambda event: self._tab(event.value))
            with self._tabs.props("dense no-caps inline-label").classes("pp-tabs"):
                for name in _RENDERED_TABS if catalogue is None else names:
                    ui.tab(name, name.capitalize())
            theme = ui.button(icon="contrast").props("flat dense round size=sm aria-label='Dark or light'")
            # The theme changes at once in the browser, and here too, because later drawings read it here.
            turn = "() => emit(promptpress.turn())"
            theme.on("click", lambda event: self._dark.set_value(event.args), js_handler=turn)
            theme.classes("pp-theme").tooltip("Dark or light (d)")
            dialog = _help_dialog()
            questions = ui.button(icon="help_outline", on_click=dialog.open)
            questions.props("flat dense round size=sm aria-label=Keys").classes("pp-help").tooltip("Keys (?)")

    async def _tab(self, name: str) -> None:
        is_plot, is_audit = name in ("lengths", "duplicates"), name == "audit"
        self._body.set_visibility(not (is_plot or is_audit))
        self._plots.set_visibility(is_plot or is_audit)
        self._others.set_visibility(name == "compare")
        ui.run_javascript(f"promptpress.compare({'true' if name == 'compare' else 'false'})")
        if name == "compare":
            if self._view.other is None:
                self._view.other = self._setup.other or self._view.choice
            self._list.compare()
        elif name == "prompts" and isinstance(self._view.finder, DifferenceSearch):
            self._list.end()
        else:
            ui.run_javascript("promptpress.reload()")
        await self._lengths.show(name if is_plot else None)
        await self._audit.show(name if is_audit else None)

    async def _first(self) -> None:
        """Offer the labels of the first choice. If they are the values of a column, this reads all rows."""
        if self._setup.starts_comparing:
            self._tabs.set_value("compare")
        labels = await self._try(self._view.choice)
        if labels is not None and self._latest is None:
            self._offer(labels)

    async def _choose(self, choice: Choice) -> None:
        """Show another choice, or the reason why it can't be; a search is repeated."""
        self._latest = choice
        labels = await self._try(choice)
        if labels is None or self._latest is not choice:  # another choice was made meanwhile
            return
        self._view.choice = choice
        self._offer(labels)
        self._list.refresh()
        await self._lengths.refresh()
        await self._audit.refresh()

    def _offer(self, labels: list[str]) -> None:
        options = {"": "all labels", **{label: one_line(label) for label in labels}}
        if self._view.label not in labels:
            self._view.label = None
        self._label.set_options(options, value=self._view.label or "")
        self._label.set_visibility(bool(labels))

    async def _compare(self, choice: Choice) -> None:
        if await self._try(choice) is not None:
            self._view.other = choice
            self._list.compare()

    async def _try(self, choice: Choice) -> list[str] | None:
        """Return the labels of a choice; None if there is an error, which the page shows."""
        labels, error = await attempt(lambda: self._view.labels_of(choice))
        self._show_error(error)
        return labels

    def _show_error(self, text: str) -> None:
        self._errors.set_text(visible(text))
        self._errors.set_visibility(bool(text))

    def _set_label(self, value: str) -> None:
        self._view.label = value or None
        self._list.refresh()

    def _go(self, row: int) -> None:
        self._tabs.set_value("prompts")
        self._list.go(row)

    def _read(self) -> None:
        """Report how many samples have been read; the list reports on itself."""
        store = self._setup.store
        if store.error is not None:
            self._show_error(store.error)
        total = store.num_rows
        of = f" of {total:,}" if total is not None else ""
        self._status.set_text(counted(store.ready, "row") if store.done else f"reading: {store.ready:,}{of} rows")
        self._list.tick()


def _prompt_panel() -> None:
    """Make the panel of a prompt, which the page's script fills."""
    with ui.element("section").classes("pp-detail").props("aria-label=Prompt"):
        with ui.element("div").classes("pp-above"):
            ui.element("div").props("id=pp-colours")
            spaces = ui.button(icon="space_bar", on_click=lambda: ui.run_javascript("promptpress.spaces()"))
            spaces.props("flat dense round size=sm aria-label='White space'").classes("pp-space")
            spaces.tooltip("White space (w)")
        with ui.element("div").classes("pp-row-of"):
            ui.element("div").classes("pp-place").props("id=pp-place tabindex=0")
            with ui.element("details").classes("pp-columns").props("id=pp-columns open hidden"):
                with ui.element("summary"):
                    ui.label("Other columns of the row")
                ui.element("div").props("id=pp-values tabindex=0")
        ui.element("div").classes("pp-origin").props("id=pp-origin role=status aria-live=polite")


def _help_dialog() -> ui.dialog:
    """Make the closed dialog with the list of keys."""
    with ui.dialog() as dialog, ui.card().classes("pp-card"):
        ui.label("Keys").classes("pp-title")
        with ui.element("dl").classes("pp-keys"):
            for key, what in _KEYS.items():
                with ui.element("dt"):
                    ui.label(key)
                with ui.element("dd"):
                    ui.label(what)
    return dialog


class _ChoiceFields:
    """A row of fields: prompts, model, mode, output, substitution; its name is for screen readers."""

    def __init__(self, name: str, catalogue: Catalogue, choice: Choice, on_change: Callable[[Choice], object]) -> None:
        self._choice = choice
        self._on_change = on_change
        with ui.element("div").classes("pp-fields").props(f'role=group aria-label="{name}"'):
            if len(catalogue.prompts) > 1:
                self._field("prompts", "Prompts", list(catalogue.prompts), default=None, classes=" pp-wide")
            if catalogue.models:
                self._field("model", "Model", list(catalogue.models), "as configured, or none", " pp-wide")
            if catalogue.has_settings:
                self._field("mode", "Mode", catalogue.MODES)
                self._field("output", "Output", catalogue.OUTPUTS)
                self._field("substitution", "Substitution", catalogue.SUBSTITUTIONS)

    def _field(
        self, field: str, label: str, names: Sequence[str], default: str | None = "as configured", classes: str = ""
    ) -> None:
        options = {} if default is None else {"": default}
        options |= {name: one_line(name) for name in names}
        select = ui.select(options, value=getattr(self._choice, field) or "", label=label)
        select.props(_SELECT).classes(f"pp-select pp-{field}{classes}")
        select.on_value_change(lambda event: self._change(field, event.value))

    def _change(self, field: str, value: str) -> object:
        self._choice = self._choice.changed(**{field: value or None})
        return self._on_change(self._choice)


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
                errors = ui.button("Errors", on_click=self.search_errors).props("flat dense no-caps")
                errors.tooltip("Only the rows that can't be rendered")
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
            ui.aggrid(options, auto_size_columns=False).classes("pp-grid")

    def search(self) -> None:
        """Search for the text in the field; if it is empty, end the search."""
        wanted, view = self._wanted.value or "", self._view
        self._cancel()
        if wanted:
            self._show(TextSearch(view.source, wanted, ignore_case=not self._case.value, label=view.label))
        else:
            self._show(None)

    def search_errors(self) -> None:
        """Search for the rows that can't be rendered."""
        self._wanted.set_value("")
        self._cancel()
        self._show(ErrorSearch(self._view.source))

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
        elif isinstance(self._view.finder, ErrorSearch):
            self.search_errors()
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
    if isinstance(finder, ErrorSearch):
        verb = "can't be rendered"
    text = f"{count:,} {verb} in {counted(finder.seen, 'row')}"
    if finder.failed and not isinstance(finder, ErrorSearch):
        text += f", {finder.failed:,} can't be rendered"
    if finder.cancelled:
        return f"{text}, stopped"
    return text if finder.done else f"{text} so far"
