"""The page: choices at the top, the list on the left, a prompt on the right; other tabs have figures of all prompts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.viewer.page.figure_panels import AuditPanel, LengthPanel, attempt
from promptpress_workbench.viewer.page.list_panel import SELECT, ListPanel
from promptpress_workbench.viewer.page.server import STATIC, add_routes
from promptpress_workbench.viewer.prompt_html import copied_text, page_html
from promptpress_workbench.viewer.search import DifferenceSearch, Wanted
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources
from promptpress_workbench.viewer.view import TABS, View

_RENDERED_TABS = ("prompts", "lengths", "duplicates")

_KEYS = {
    "↓ ↑ or j k": "next and previous prompt",
    "g": "go to a row, or list some: 3,17,100-105",
    "/": "search in all prompts",
    "n": "next difference between two sides",
    "c": "copy the prompt",
    "Tab": "from piece to piece: where each comes from",
    "w": "white space made visible, or not",
    "d": "dark or light",
    "Esc": "leave a field; end a search",
    "?": "this list",
}


@dataclass(frozen=True)
class PageSetup:
    """The contents of every page: first the choice `choice`, compared with `other` or with itself.

    If there is no catalogue, the samples are rendered prompts. If `starts_comparing` is true, both choices are shown
    side by side at first. `parse_rows` reads what is typed to list some rows.
    """

    title: str
    store: SampleStore
    sources: Sources
    catalogue: Catalogue | None
    choice: Choice
    parse_rows: Callable[[str], list[int]]
    other: Choice | None = None
    starts_comparing: bool = False


def add_page(setup: PageSetup) -> None:
    """Add the page, and the routes of its fetches, to NiceGUI's app."""
    views: dict[str, View] = {}
    add_routes(views)

    def page() -> None:
        name = secrets.token_urlsafe(12)
        view = views[name] = View(setup.store, setup.sources, setup.choice, setup.other)
        if setup.starts_comparing:
            view.tab = "compare"
        view.follow(ui.context.client.request.query_params, setup.catalogue)
        ui.context.client.on_delete(lambda: _forget(views, name))
        _Page(setup, view, name).build()

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
        self._address = ""
        self._row = view.row
        self._has_options = view.choice == view.other
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
            with ui.element("div").classes("pp-controls pp-between") as self._between:
                self._options = ui.button("Options", icon="tune", on_click=lambda: self._show_options(None))
                self._options.props("flat dense no-caps size=sm").classes("pp-options")
                self._names = ui.label().classes("pp-dim")
            with ui.element("div").classes("pp-controls") as self._controls:
                if catalogue is not None:
                    _ChoiceFields("Show", catalogue, self._view.choice, self._choose)
                self._label = ui.select({"": "all"}, value="", label="Label").props(SELECT)
                self._label.classes("pp-select pp-label")
                self._label.on_value_change(lambda event: self._set_label(event.value))
                self._label.set_visibility(False)
            with ui.element("div").classes("pp-controls pp-other") as self._others:
                if catalogue is not None and catalogue.compares:
                    ui.label("with").classes("pp-with")
                    _ChoiceFields("Compare with", catalogue, self._view.other, self._compare)
            with ui.element("main").classes("pp-body") as self._body:
                self._list = ListPanel(self._view, self._name, self._setup.parse_rows, self._show_error)
                self._prompt_panel()
            with ui.element("main").classes("pp-plots") as self._plots:
                self._lengths = LengthPanel(self._view, self._go, self._want)
                self._audit = AuditPanel(self._view, self._go)
        self._show_options(self._has_options)
        self._plots.set_visibility(False)
        ui.timer(0.2, self._read, once=False)
        ui.timer(0, self._first, once=True)

    def _show_options(self, visible_options: bool | None) -> None:
        """Show what can be chosen: always, but in Compare only if it is wanted (None: turn that)."""
        self._has_options = not self._has_options if visible_options is None else visible_options
        compares = self._view.tab == "compare"
        self._between.set_visibility(compares)
        self._controls.set_visibility(not self._view.sources.is_rendered and (not compares or self._has_options))
        self._others.set_visibility(compares and self._has_options)
        mine, yours = self._view.names()
        self._names.set_text(one_line(f"{mine} | {yours}") if mine else "both sides are the same: choose another one")

    def _header(self) -> None:
        with ui.element("header").classes("pp-header"):
            ui.label("promptpress").classes("pp-brand")
            ui.label(one_line(self._setup.title)).classes("pp-file")
            self._status = ui.label().classes("pp-status").props("role=status")
            catalogue = self._setup.catalogue
            names = [name for name in TABS if name != "compare" or catalogue is None or catalogue.compares]
            if catalogue is None:
                names = list(_RENDERED_TABS[: None if self._view.sources.ids_column is None else 1])
            start, self._view.tab = self._view.tab if self._view.tab in names else "prompts", "prompts"
            self._start = start
            self._tabs = ui.tabs(value="prompts", on_change=lambda event: self._tab(event.value))
            with self._tabs.props("dense no-caps inline-label").classes("pp-tabs"):
                for name in names:
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
        self._view.tab = name
        is_plot, is_audit = name in ("lengths", "duplicates"), name == "audit"
        self._body.set_visibility(not (is_plot or is_audit))
        self._plots.set_visibility(is_plot or is_audit)
        self._show_options(self._has_options)
        ui.run_javascript(f"promptpress.compare({'true' if name == 'compare' else 'false'})")
        if name == "compare":
            self._list.compare()
        elif name == "prompts" and isinstance(self._view.finder, DifferenceSearch):
            self._list.end()
        else:
            ui.run_javascript("promptpress.reload()")
        await self._lengths.show(name if is_plot else None)
        await self._audit.show(name if is_audit else None)

    async def _first(self) -> None:
        """Show what the address says, and offer the labels of the choice: the values of a column need all rows."""
        if self._view.wanted != Wanted():
            self._list.want(self._view.wanted)
        if self._start != "prompts":
            self._tabs.set_value(self._start)
        if self._row:
            self._list.aim(self._row)
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
        self._show_options(self._has_options)
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
            self._show_options(self._has_options)
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

    def _want(self, **wanted: str) -> None:
        """List what a part of a figure stands for."""
        self._tabs.set_value("prompts")
        self._list.want(Wanted(**wanted))

    def _read(self) -> None:
        """Report how many samples have been read; the list reports on itself."""
        store = self._setup.store
        if store.error is not None:
            self._show_error(store.error)
        total = store.num_rows
        of = f" of {total:,}" if total is not None else ""
        self._status.set_text(counted(store.ready, "row") if store.done else f"reading: {store.ready:,}{of} rows")
        self._list.tick()
        if (address := self._view.address()) != self._address:
            self._address = address
            ui.navigate.history.replace(address)

    def _prompt_panel(self) -> None:
        """Make the panel of a prompt, which the page's script fills."""
        with ui.element("section").classes("pp-detail").props("aria-label=Prompt"):
            with ui.element("div").classes("pp-above"):
                _tool("arrow_back", "Back to the list", "promptpress.open(false)", "pp-back pp-narrow")
                _tool("expand_less", "Previous prompt", "promptpress.move(-1)", "pp-narrow")
                _tool("expand_more", "Next prompt", "promptpress.move(1)", "pp-narrow")
                ui.element("div").props("id=pp-colours")
                _tool("skip_next", "Next difference (n)", "promptpress.next()", "pp-next")
                _tool("space_bar", "White space (w)", "promptpress.spaces()", "pp-space")
                _tool("content_copy", "Copy the prompt (c)", self._copy, "pp-copy")
                _tool("download", "Save this row as HTML", self._save, "pp-save")
            _prompt_place()

    async def _copy(self) -> None:
        prompts, error = await attempt(lambda: self._view.prompts(self._view.row))
        if prompts is not None:
            ui.clipboard.write(copied_text(prompts))
        ui.notify(one_line(error or "Copied"), type="warning" if error else None, position="bottom", timeout=1500)

    async def _save(self) -> None:
        view = self._view
        prompts, error = await attempt(lambda: view.prompts(view.row))
        if prompts is not None:
            title = f"{self._setup.title} · row {view.row}"
            ui.download.content(
                page_html([prompts], view.choice, title=title, ids=view.sources.shows_ids),
                f"row-{view.row}.html",
                "text/html",
            )
        self._show_error(error)


def _tool(icon: str, name: str, act: str | Callable[[], Any], classes: str) -> None:
    """Make a small button above the prompt, which runs a script or a function."""
    button = ui.button(icon=icon).props(f'flat dense round size=sm aria-label="{name}"').classes(classes)
    button.on("click", js_handler=f"() => {act}") if isinstance(act, str) else button.on_click(act)
    button.tooltip(name)


def _prompt_place() -> None:
    """Make the place of the prompt, and what stands next to it and below."""
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
        select.props(SELECT).classes(f"pp-select pp-{field}{classes}")
        select.on_value_change(lambda event: self._change(field, event.value))

    def _change(self, field: str, value: str) -> object:
        self._choice = self._choice.changed(**{field: value or None})
        return self._on_change(self._choice)
