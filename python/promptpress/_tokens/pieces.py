"""Texts that are encoded in pieces, of which each is encoded once: the turns of chats, system prompts, examples.

The library looks for added tokens first: from the left, and of those that begin at one place it takes the longest.
What stands between two of them is normalised, split and encoded alone. So an added token is a safe place to cut if it
is found wherever it stands, whatever stands around it. That is so for a token S if

- it is looked for in the text as it stands (it isn't `normalized`, or the tokenizer has no normalizer), takes in no
  blanks (`lstrip`, `rstrip`) and asks for no end of a word (`single_word`);
- no added token T that begins before S can reach into it: no end of T is a beginning of S, and S doesn't stand in T;
- no longer T begins as S does;
- it begins and ends with no blank, which a neighbour with `lstrip` or `rstrip` would take, and, if any token is
  `single_word`, with no character of a word, so that a neighbour finds the end of its word there as it does at the end
  of a text.

Then no T that begins before S overlaps it, so the search arrives at S, and S is the longest that begins there.

Without a normalizer, tokens that are `normalized` are looked for in a second search, in what the first one has left.
The first one must not find anything in S or at its end: no other token stands in S, and no end of S is a beginning of
one.

Texts are cut only at those that stand in the first texts: any of them will do, and looking for a thousand tokens takes
longer than it saves.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from promptpress._errors.errors import render_error

_LOOKED_AT = 16
"""The number of texts whose added tokens become places to cut."""

_MAX_ANCHORS = 64

_MAX_CHARACTERS = 1 << 25
"""The characters of all pieces that are kept; with more, all are dropped."""


@dataclass
class Tokens:
    """The tokens of a text, and the bytes of it at which each begins and ends, if they were asked for."""

    ids: Sequence[int]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def are(self, ids: Sequence[int] | None, spans: Sequence[tuple[int, int]] | None) -> bool:
        """Return true if these are the tokens with some ids and, if they are given, the bytes of each."""
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


def anchors(tokenizer: Any) -> dict[str, int]:
    """Return the added tokens at which texts can be cut, and their ids; none if encoding is random (BPE dropout)."""
    if getattr(tokenizer.model, "dropout", None) or tokenizer.encode_special_tokens:
        return {}
    tokens = tokenizer.get_added_tokens_decoder()
    is_plain = has_empty_normalizer(tokenizer)
    first = [token.content for token in tokens.values() if token.content and not token.normalized]
    begins = {text[:stop] for text in first for stop in range(1, len(text) + 1)}
    texts = [token.content for token in tokens.values() if token.content]
    ends = {text[start:] for text in texts for start in range(1, len(text))}
    starts = {text[:stop] for text in texts for stop in range(1, len(text))}
    has_single_word = any(token.single_word for token in tokens.values())
    out = {}
    for number, token in tokens.items():
        text = token.content
        if not text or token.lstrip or token.rstrip or token.single_word:
            continue
        if text[0].isspace() or text[-1].isspace() or text in starts:
            continue
        if has_single_word and (_is_of_words(text[0]) or _is_of_words(text[-1])):
            continue
        if any(text[:stop] in ends for stop in range(1, len(text) + 1)):
            continue
        if any(text in other[1:] for other in texts if len(other) > len(text)):
            continue
        if token.normalized:
            if not is_plain or any(text[start:] in begins for start in range(1, len(text))):
                continue
            if any(other in text for other in first):
                continue
        out[text] = number
    return out


def has_empty_normalizer(tokenizer: Any) -> bool:
    """Return true if a tokenizer leaves texts as they are before it looks for `normalized` tokens."""
    normalizer = tokenizer.normalizer
    return normalizer is None or json.loads(normalizer.__getstate__()) == {"type": "Sequence", "normalizers": []}


def _is_of_words(character: str) -> bool:
    return character.isalnum() or character == "_"


class Cutter:
    """Cuts texts at added tokens."""

    def __init__(self, tokenizer: Any) -> None:
        self.anchors = anchors(tokenizer)
        self._pattern: re.Pattern[str] | None = None
        self._is_cut = bool(self.anchors)

    def pieces(self, texts: Sequence[str]) -> list[list[str]] | None:
        """Return the pieces of texts, for `Pieces.tokens`."""
        if not self._is_cut:
            return None
        pattern = self._pattern
        if pattern is None:
            if not texts:
                return None
            first = texts[:_LOOKED_AT]
            present = [token for token in self.anchors if any(token in text for text in first)][:_MAX_ANCHORS]
            if not present:
                self._is_cut = False
                return None
            pattern = self._pattern = re.compile("(" + "|".join(map(re.escape, present)) + ")")
        return [pattern.split(text) for text in texts]


class _Piece(NamedTuple):
    """The tokens of a piece, and how many bytes it has."""

    ids: list[int]
    starts: Sequence[int]
    ends: Sequence[int]
    size: int


class Pieces:
    """Encodes texts that are cut into pieces, of which each is encoded once; threads may share it.

    Pieces that don't begin a text are encoded after an added token, the context, because some tokenizers encode a
    text's start in another way.
    """

    def __init__(self, tokenizer: Any, anchors: Mapping[str, int], context: tuple[str, int]) -> None:
        self._tokenizer = tokenizer
        self._anchors = anchors
        self._context = context
        # For ids alone, and with offsets. The keys tell pieces at the start of a text apart.
        self._kept: tuple[dict[tuple[bool, str], _Piece], dict[tuple[bool, str], _Piece]] = ({}, {})
        self._characters = 0

    def tokens(self, rows: Sequence[Sequence[str]], *, offsets: bool) -> list[Tokens]:
        """Encode texts, each given as a piece, an anchor, a piece and so on, without special tokens around them."""
        kept = self._pieces_of(rows, offsets=offsets)
        join = self._with_offsets if offsets else self._ids
        return [join(row, kept) for row in rows]

    def _pieces_of(self, rows: Sequence[Sequence[str]], *, offsets: bool) -> dict[tuple[bool, str], _Piece]:
        """Return all pieces of some texts; those that are new are encoded together."""
        kept = self._kept[offsets]
        keys = {(number == 0, piece) for row in rows for number, piece in enumerate(row[::2]) if piece}
        out = {key: piece for key in keys if (piece := kept.get(key)) is not None}
        new = [key for key in keys if key not in out]
        if new:
            anchor, number = self._context
            texts = [piece if is_first else anchor + piece for is_first, piece in new]
            tokens = encoded(self._tokenizer, texts, special=False, offsets=offsets)
            context = number, len(anchor.encode())
            for (is_first, text), of_piece in zip(new, tokens, strict=True):
                out[is_first, text] = _without_anchor(of_piece, text, None if is_first else context)
            self._keep(kept, {key: out[key] for key in new})
        return out

    def _keep(self, kept: dict[tuple[bool, str], _Piece], new: dict[tuple[bool, str], _Piece]) -> None:
        self._characters += sum(len(text) for _, text in new)
        if self._characters > _MAX_CHARACTERS:
            for pieces in self._kept:
                pieces.clear()
            self._characters = 0
            return
        kept.update(new)

    def _ids(self, row: Sequence[str], pieces: dict[tuple[bool, str], _Piece]) -> Tokens:
        ids: list[int] = []
        for number, text in enumerate(row):
            if number % 2:
                ids.append(self._anchors[text])
            elif text:
                ids += pieces[number == 0, text].ids
        return Tokens(ids)

    def _with_offsets(self, row: Sequence[str], pieces: dict[tuple[bool, str], _Piece]) -> Tokens:
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        index = 0
        for number, text in enumerate(row):
            if number % 2:
                ids.append(self._anchors[text])
                starts.append(index)
                index += len(text.encode())
                ends.append(index)
            elif text:
                piece = pieces[number == 0, text]
                ids += piece.ids
                starts += [index + start for start in piece.starts]
                ends += [index + end for end in piece.ends]
                index += piece.size
        return Tokens(ids, starts, ends)


def _without_anchor(tokens: Tokens, text: str, anchor: tuple[int, int] | None) -> _Piece:
    """Return the tokens of a piece that was encoded after an anchor, whose id and number of bytes are given."""
    starts, ends = tokens.starts or (), tokens.ends or ()
    size = len(text.encode())
    if anchor is None:
        return _Piece(list(tokens.ids), starts, ends, size)
    number, length = anchor
    if tokens.ids[0] != number:
        message = (
            f"an added token before {text[:80]!r} isn't one token. This is a bug of promptpress; please report it with "
            "the tokenizer"
        )
        raise render_error("differs_from_reference", message)
    return _Piece(
        list(tokens.ids[1:]), [start - length for start in starts[1:]], [end - length for end in ends[1:]], size
    )
