"""Evaluates the fields of a task's configuration for documents: text, target, choices and prefix."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection
from typing import Any

from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.documents import Column, Constant, Documents, Texts, values

# A string as its repr is, without characters that Python's parser reads as anything else than themselves.
_STRING = r"""'[^'\\\n\r\0]*'|"[^"\\\n\r\0]*\""""
_STRINGS = re.compile(rf"\[(?:{_STRING})(?:, ?(?:{_STRING}))*\]")
_EACH = re.compile(_STRING)


def literal(source: str) -> Any:
    """Evaluate a literal as `ast.literal_eval` does; lists of plain strings are read many times faster."""
    if _STRINGS.fullmatch(source):
        return [text[1:-1] for text in _EACH.findall(source)]
    return ast.literal_eval(source)


def number(digits: str) -> Any:
    """Read digits, for which `str.isdigit` is true, as Python source."""
    plain = len(digits) < 19 and digits.isascii() and (digits[0] != "0" or len(digits) == 1)
    return int(digits) if plain else ast.literal_eval(digits)


def number_or_text(text: str) -> Any:
    """Return the number that a text of digits is, or else the text."""
    return number(text) if text.isdigit() else text


def list_or_text(text: str) -> Any:
    """Return the list that a text in brackets is, or else the text."""
    if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
        try:
            return literal(text)
        except (SyntaxError, ValueError):
            return text
    return text


def number_list_or_text(text: str) -> Any:
    """Return the number or the list that a text is, or else the text."""
    return number(text) if text.isdigit() else list_or_text(text)


# Beginnings of texts that may be numbers or lists. Python knows more digits than the ASCII ones.
_DIGITS = r"^[0-9]|^[^\x00-\x7F]"
_LIST = r"^\["


class Fields:
    """Reads the fields of a task's configuration.

    A field with the name of a column stands for the column's value, for few-shot documents too. If the task has
    `doc_to_choice`, texts and targets of digits are numbers.
    """

    def __init__(self, columns: Collection[str], has_choices: bool) -> None:
        self._columns = columns
        self._has_choices = has_choices

    def text(self, field: Any, documents: Documents) -> Column:
        """Return the values of `doc_to_text`: texts, numbers of choices, or a column's values."""
        parse, pattern = (number_or_text, _DIGITS) if self._has_choices else (None, "")
        return self._column("doc_to_text", field, documents, constants=int, parse=parse, pattern=pattern)

    def target(self, field: Any, documents: Documents) -> Column:
        """Return the values of `doc_to_target`: texts, numbers of choices, lists, or a column's values."""
        parse, pattern = (number_list_or_text, f"{_DIGITS}|{_LIST}") if self._has_choices else (list_or_text, _LIST)
        return self._column("doc_to_target", field, documents, constants=(int, list), parse=parse, pattern=pattern)

    def choices(self, field: Any, documents: Documents) -> Column:
        """Return the values of `doc_to_choice`, which usually are lists."""
        if isinstance(field, str):
            if field in self._columns:
                return documents.column(field)
            listed = documents.listed(field)
            return _mapped(literal, documents.render(field), documents) if listed is None else listed
        if isinstance(field, list):
            return Constant(field, len(documents))
        if isinstance(field, dict):
            return Constant(list(field.values()), len(documents))
        raise _unsupported_type("doc_to_choice", field, documents)

    def prefix(self, field: str | None, documents: Documents) -> Column:
        """Return the values of `gen_prefix` for evaluated documents."""
        if field is None:
            return Constant(None, len(documents))
        return documents.column(field) if field in self._columns else documents.render(field)

    def _column(
        self,
        name: str,
        field: Any,
        documents: Documents,
        *,
        constants: type | tuple[type, ...],
        parse: Callable[[str], Any] | None,
        pattern: str,
    ) -> Column:
        """Return the values of a field, which are the same for all documents if it is of one of the types `constants`.

        `parse` reads a rendered text, if some texts stand for other values; `pattern` matches the first character of
        all texts that `parse` may change.
        """
        if isinstance(field, constants):
            return Constant(field, len(documents))
        if not isinstance(field, str):
            raise _unsupported_type(name, field, documents)
        if field in self._columns:
            return documents.column(field)
        texts = documents.render(field)
        if parse is None or (isinstance(texts, Texts) and not _any_match(texts, pattern)):
            return texts
        parsed = _mapped(parse, texts, documents)
        return texts if isinstance(parsed, list) and set(map(type, parsed)) <= {str} else parsed


def _unsupported_type(name: str, field: Any, documents: Documents) -> Exception:
    return documents.raised_at(TypeError(f"{name} is a {type(field).__name__}"), 0)


def _any_match(texts: Texts, pattern: str) -> bool:
    """Return true if a text's first character matches; there are few different ones."""
    first = pc.unique(pc.utf8_slice_codeunits(texts.array, 0, 1))
    return any(re.match(pattern, character) for character in first.to_pylist())


def _mapped(function: Callable[[str], Any], texts: Column, documents: Documents) -> Column:
    if not isinstance(texts, Constant):
        return documents.each(function, values(texts))
    if not texts.length:
        return texts
    return Constant(documents.each(function, [texts.value])[0], texts.length)
