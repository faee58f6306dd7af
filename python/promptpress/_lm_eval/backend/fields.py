"""The fields of a document, read as the harness's methods do, with no more looks at the configuration than one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from promptpress._lm_eval.backend.environments import is_as_it_comes
from promptpress._lm_eval.backend.templates import MODULE
from promptpress._lm_eval.literals import literal, number

Read = Callable[[dict[str, Any]], Any]


class Fields:
    """What reads the fields of documents.

    Args:
        task: The harness's task.
        own: What the configuration says of these documents: the task's, or that of its examples.
    """

    text: Read
    """What is asked."""
    target: Read
    """The answer."""
    choices: Read
    """All answers; None where there are none to choose from."""

    def __init__(self, task: Any, own: Any) -> None:
        names, config = task.features, task.config
        has_choices = config.doc_to_choice is not None
        text = config.doc_to_text if own.doc_to_text is None else own.doc_to_text
        target = config.doc_to_target if own.doc_to_target is None else own.doc_to_target
        choices = own.doc_to_choice or None
        if isinstance(choices, dict):
            choices = list(choices.values())
        self.text = _field(text, names, int, _number_or_text if has_choices else None)
        self.target = _field(target, names, (int, list), _answer if has_choices else _list_or_text)
        self.choices = _field(choices, names, (type(None), list), literal)


def is_same_description(description: str | None, doc: dict[str, Any]) -> bool:
    """Whether all documents of a table have the same description.

    Args:
        description: As the configuration has it.
        doc: One of them.
    """
    if not description:
        return True
    environment = vars(sys.modules[MODULE])["env"]
    return "{" not in description and description not in doc and is_as_it_comes(environment)


def _field(setting: Any, names: list[str], constant: Any, value_of: Callable[[str], Any] | None) -> Read:
    """What reads a field: a constant, a column, or a value made of a template's text."""
    if isinstance(setting, constant):
        return lambda _: setting
    if setting in names:
        return itemgetter(setting)
    templates: Any = sys.modules[MODULE]
    if value_of is None:
        return lambda doc: templates.apply_template(setting, doc)
    return lambda doc: value_of(templates.apply_template(setting, doc))


def _number_or_text(text: str) -> Any:
    return number(text) if text.isdigit() else text


def _answer(text: str) -> Any:
    return number(text) if text.isdigit() else _list_or_text(text)


def _list_or_text(text: str) -> Any:
    if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
        try:
            return literal(text)
        except (SyntaxError, ValueError):
            return text
    return text
