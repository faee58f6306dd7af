"""The tab Audit: what is wrong or odd, and rows to go to."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from nicegui import run, ui

from promptpress._view.visible import visible
from promptpress._viewer.audited import ShownFinding, shown_findings
from promptpress._viewer.catalogue import Choice
from promptpress._viewer.sources import StoredPrompts
from promptpress._viewer.view import View

_KEPT = 4  # choices whose findings are kept


class AuditPanel:
    """The findings of what is chosen.

    Args:
        view: what the page shows.
        go: shows a row of the table.

    """

    def __init__(self, view: View, go: Callable[[int], None]) -> None:
        self._view = view
        self._go = go
        self._known: dict[Choice, list[ShownFinding]] = {}
        self._is_shown = False
        self._place = ui.element("div").classes("pp-figures")
        self._place.set_visibility(False)

    async def show(self, *, is_shown: bool) -> None:
        """Show the findings, or hide them: all prompts are gone over when they are first wanted.

        Args:
            is_shown: whether the tab is seen.

        """
        self._is_shown = is_shown
        self._place.set_visibility(is_shown)
        if not is_shown:
            return
        choice = self._view.choice
        if choice not in self._known:
            self._say("Going over every prompt…")
            table, why = await run.io_bound(_audited, self._view, choice)
            if table is None:
                self._say(why)
                return
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[choice] = shown_findings(table)
        if self._is_shown and self._view.choice == choice:
            self._list(self._known[choice])

    async def again(self) -> None:
        """Show those of another choice."""
        await self.show(is_shown=self._is_shown)

    def _say(self, text: str) -> None:
        self._place.clear()
        with self._place:
            ui.label(visible(text)).classes("pp-dim")

    def _list(self, findings: list[ShownFinding]) -> None:
        self._place.clear()
        with self._place:
            ui.label(f"{len(findings):,} findings" if findings else "Nothing is found.").classes("pp-title")
            for one in findings:
                with ui.element("section").classes(f"pp-finding pp-of-{one.severity}"):
                    ui.label(f"{one.severity}: {one.code}").classes("pp-caption")
                    ui.label(one.says)
                    ui.label(one.remedy).classes("pp-dim")
                    with ui.element("div").classes("pp-chips"):
                        for row in one.rows:
                            button = ui.button(f"row {row:,}", on_click=lambda row=row: self._go(row))
                            button.props("flat dense no-caps size=sm").classes("pp-row")


def _audited(view: View, choice: Choice) -> tuple[pa.Table | None, str]:
    try:
        view.store.wait_all()
        source = view.sources.of(choice)
        if not isinstance(source, StoredPrompts):
            return None, "an audit is of a configuration: rendered prompts don't say what they are made of"
        return source.renderer.audit(view.store.table()), ""
    except Exception as error:  # whatever can't be rendered is told on the page
        return None, str(error) or type(error).__name__
