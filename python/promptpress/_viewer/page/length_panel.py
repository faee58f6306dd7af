"""Lengths, bytes by origin and duplicates, as plots and lists."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from promptpress._viewer.view import View


class LengthPanel:
    """Not yet."""

    def __init__(self, view: View, go: Callable[[int], None]) -> None:
        self._view = view
        self._go = go
        self._place = ui.element("div")

    def show(self, name: str) -> None:
        """Show."""

    def forget(self) -> None:
        """Forget."""
