"""The fields in which a configuration is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui

from promptpress._view.visible import one_line
from promptpress._viewer.catalogue import Catalogue, Choice

_AS_CONFIGURED = "as configured"
SELECT = "dense outlined options-dense"
"""How each field looks."""


class ChoiceFields:
    """A row of fields: prompts, model, mode, output, substitution.

    Args:
        name: what is chosen by them, for a screen reader.
        catalogue: what there is to choose.
        choice: what is chosen first.
        chosen: is told each new choice.

    """

    def __init__(self, name: str, catalogue: Catalogue, choice: Choice, chosen: Callable[[Choice], object]) -> None:
        self._choice = choice
        self._chosen = chosen
        with ui.element("div").classes("pp-fields").props(f'role=group aria-label="{name}"'):
            if len(catalogue.prompts) > 1:
                self._field("prompts", "Prompts", list(catalogue.prompts), wide=True)
            if catalogue.models:
                self._field("model", "Model", list(catalogue.models), wide=True, default="as configured, or none")
            self._field("mode", "Mode", catalogue.MODES)
            self._field("output", "Output", catalogue.OUTPUTS)
            self._field("substitution", "Substitution", catalogue.SUBSTITUTIONS)

    def _field(
        self, field: str, label: str, names: Sequence[str], *, wide: bool = False, default: str = _AS_CONFIGURED
    ) -> None:
        options = {} if field == "prompts" else {"": default}
        options |= {name: one_line(name) for name in names}
        select = ui.select(options, value=getattr(self._choice, field) or "", label=label)
        select.props(SELECT).classes(f"pp-select pp-{field}" + (" pp-wide" if wide else ""))
        select.on_value_change(lambda event: self._change(field, event.value))

    def _change(self, field: str, value: str) -> object:
        self._choice = self._choice.changed(**{field: value or None})
        return self._chosen(self._choice)
