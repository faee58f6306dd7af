"""Random texts of JSON in odd forms: blanks, escapes, long numbers, halves of surrogate pairs, repeated keys."""

from __future__ import annotations

import random

_BLANKS = ("", "", "", " ", "\n\t ", "\r")
_PIECES = (
    *("a", "Paris", "it's", "é", "\u2028", "😀", "\x7f", "\xa0", "{q}", "None", "  ", "\u0378"),
    *(
        '\\"',
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\u0041",
        "\\u00e9",
        "\\uD83d\\uDe00",
        "\\u0000",
        "\\u001B",
    ),
)
_HALVES = ("\\ud800", "\\udc00", "\\uDBFF", "\\udfffx", "\\ud800\\u0041")
_KEYS = ("a", "b", "\\u0061", "name", "", "x y", "it's", "é", "\\u00e9", "1")
_NUMBERS = (
    *("0", "-0", "1", "-1", "2.0", "1.5", "-0.0", "1e22", "1E5", "1e-5", "1e400", "-1e400", "5e-324", "0.1", "1.50"),
    *("9007199254740993", "9223372036854775808", "1E+2", "123456789012345678901234567890", "1.7976931348623157e308"),
)
_WORDS = ("null", "true", "false", "NaN", "Infinity", "-Infinity")


def json_text(drawn: random.Random, depth: int = 4) -> str:
    """Draw a text."""
    return f"{_blanks(drawn)}{_value(drawn, depth)}{_blanks(drawn)}"


def broken(drawn: random.Random, text: str) -> str:
    """Change a text at one position, so that it mostly isn't JSON."""
    index = drawn.randrange(len(text) + 1)
    return (
        text[:index] + drawn.choice(["", "[", "]", "}", '"', ",", ":", "x", "\\", "0", ".", "\x01"]) + text[index + 1 :]
    )


def _value(drawn: random.Random, depth: int) -> str:
    kind = drawn.randrange(8 if depth else 5)
    if kind == 0:
        return drawn.choice(_WORDS)
    if kind < 3:
        return _number(drawn)
    if kind < 5:
        return _string(drawn)
    if kind < 6:
        return _around(drawn, "[", [_value(drawn, depth - 1) for _ in range(drawn.randrange(4))], "]")
    count = drawn.choice((0, 1, 2, 3, 5, 20))
    members = [
        f'"{drawn.choice(_KEYS)}"{_blanks(drawn)}:{_blanks(drawn)}{_value(drawn, depth - 1)}' for _ in range(count)
    ]
    return _around(drawn, "{", members, "}")


def _around(drawn: random.Random, begin: str, items: list[str], end: str) -> str:
    inside = f"{_blanks(drawn)},{_blanks(drawn)}".join(items)
    return f"{begin}{_blanks(drawn)}{inside}{_blanks(drawn)}{end}"


def _number(drawn: random.Random) -> str:
    if drawn.random() < 0.6:
        return drawn.choice(_NUMBERS)
    whole = str(drawn.randrange(10 ** drawn.randrange(1, 40)))
    fraction = f".{drawn.randrange(10 ** drawn.randrange(1, 20))}" if drawn.random() < 0.5 else ""
    exponent = (
        f"{drawn.choice('eE')}{drawn.choice(['', '+', '-'])}{drawn.randrange(330)}" if drawn.random() < 0.3 else ""
    )
    return drawn.choice(["", "-"]) + whole + fraction + exponent


def _string(drawn: random.Random) -> str:
    pieces = drawn.choices(_PIECES, k=drawn.randrange(6))
    if drawn.random() < 0.02:
        pieces.append(drawn.choice(_HALVES))
    return f'"{"".join(pieces)}"'


def _blanks(drawn: random.Random) -> str:
    return drawn.choice(_BLANKS)
