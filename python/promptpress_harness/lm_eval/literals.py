"""Python literals in rendered texts: the numbers of choices, and lists of choices or answers."""

from __future__ import annotations

import ast
import re
from typing import Any

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


def listed_or_text(value: Any) -> Any:
    """Return the list that a text in brackets is, or else the value, as the harness's version 0.5 does.

    >>> listed_or_text("['a', 'b']"), listed_or_text("[a]"), listed_or_text("['a'], ['b']"), listed_or_text(["a"])
    (['a', 'b'], '[a]', "['a'], ['b']", ['a'])
    """
    read = list_or_text(value) if isinstance(value, str) else value
    return value if isinstance(read, tuple) else read


def target_of(value: Any, parse_lists: bool) -> Any:
    """Return a target as the harness's version 0.5 reads it: a number for digits, and if asked for, a list.

    >>> target_of("007", False), target_of("[1, 2]", True), target_of("[1, 2]", False)
    (7, [1, 2], '[1, 2]')
    """
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return listed_or_text(value) if parse_lists else value


def choice_number(target: Any, choices: list[Any] | None) -> int | None:
    """Return the number of the choice that a target is, or that the first is that is one of several; None for none.

    >>> choice_number("b", ["a", "b"]), choice_number(["c", 1], ["a", "b"]), choice_number(2, ["a", "b"])
    (1, 1, None)
    """
    if not choices:
        return None
    if isinstance(target, list):
        numbers = (choice_number(item, choices) for item in target if not isinstance(item, list))
        return next((number for number in numbers if number is not None), None)
    if isinstance(target, (int, float)):
        number = int(target)
        return number if number < len(choices) else None
    return choices.index(target) if isinstance(target, str) and target in choices else None
