"""The page: what is chosen at the top, the list on the left, a prompt on the right."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from nicegui import run, ui

from promptpress._view.visible import one_line, visible
from promptpress._viewer.catalogue import Catalogue, Choice
from promptpress._viewer.comparing import Comparing
from promptpress._viewer.page.audit_panel import AuditPanel
from promptpress._viewer.page.choice_fields import SELECT, ChoiceFields
from promptpress._viewer.page.help_dialog import help_dialog
from promptpress._viewer.page.length_panel import LengthPanel
from promptpress._viewer.page.list_panel import ListPanel
from promptpress._viewer.page.routes import STATIC, add_routes
from promptpress._viewer.sample_store import SampleStore
from promptpress._viewer.sources import Sources
from promptpress._viewer.view import View

_TABS = {
    "prompts": "Prompts",
    "compare": "Compare",
    "lengths": "Lengths",
    "duplicates": "Duplicates",
    "audit": "Audit",
}
_RENDERED_TABS = ("prompts", "lengths", "duplicates")


@dataclass(frozen=True)
class Shown:
    """What every page of a run shows.

    Args:
        title: the files, for the head of the page.
        store: the samples.
        catalogue: what can be chosen; None: the samples are rendered prompts.
        choice: what is shown first.
        other: what it is compared with first; None: the same.

    """

    title: str
    store: SampleStore
    catalogue: Catalogue | None
    choice: Choice
    other: Choice | None = None


def add_page(shown: Shown) -> None:
    """Add the page, and what it fetches, to NiceGUI's app.

    Args:
        shown: what it shows.

    """
    sources = Sources(shown.store, shown.catalogue)
    views: dict[str, View] = {}
    add_routes(views)

    def page() -> None:
        name = secrets.token_urlsafe(12)
        views[name] = View(shown.store, sources, shown.choice)
        ui.context.client.on_delete(lambda: _forget(views, name))
        _Page(shown, views[name], name).build()

    ui.page("/")(page)


def _forget(views: dict[str, View], name: str) -> None:
    view = views.pop(name, None)
    if view is not None and view.finder is not None:
        view.finder.cancel()


class _Page:
    def __init__(self, shown: Shown, view: View, name: str) -> None:
        self._shown = shown
        self._view = view
        self._name = name
        self._latest: Choice | None = None
        self._dark = ui.dark_mode(None)

    def build(self) -> None:
        path = STATIC.lstrip("/")
        ui.add_head_html(f'<link rel="stylesheet" href="{path}/viewer.css">')
        ui.add_head_html('<link rel="stylesheet" href="prompts.css">')
        ui.add_head_html(f'<script src="{path}/viewer.js"></script>')
        with ui.element("div").classes("pp-page"):
            self._header()
            self._errors = ui.label().classes("pp-error").props("role=alert")
            self._errors.set_visibility(False)
            with ui.element("div").classes("pp-controls") as controls:
                self._fields = self._choice_fields("Show", self._view.choice, self._choose)
                self._label = (
                    ui.select({"": "all"}, value="", label="Label").classes("pp-select pp-label").props(SELECT)
                )
                self._label.on_value_change(lambda event: self._set_label(event.value))
                self._label.set_visibility(False)
            controls.set_visibility(not self._view.sources.is_rendered)
            with ui.element("div").classes("pp-controls pp-other") as self._others:
                if self._shown.catalogue is not None:
                    ui.label("with").classes("pp-with")
                    first = self._shown.other or self._view.choice
                    self._other_fields = self._choice_fields("Compare with", first, self._compare)
            self._others.set_visibility(False)
            with ui.element("main").classes("pp-body") as self._body:
                self._list = ListPanel(self._view, self._name)
                _prompt_panel()
            with ui.element("main").classes("pp-plots") as self._plots:
                with ui.element("div") as self._figures:
                    self._lengths = LengthPanel(self._view, self._go)
                self._audit = AuditPanel(self._view, self._go)
            self._plots.set_visibility(False)
        ui.timer(0.2, self._read, once=False)
        ui.timer(0, self._first, once=True)

    def _choice_fields(self, name: str, choice: Choice, chosen: Callable[[Choice], object]) -> ChoiceFields | None:
        catalogue = self._shown.catalogue
        return None if catalogue is None else ChoiceFields(name, catalogue, choice, chosen)

    def _header(self) -> None:
        with ui.element("header").classes("pp-header"):
            ui.label("promptpress").classes("pp-brand")
            ui.label(one_line(self._shown.title)).classes("pp-file")
            self._status = ui.label().classes("pp-status").props("role=status")
            tabs = {name: _TABS[name] for name in (_RENDERED_TABS if self._view.sources.is_rendered else _TABS)}
            self._tabs = ui.tabs(value="prompts", on_change=lambda event: self._tab(event.value))
            with self._tabs.props("dense no-caps inline-label").classes("pp-tabs"):
                for name, text in tabs.items():
                    ui.tab(name, text)
            theme = ui.button(icon="contrast").props("flat dense round size=sm aria-label='Dark or light'")
            # It turns at once in the browser, and here as well: what is drawn anew later looks at what stands here.
            theme.on(
                "click", lambda event: self._dark.set_value(event.args), js_handler="() => emit(promptpress.turn())"
            )
            theme.classes("pp-theme").tooltip("Dark or light (d)")
            dialog = help_dialog()
            questions = ui.button(icon="help_outline", on_click=dialog.open).props(
                "flat dense round size=sm aria-label=Keys"
            )
            questions.classes("pp-help").tooltip("Keys (?)")

    async def _tab(self, name: str) -> None:
        is_plot, is_audit = name in ("lengths", "duplicates"), name == "audit"
        self._body.set_visibility(not (is_plot or is_audit))
        self._plots.set_visibility(is_plot or is_audit)
        self._figures.set_visibility(is_plot)
        self._others.set_visibility(name == "compare")
        ui.run_javascript(f"promptpress.compare({'true' if name == 'compare' else 'false'})")
        if name == "compare":
            if self._view.other is None:
                self._view.other = self._shown.other or self._view.choice
            self._list.compare()
        elif name == "prompts" and isinstance(self._view.finder, Comparing):
            self._list.end()
        else:
            ui.run_javascript("promptpress.reload()")
        await self._lengths.show(name if is_plot else None)
        await self._audit.show(is_shown=is_audit)

    async def _first(self) -> None:
        """Offer the labels of what is shown first, which takes all rows where they are a column's values."""
        labels = await self._try(self._view.choice)
        if labels is not None and self._latest is None:
            self._offer(labels)

    async def _choose(self, choice: Choice) -> None:
        """Show another choice, or say why not; what was found is looked for again."""
        self._latest = choice
        labels = await self._try(choice)
        if labels is None or self._latest is not choice:  # chosen anew meanwhile
            return
        self._view.choice = choice
        self._offer(labels)
        self._list.again()
        await self._lengths.again()
        await self._audit.again()

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
        labels, why = await run.io_bound(self._labels_of, choice)
        self._errors.set_text(visible(why))
        self._errors.set_visibility(bool(why))
        return None if why else labels

    def _labels_of(self, choice: Choice) -> tuple[list[str], str]:
        try:
            return self._view.labels_of(choice), ""
        except Exception as error:  # whatever a configuration can be wrong about is told on the page
            return [], str(error) or type(error).__name__

    def _set_label(self, value: str) -> None:
        self._view.label = value or None
        self._list.again()

    def _go(self, row: int) -> None:
        self._tabs.set_value("prompts")
        self._list.go(row)

    def _read(self) -> None:
        """Say how far the samples are read; what the list shows is for the list to say."""
        store = self._shown.store
        if store.error is not None:
            self._errors.set_text(visible(store.error))
            self._errors.set_visibility(True)
        total = store.num_rows
        of = f" of {total:,}" if total is not None else ""
        self._status.set_text(f"{store.ready:,} rows" if store.done else f"reading: {store.ready:,}{of} rows")
        self._list.tick()


def _prompt_panel() -> None:
    """Make the place of a prompt, which the page's script fills."""
    with ui.element("section").classes("pp-detail").props("aria-label=Prompt"):
        with ui.element("div").classes("pp-above"):
            ui.element("div").props("id=pp-colours")
            spaces = ui.button(icon="space_bar", on_click=lambda: ui.run_javascript("promptpress.spaces()"))
            spaces.props("flat dense round size=sm aria-label='White space'").classes("pp-space").tooltip(
                "White space (w)"
            )
        ui.element("div").classes("pp-place").props("id=pp-place tabindex=0")
        ui.element("div").classes("pp-origin").props("id=pp-origin role=status aria-live=polite")
