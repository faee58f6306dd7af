"""Python literals in rendered texts: the numbers of choices, and lists of choices or answers."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["list_or_text", "literal", "number", "number_list_or_text", "number_or_text"]

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
    """Read digits, for which `str.isdigit` is true, as Python source.

    Raises:
        SyntaxError: For digits of other scripts, and for leading zeros.
    """
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
