"""A tokenizer that encodes texts in bulk into Arrow columns: the package `tokenizers`, with the user's own file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import Any, ClassVar

from promptpress._core import RenderError
from promptpress._errors.errors import render_error
from promptpress._io.tokenizer import TokenCounter, load_tokenizer
from promptpress._tokens.pieces import Cutter, Pieces
from promptpress._tokens.plain_data import PlainData
from promptpress._tokens.tokens import Tokens, encoded

__all__ = ["Encoder"]

_MAX_MADE = 4
_CHECKED_ONE_IN = 2048
"""One text in so many is encoded as a whole too."""


class Encoder:
    """Encodes texts as the library `tokenizers` does with one tokenizer; truncation and padding of its file are off.

    Threads may share it. Pieces of texts that it has encoded are kept; a pickle leaves them out.

    Args:
        counter: The tokenizer.

    """

    _made: ClassVar[dict[str, Encoder]] = {}

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self.tokenizer = counter.tokenizer
        self.digest = counter.digest
        """The digest of all that decides ids."""
        self._around = _special_ids(self.tokenizer)
        before = [] if self._around is None else self._around[0]
        self._first_special = self.tokenizer.id_to_token(before[0]) if before else None
        self._cutter = Cutter(self.tokenizer)
        anchors = self._cutter.anchors
        self._plain: PlainData | None = None
        self._pieces = Pieces(self.tokenizer, anchors, next(iter(anchors.items()), ("", 0)))

    @classmethod
    def of(cls, source: Any) -> Encoder:
        """Return the encoder of a tokenizer: the same one, where it was made before.

        Args:
            source: The argument of `load_tokenizer`.

        Raises:
            ImportError: As `load_tokenizer`.
            OSError: As `load_tokenizer`.
            ValueError: As `load_tokenizer`.
            TypeError: As `load_tokenizer`.

        """
        counter = load_tokenizer(source)
        made = cls._made.get(counter.digest)
        if made is None:
            while len(cls._made) >= _MAX_MADE:
                cls._made.pop(next(iter(cls._made)), None)
            made = cls._made[counter.digest] = cls(counter)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (TokenCounter(self.tokenizer, self.name, self.digest),)

    def starts_with_special(self, text: str) -> bool:
        """Return true if a text begins with the special token that the tokenizer puts before texts.

        Args:
            text: A text.

        """
        return self._first_special is not None and text.startswith(self._first_special)

    def encode(self, texts: Sequence[str], specials: Sequence[bool], *, offsets: bool) -> list[Tokens]:
        """Encode texts: in pieces that are kept where they can be cut, else as a whole.

        Args:
            texts: The texts.
            specials: For each text, whether the tokenizer puts its special tokens around it.
            offsets: Whether the bytes of each token are asked for.

        Raises:
            RenderError: If the tokens of the pieces aren't those of the whole: a bug, for which some texts are encoded
                both ways.

        """
        pieces = None if any(specials) and self._around is None else self._cutter.pieces(texts)
        if pieces is None:
            return self._whole(texts, specials, offsets=offsets)
        out = self._with_specials(self._pieces.tokens(pieces, offsets=offsets), specials)
        checked = range(0, len(texts), _CHECKED_ONE_IN)
        whole = self._whole([texts[row] for row in checked], [specials[row] for row in checked], offsets=offsets)
        for row, tokens in zip(checked, whole, strict=True):
            if tokens != out[row]:
                message = (
                    f"the tokens of a text in pieces aren't those of the whole text, {texts[row][:80]!r}. This is a "
                    "bug of promptpress; please report it with the tokenizer"
                )
                raise render_error("differs_from_reference", message)
        return out

    def _whole(self, texts: Sequence[str], specials: Sequence[bool], *, offsets: bool) -> list[Tokens]:
        out: list[Any] = [None] * len(texts)
        for special in set(specials):
            rows = [row for row, other in enumerate(specials) if other == special]
            batch = encoded(self.tokenizer, [texts[row] for row in rows], special=special, offsets=offsets)
            for row, tokens in zip(rows, batch, strict=True):
                out[row] = tokens
        return out

    def encode_data_as_text(
        self, texts: Sequence[str], spans: Sequence[Any], specials: Sequence[bool], *, offsets: bool
    ) -> list[Tokens | RenderError]:
        """Encode texts in which data bring no added token: whatever looks like one is text.

        Args:
            texts: The texts.
            spans: The origins of each text's bytes.
            specials: As for `encode`.
            offsets: As for `encode`.

        Returns:
            The tokens of each text, or the error for one that can't be encoded so with certainty.

        """
        if self._around is None and any(specials):
            message = 'the tokenizer puts more than tokens around a text; control_tokens="text" can\'t be done with it'
            return [render_error("unknown_origin", message) for _ in texts]
        if self._plain is None:
            self._plain = PlainData(self.tokenizer, self._cutter.anchors)
        out = self._plain.encode(texts, spans, offsets=offsets)
        return [
            self._with_special(tokens) if special and isinstance(tokens, Tokens) else tokens
            for tokens, special in zip(out, specials, strict=True)
        ]

    def _with_specials(self, tokens: Sequence[Tokens], specials: Sequence[bool]) -> list[Tokens]:
        pairs = zip(tokens, specials, strict=True)
        return [self._with_special(of_text) if special else of_text for of_text, special in pairs]

    def _with_special(self, tokens: Tokens) -> Tokens:
        assert self._around is not None
        before, after = self._around
        starts, ends = (
            None if offsets is None else [*(0 for _ in before), *offsets, *(0 for _ in after)]
            for offsets in (tokens.starts, tokens.ends)
        )
        return Tokens([*before, *tokens.ids, *after], starts, ends)


def _special_ids(tokenizer: Any) -> tuple[list[int], list[int]] | None:
    """Return the special tokens that a tokenizer puts before and after each text; None if it does something else."""
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    encoding = tokenizer.encode("a", add_special_tokens=True)
    before = len(encoding.ids) - len(list(dropwhile(bool, encoding.special_tokens_mask)))
    ids = encoding.ids
    if ids[before : before + len(plain)] != plain:
        return None
    return ids[:before], ids[before + len(plain) :]
