"""Python's literals in rendered texts: numbers of choices, and lists of them."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["literal", "number"]

# A string as its repr is, without what Python reads as anything else than itself.
_STRING = r"""'[^'\\\n\r\0]*'|"[^"\\\n\r\0]*\""""
_STRINGS = re.compile(rf"\[(?:{_STRING})(?:, ?(?:{_STRING}))*\]")
_EACH = re.compile(_STRING)


def literal(source: str) -> Any:
    r"""Read a literal as Python does; lists of plain strings are read without Python's parser, many times faster.

    Args:
        source: The text.

    Returns:
        Its value.

    Raises:
        Exception: What `ast.literal_eval` raises.

    >>> literal("['a', \"it's\"]"), literal("(1, 'a' 'b')")
    (['a', "it's"], (1, 'ab'))

    """
    if _STRINGS.fullmatch(source):
        return [text[1:-1] for text in _EACH.findall(source)]
    return ast.literal_eval(source)


def number(digits: str) -> Any:
    """Read digits as Python's source, in which some are none.

    Args:
        digits: A text of which `str.isdigit` says that it is one.

    Returns:
        The number.

    Raises:
        SyntaxError: For digits of other scripts, and zeros before others.

    >>> number("12"), number("00")
    (12, 0)

    """
    plain = len(digits) < 19 and digits.isascii() and (digits[0] != "0" or len(digits) == 1)
    return int(digits) if plain else ast.literal_eval(digits)
