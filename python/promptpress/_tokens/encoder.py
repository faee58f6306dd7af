"""A tokenizer that encodes texts in bulk into Arrow columns: the package `tokenizers`, with the user's own file."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from promptpress._io.tokenizer import load_tokenizer

__all__ = ["Encoder", "Tokens"]


@dataclass
class Tokens:
    """The tokens of a text.

    Args:
        ids: Their ids.
        starts: The byte of the text at which each token begins; None: they weren't asked for.
        ends: The byte after each token.
        mask: Whether each token is trained; None: it isn't known yet, or nobody asks.
        is_cut: True if tokens were left out.

    """

    ids: Sequence[int]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    mask: Sequence[bool] | None = None
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
        mask = self.mask and [self.mask[n] for n in numbers]
        return Tokens([self.ids[n] for n in numbers], starts, ends, mask, is_cut=True)


class Encoder:
    """Encodes texts as the library `tokenizers` does with one tokenizer; truncation and padding of its file are off.

    Args:
        source: What `load_tokenizer` takes.

    Raises:
        ImportError: As `load_tokenizer`.
        OSError: As `load_tokenizer`.
        ValueError: As `load_tokenizer`.
        TypeError: As `load_tokenizer`.

    """

    def __init__(self, source: Any) -> None:
        counter = load_tokenizer(source)
        self.name = counter.name
        self.tokenizer = counter.tokenizer
        self.digest = hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()
        """What tells tokenizers apart: the digest of all that decides ids."""
        self._first_special = _first_special(self.tokenizer)

    def starts_with_special(self, text: str) -> bool:
        """Return true if a text begins with the special token that the tokenizer puts before texts.

        Args:
            text: A text.

        """
        return self._first_special is not None and text.startswith(self._first_special)

    def encode(self, texts: Sequence[str], specials: Sequence[bool], *, offsets: bool) -> list[Tokens]:
        """Encode texts.

        Args:
            texts: The texts.
            specials: For each text, whether the tokenizer puts its special tokens around it.
            offsets: Whether the bytes of each token are asked for.

        """
        out: list[Any] = [None] * len(texts)
        encode_batch = self.tokenizer.encode_batch if offsets else self.tokenizer.encode_batch_fast
        for special in set(specials):
            rows = [row for row, other in enumerate(specials) if other == special]
            batch = encode_batch([texts[row] for row in rows], add_special_tokens=special)
            for row, encoding in zip(rows, batch, strict=True):
                starts, ends = _byte_offsets(texts[row], encoding.offsets) if offsets else (None, None)
                out[row] = Tokens(encoding.ids, starts, ends)
        return out


def _first_special(tokenizer: Any) -> str | None:
    """Return the special token that a tokenizer puts before each text; None if there is none."""
    encoding = tokenizer.encode("a", add_special_tokens=True)
    if encoding.special_tokens_mask[:1] != [1]:
        return None
    token: str | None = tokenizer.id_to_token(encoding.ids[0])
    return token


def _byte_offsets(text: str, offsets: Iterable[tuple[int, int]]) -> tuple[Sequence[int], Sequence[int]]:
    """Return the bytes at which tokens begin and end, for their characters."""
    pairs = list(offsets)
    if text.isascii():
        return [start for start, _ in pairs], [end for _, end in pairs]
    index = array("q", accumulate((len(character.encode()) for character in text), initial=0))
    return [index[start] for start, _ in pairs], [index[end] for _, end in pairs]
