"""A tokenizer that encodes texts in bulk into Arrow columns: the package `tokenizers`, with the user's own file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import dropwhile
from typing import Any, ClassVar

from promptpress._core import RenderError
from promptpress._errors.errors import render_error
from promptpress._io.tokenizer import TokenCounter, load_tokenizer
from promptpress._tokens.pieces import Cutter, Pieces
from promptpress._tokens.plain_data import PlainData
from promptpress._tokens.tokens import Tokens, encoded

__all__ = ["Encoder"]

_PANIC = "PanicException"
"""The name of the library's exception for its own bugs, which is no `Exception`."""

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

    def encode(self, texts: Sequence[str], special: bool | None, *, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts: in pieces that are kept where they can be cut, else as a whole.

        Args:
            texts: The texts.
            special: Whether the tokenizer puts its special tokens around each text. None: unless the text begins with
                the first of them.
            offsets: Whether the bytes of each token are asked for.

        Returns:
            The tokens of each text, or the error for one that the library can't encode.

        Raises:
            RenderError: If the tokens of the pieces aren't those of the whole: a bug, for which some texts are encoded
                both ways.

        """
        if special is not False and self._around is None:
            return self._whole(texts, special=special is None or special, offsets=offsets)
        pieces = self._cutter.pieces(texts)
        if pieces is None:
            return self._with_specials(self._whole(texts, special=False, offsets=offsets), special)

        def in_pieces(part: slice) -> list[Tokens | RenderError]:
            return list(self._pieces.tokens(pieces[part], offsets=offsets))

        out = _without_panic(in_pieces, texts)
        checked = range(0, len(texts), _CHECKED_ONE_IN)
        whole = self._whole([texts[row] for row in checked], special=False, offsets=offsets)
        for row, tokens in zip(checked, whole, strict=True):
            if isinstance(tokens, Tokens) and tokens != out[row]:
                message = (
                    f"the tokens of a text in pieces aren't those of the whole text, {texts[row][:80]!r}. This is a "
                    "bug of promptpress; please report it with the tokenizer"
                )
                raise render_error("differs_from_reference", message)
        return self._with_specials(out, special)

    def _whole(self, texts: Sequence[str], *, special: bool, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts as wholes."""

        def whole(part: slice) -> list[Tokens | RenderError]:
            return list(encoded(self.tokenizer, texts[part], special=special, offsets=offsets))

        return _without_panic(whole, texts)

    def encode_data_as_text(
        self, texts: Sequence[str], spans: Sequence[Any], special: bool | None, *, offsets: bool
    ) -> list[Tokens | RenderError]:
        """Encode texts in which data bring no added token: whatever looks like one is text.

        Args:
            texts: The texts.
            spans: The origins of each text's bytes.
            special: As for `encode`.
            offsets: As for `encode`.

        Returns:
            The tokens of each text, or the error for one that can't be encoded so with certainty.

        """
        if self._around is None and special is not False:
            message = 'the tokenizer puts more than tokens around a text; control_tokens="text" can\'t be done with it'
            return [render_error("unknown_origin", message) for _ in texts]
        if self._plain is None:
            self._plain = PlainData(self.tokenizer, self._cutter.anchors)
        plain = self._plain

        def without_control_tokens(part: slice) -> list[Tokens | RenderError]:
            return plain.encode(texts[part], spans[part], offsets=offsets)

        return self._with_specials(_without_panic(without_control_tokens, texts), special)

    def _with_specials(self, texts: Sequence[Tokens | RenderError], special: bool | None) -> list[Tokens | RenderError]:
        """Return texts with the special tokens around them."""
        if special is False or self._around is None:
            return list(texts)
        first = self._around[0][:1]
        return [
            self._with_special(tokens)
            if isinstance(tokens, Tokens) and (special or not first or list(tokens.ids[:1]) != first)
            else tokens
            for tokens in texts
        ]

    def _with_special(self, tokens: Tokens) -> Tokens:
        assert self._around is not None
        before, after = self._around
        starts, ends = (
            None if offsets is None else [*(0 for _ in before), *offsets, *(0 for _ in after)]
            for offsets in (tokens.starts, tokens.ends)
        )
        return Tokens([*before, *tokens.ids, *after], starts, ends)


def _without_panic(
    encode: Callable[[slice], list[Tokens | RenderError]], texts: Sequence[str], part: slice | None = None
) -> list[Tokens | RenderError]:
    """Return the tokens of texts; where the library panics, the error of the text that it panics on.

    Args:
        encode: Encodes some of the texts.
        texts: All texts.
        part: Which of them; None: all.

    """
    part = slice(0, len(texts)) if part is None else part
    try:
        return encode(part)
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
    if part.stop - part.start == 1:
        message = f"the library tokenizers fails on the text {texts[part.start][:80]!r}"
        return [render_error("unconvertible_value", message)]
    half = (part.start + part.stop) // 2
    halves = (slice(part.start, half), slice(half, part.stop))
    return [tokens for of_half in halves for tokens in _without_panic(encode, texts, of_half)]


def _special_ids(tokenizer: Any) -> tuple[list[int], list[int]] | None:
    """Return the special tokens that a tokenizer puts before and after each text; None if it does something else."""
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    encoding = tokenizer.encode("a", add_special_tokens=True)
    before = len(encoding.ids) - len(list(dropwhile(bool, encoding.special_tokens_mask)))
    ids = encoding.ids
    if ids[before : before + len(plain)] != plain:
        return None
    return ids[:before], ids[before + len(plain) :]
