"""The keys, in a dialog."""

from __future__ import annotations

from nicegui import ui

KEYS = {
    "↓ ↑ or j k": "next and previous prompt",
    "g": "go to a row",
    "/": "search in all prompts",
    "Tab": "from piece to piece: where each comes from",
    "w": "white space made visible, or not",
    "d": "dark or light",
    "Esc": "leave a field; end a search",
    "?": "this list",
}


def help_dialog() -> ui.dialog:
    """Make the dialog.

    Returns:
        The dialog, closed.

    """
    with ui.dialog() as dialog, ui.card().classes("pp-card"):
        ui.label("Keys").classes("pp-title")
        with ui.element("dl").classes("pp-keys"):
            for key, what in KEYS.items():
                with ui.element("dt"):
                    ui.label(key)
                with ui.element("dd"):
                    ui.label(what)
    return dialog
