"""Readers of a document's fields, equal to the harness's methods but with the configuration looked at only once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from promptpress._harnesses.lm_eval.backend.templates import MODULE
from promptpress._harnesses.lm_eval.literals import list_or_text, literal, number_list_or_text, number_or_text

Read = Callable[[dict[str, Any]], Any]


class Fields:
    """Functions that read a document's fields.

    Args:
        task: The harness's task.
        settings: The configuration of these documents: the task's, or that of its examples.
    """

    text: Read
    target: Read
    choices: Read
    """Reads all answers; returns None if there are no choices."""

    def __init__(self, task: Any, settings: Any) -> None:
        names, config = task.features, task.config
        has_choices = config.doc_to_choice is not None
        text = config.doc_to_text if settings.doc_to_text is None else settings.doc_to_text
        target = config.doc_to_target if settings.doc_to_target is None else settings.doc_to_target
        choices = settings.doc_to_choice or None
        if isinstance(choices, dict):
            choices = list(choices.values())
        self.text = _reader(text, names, int, number_or_text if has_choices else None)
        self.target = _reader(target, names, (int, list), number_list_or_text if has_choices else list_or_text)
        self.choices = _reader(choices, names, (type(None), list), literal)


def _reader(setting: Any, names: list[str], constant: Any, parse: Callable[[str], Any] | None) -> Read:
    """Return the reader of a field: of a constant, a column, or a value parsed from a template's text."""
    if isinstance(setting, constant):
        return lambda _: setting
    if setting in names:
        return itemgetter(setting)
    templates: Any = sys.modules[MODULE]
    if parse is None:
        return lambda doc: templates.apply_template(setting, doc)
    return lambda doc: parse(templates.apply_template(setting, doc))
