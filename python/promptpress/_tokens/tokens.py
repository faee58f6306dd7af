"""The tokens of a text, as the library `tokenizers` gives them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

__all__ = ["Tokens", "encoded"]


@dataclass
class Tokens:
    """The tokens of a text.

    Args:
        ids: Their ids.
        starts: The byte of the text at which each token begins; None: they weren't asked for.
        ends: The byte after each token.
        mask: A byte for each token, 1 if it is trained, else 0; None: it isn't known yet, or nobody asks.
        is_cut: True if tokens were left out.

    """

    ids: Sequence[int]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    mask: bytes | None = None
    is_cut: bool = False

    def cut(self, kept: Iterable[range]) -> Tokens:
        """Return only the tokens of some ranges.

        Args:
            kept: The numbers of the tokens that stay.

        >>> Tokens([5, 6, 7]).cut([range(1), range(2, 3)])
        Tokens(ids=[5, 7], starts=None, ends=None, mask=None, is_cut=True)

        """
        numbers = [number for part in kept for number in part]
        starts, ends = (c and [c[n] for n in numbers] for c in (self.starts, self.ends))
        mask = self.mask and bytes(self.mask[n] for n in numbers)
        return Tokens([self.ids[n] for n in numbers], starts, ends, mask, is_cut=True)


def encoded(tokenizer: Any, texts: Sequence[str], *, special: bool, offsets: bool) -> list[Tokens]:
    """Encode texts, each as a whole.

    Args:
        tokenizer: A `tokenizers.Tokenizer`.
        texts: The texts.
        special: Whether the tokenizer puts its special tokens around them.
        offsets: Whether the bytes of each token are asked for.

    """
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
