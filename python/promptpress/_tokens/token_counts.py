"""Counts of tokens by an encoder, whose pieces are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress._tokens.encoder import Encoder
from promptpress._tokens.tokens import Tokens

__all__ = ["EncodedCounts"]


class EncodedCounts:
    """Counts the tokens of texts.

    Pieces that several texts have in common, such as examples in a chat, are encoded once, and their counts add up.

    Args:
        tokenizer: The argument of `Encoder.of`.

    """

    def __init__(self, tokenizer: Any) -> None:
        self.encoder = Encoder.of(tokenizer)

    @property
    def digest(self) -> str:
        """The digest of all that decides the tokens."""
        return self.encoder.digest

    def counts(self, texts: Sequence[str], special: bool | None) -> list[int | None]:
        """Return the number of tokens of each text; None for a text that can't be encoded.

        Args:
            texts: The texts.
            special: As for `Encoder.encode`.

        """
        encoded = self.encoder.encode(texts, special, offsets=False)
        return [len(tokens.ids) if isinstance(tokens, Tokens) else None for tokens in encoded]
