"""The tokens of a text, as the library `tokenizers` gives them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any


@dataclass
class Tokens:
    """The tokens of a text.

    Args:
        ids: Their ids.
        starts: The byte of the text at which each token begins; None: they weren't asked for.
        ends: The byte after each token.

    """

    ids: Sequence[int]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def are(self, ids: Sequence[int] | None, spans: Sequence[tuple[int, int]] | None) -> bool:
        """Return true if these are the tokens with some ids and, if they are given, the bytes of each.

        >>> Tokens([5], [0], [2]).are([5], [(0, 2)]), Tokens([5], [0], [2]).are([5], [(0, 3)])
        (True, False)

        """
        if ids is None or list(self.ids) != list(ids):
            return False
        return spans is None or list(spans) == list(zip(self.starts or (), self.ends or (), strict=True))


def encoded(tokenizer: Any, texts: Sequence[str], *, special: bool, offsets: bool) -> list[Tokens]:
    """Encode texts, each as a whole."""
    if not offsets:
        return [Tokens(encoding.ids) for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=special)]
    encodings = tokenizer.encode_batch(texts, add_special_tokens=special)
    return [
        Tokens(encoding.ids, *_byte_offsets(text, encoding.offsets))
        for text, encoding in zip(texts, encodings, strict=True)
    ]


def _byte_offsets(text: str, offsets: Iterable[tuple[int, int]]) -> tuple[Sequence[int], Sequence[int]]:
    """Return the bytes at which tokens begin and end, for their characters."""
    pairs = list(offsets)
    if text.isascii():
        return [start for start, _ in pairs], [end for _, end in pairs]
    index = array("q", accumulate((len(character.encode()) for character in text), initial=0))
    return [index[start] for start, _ in pairs], [index[end] for _, end in pairs]
