"""The fields of a task's configuration, evaluated for documents: text, target, choices, prefix."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from promptpress import _compute as pc
from promptpress._lm_eval.columns import Column, Constant, Texts, values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.literals import literal, number

__all__ = ["Fields"]

# What such a text begins with. Python knows more digits than these.
_DIGITS = r"^[0-9]|^[^\x00-\x7F]"
_LIST = r"^\["
_DIGITS_OR_LIST = f"{_DIGITS}|{_LIST}"


class Fields:
    """How a task reads the fields of its configuration.

    Args:
        columns: Names of the evaluated table's columns. A field that is one of them stands for its value, for few-shot
            documents too.
        has_choices: Whether the task has `doc_to_choice`: texts and targets of digits are numbers then.

    """

    def __init__(self, columns: Collection[str], has_choices: bool) -> None:
        self._columns = columns
        self._has_choices = has_choices

    def text(self, field: Any, documents: Documents) -> Column:
        """Return what `doc_to_text` gives: a text, a number of a choice, or what a column holds.

        Raises:
            RenderError: Where the harness raises.

        """
        if isinstance(field, int):
            return Constant(field, len(documents))
        if not isinstance(field, str):
            raise documents.raised(TypeError(f"doc_to_text is a {type(field).__name__}"), 0)
        if field in self._columns:
            return documents.column(field)
        texts = documents.rendered(field)
        if not self._has_choices or (isinstance(texts, Texts) and not _any_match(texts, _DIGITS)):
            return texts
        return _read(_number_or_text, texts, documents)

    def target(self, field: Any, documents: Documents) -> Column:
        """Return what `doc_to_target` gives: a text, a number of a choice, a list, or what a column holds.

        Raises:
            RenderError: Where the harness raises.

        """
        if isinstance(field, (int, list)):
            return Constant(field, len(documents))
        if not isinstance(field, str):
            raise documents.raised(TypeError(f"doc_to_target is a {type(field).__name__}"), 0)
        if field in self._columns:
            return documents.column(field)
        texts = documents.rendered(field)
        if isinstance(texts, Texts) and not _any_match(texts, _DIGITS_OR_LIST if self._has_choices else _LIST):
            return texts
        return _read(self._answer, texts, documents)

    def choices(self, field: Any, documents: Documents) -> Column:
        """Return what `doc_to_choice` gives: a list, as a rule.

        Raises:
            RenderError: Where the harness raises.

        """
        if isinstance(field, str):
            if field in self._columns:
                return documents.column(field)
            listed = documents.listed(field)
            return _mapped(literal, documents.rendered(field), documents) if listed is None else listed
        if isinstance(field, list):
            return Constant(field, len(documents))
        if isinstance(field, dict):
            return Constant(list(field.values()), len(documents))
        raise documents.raised(TypeError(f"doc_to_choice is a {type(field).__name__}"), 0)

    def prefix(self, field: str | None, documents: Documents) -> Column:
        """Return what `gen_prefix` gives for evaluated documents."""
        if field is None:
            return Constant(None, len(documents))
        return documents.column(field) if field in self._columns else documents.rendered(field)

    def _answer(self, text: str) -> Any:
        if self._has_choices and text.isdigit():
            return number(text)
        if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
            try:
                return literal(text)
            except (SyntaxError, ValueError):
                return text
        return text


def _number_or_text(text: str) -> Any:
    return number(text) if text.isdigit() else text


def _any_match(texts: Texts, pattern: str) -> bool:
    """Whether a text begins so: its first character, of which there are few."""
    first = pc.unique(pc.utf8_slice_codeunits(texts.array, 0, 1))
    return any(re.match(pattern, character) for character in first.to_pylist())


def _read(function: Callable[[str], Any], texts: Column, documents: Documents) -> Column:
    """Call a function for each text, which gives back each text that means nothing else."""
    out = _mapped(function, texts, documents)
    return texts if isinstance(out, list) and set(map(type, out)) <= {str} else out


def _mapped(function: Callable[[str], Any], texts: Column, documents: Documents) -> Column:
    """Call a function for each text."""
    if isinstance(texts, Constant):
        if not texts.length:
            return texts
        try:
            return Constant(function(texts.value), texts.length)
        except Exception as error:
            raise documents.raised(error, 0) from error
    out = []
    for row, text in enumerate(values(texts)):
        try:
            out.append(function(text))
        except Exception as error:
            raise documents.raised(error, row) from error
    return out
