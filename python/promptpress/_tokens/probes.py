"""Texts that show whether two engines of a tokenizer give the same ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import product

_WORDS = ("a", "Word", "ÉTÉ", "don't", "I'LL", "we'Ve", "x's", "naïve", "日本語", "한국", "हिन्दी", "שלום", "ß")
_NUMBERS = ("1", "12", "1234567", "3.14", "٣٤", "½", "Ⅷ", "1,000")
_MARKS = (
    "!",
    "...",
    "//",
    "/\n",
    "'",
    "''",
    "---",
    "$5",
    "€",
    "{}",
    '"',
    "#",
    "_a_",
    "<|",
    "<a>",
    "→",
    "🙂",
    "👩\u200d👩\u200d👧",
    "🇫🇷",
)
_BLANKS = (
    " ",
    "  ",
    "   ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " \n",
    "\n ",
    " \n \n ",
    "\u00a0",
    "\u2028",
    "\u3000",
    "\u200b",
    "\x85",
)
_ODD = (
    "\0",
    "e\u0301",
    "\u0301",
    "\u1100\u1161",
    "ﬁ",
    "Å",
    "①",
    "\u2581",
    "\u2581\u2581",
    "Ġ",
    "\ufeff",
    "\ufffd",
    "İ",
    "ǅ",
    "\u0e33",
)
_STEP = 89
"""One code point in so many is tried; a prime, so that all kinds of places come up."""

_LAST = 0x3FFFF
_TOKENS_OF_A_TEXT = 64


def probes(added: Sequence[str]) -> list[str]:
    """Return texts: what stands at the borders of classes of characters, each added token, code points of all kinds."""
    return [*_pairs(), *_code_points(), *_with_added(added)]


def _pairs() -> Iterator[str]:
    """Yield each kind of text next to each other kind, and long runs of one."""
    kinds = (*_WORDS, *_NUMBERS, *_MARKS, *_BLANKS, *_ODD)
    for first in kinds:
        yield "".join(first + second for second in kinds)
        yield first * 40
        yield first
        yield f" {first} "
    for first, second, third in product(_BLANKS[:8], (*_MARKS[:4], "a", "7"), _BLANKS[:8]):
        yield f"{first}{second}{third}b"
    yield ""


def _code_points() -> Iterator[str]:
    """Yield code points between letters, digits and blanks."""
    points = [*range(0x250), *range(0x250, _LAST, _STEP)]
    characters = [chr(point) for point in points if unicodedata.category(chr(point)) not in ("Cs", "Cn", "Co")]
    for start in range(0, len(characters), 64):
        part = characters[start : start + 64]
        yield "".join(f"{character}a{character}" for character in part)
        yield " ".join(f"1{character}{character}" for character in part)


def _with_added(added: Sequence[str]) -> Iterator[str]:
    """Yield texts with added tokens: next to each other, and among words and blanks."""
    texts = [text for text in added if text]
    for start in range(0, len(texts), _TOKENS_OF_A_TEXT):
        part = texts[start : start + _TOKENS_OF_A_TEXT]
        yield "".join(part)
        yield "".join(f"{text} a\n{text}\n" for text in part)
        yield " ".join(f"x{text}  é{text[:-1]}" for text in part)
