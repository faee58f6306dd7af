"""The tokens of a prompt as cells: the bytes that each covers, if it is trained, and what each is in the vocabulary.

Two ways lead to cells. A prompt whose text is known is cut at its tokens. Ids alone, which somebody prepared, are
decoded one by one by the library `tokenizers`.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any
from unicodedata import normalize

from promptpress.engine.errors import counted

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ANCHORS = ("a", "x", "o", "the", "A", "1", "▁a", "Ġa")


@dataclass(slots=True)
class TokenCell:
    """One token of a text; or a stretch that no token covers, whose `name` is None."""

    id: int | None
    name: str | None
    """The token as the vocabulary has it."""
    data: bytes = b""
    """The bytes of the text that it covers, which may be a part of a character; all cells together have the text."""
    start: int = 0
    """The characters of the text before it, and those up to its end; a character belongs to the token that ends it."""
    stop: int = 0
    trained: bool | None = None
    """None if nothing says what is trained."""
    is_control: bool = False
    """True for an added token: a control token, or another that isn't part of the model's vocabulary."""
    is_padding: bool = False
    is_unknown: bool = False
    """True if the vocabulary has no such id."""
    label: int | None = None
    """The id that is trained in the token's place, if that is another."""

    @property
    def is_token(self) -> bool:
        return self.name is not None or self.is_unknown

    @property
    def text(self) -> str:
        r"""The text as it is shown: bytes that are no whole character are lone surrogates (`\udc80` to `\udcff`)."""
        return self.data.decode("utf-8", "surrogateescape") or (self.name or "")


class TokenTexts:
    """Texts of single tokens, as the library decodes them."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.added: Mapping[int, Any] = tokenizer.get_added_tokens_decoder()
        decoder = tokenizer.decoder
        state = b"" if decoder is None else decoder.__getstate__()
        self._has_byte_level, self._has_bytes = b'"ByteLevel"' in state, b'"ByteFallback"' in state
        self._anchor = next((a for text in _ANCHORS if (a := tokenizer.token_to_id(text)) is not None), None)
        self._anchored = "" if self._anchor is None else self._decoded(self._anchor)
        self._names: dict[int | None, str | None] = {}
        self._cached: dict[tuple[int, bool], bytes] = {}

    def name(self, number: int | None) -> str | None:
        """Return the token of an id; None if there is none."""
        if number not in self._names:
            try:
                self._names[number] = self.tokenizer.id_to_token(number)
            except (OverflowError, TypeError):  # a negative number, or a null
                self._names[number] = None
        return self._names[number]

    def data(self, number: int, *, is_first: bool) -> bytes:
        """Return the bytes that a token adds to a text, at its beginning or elsewhere."""
        key = number, is_first
        if key not in self._cached:
            self._cached[key] = self._data(number, is_first=is_first)
        return self._cached[key]

    def _data(self, number: int, *, is_first: bool) -> bytes:
        name = self.name(number) or ""
        if self._has_byte_level:
            alphabet = byte_level_alphabet()
            if all(character in alphabet for character in name):
                data = bytes(map(alphabet.__getitem__, name))
                return name.encode() if number in self.added and not _is_text(data) else data
            return name.encode()
        if self._has_bytes and (byte := _BYTE.fullmatch(name)):
            return bytes([int(byte[1], 16)])
        if not is_first and self._anchor is not None:
            text = self._decoded(self._anchor, number)
            if text.startswith(self._anchored):
                return text[len(self._anchored) :].encode()
        return self._decoded(number).encode()

    def _decoded(self, *numbers: int) -> str:
        return str(self.tokenizer.decode(list(numbers), skip_special_tokens=False))


@cache
def byte_level_alphabet() -> dict[str, int]:
    """Return the bytes that the characters of byte-level tokens stand for, as GPT-2 has chosen them."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + index): byte for index, byte in enumerate(hidden)}


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def cells_of_ids(texts: TokenTexts, ids: Sequence[int | None], trained: Sequence[bool | None]) -> list[TokenCell]:
    """Return the cells of ids alone, decoded one by one; an id beyond the vocabulary covers nothing."""
    cells = []
    for number, is_trained in zip(ids, trained, strict=True):
        name = texts.name(number)
        if name is None or number is None:
            cells.append(TokenCell(number, None, trained=is_trained, is_unknown=True))
            continue
        data = texts.data(number, is_first=not cells)
        cells.append(TokenCell(number, name, data, trained=is_trained, is_control=number in texts.added))
    return _with_characters(cells)


def cells_of_text(
    texts: TokenTexts,
    text: bytes,
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]],
    trained: Sequence[bool | None] | None = None,
) -> list[TokenCell]:
    """Cut a text at its tokens, given the bytes at which each begins and ends.

    Tokens that share a character get the bytes that each decodes to, if the text has them there; else the last gets
    all of the character. Bytes that no token covers, such as blanks before words, are cells without a token.
    """
    cells: list[TokenCell] = []
    done = 0
    following = [start for start, _ in offsets[1:]]
    for number, (start, end), is_trained, next_start in zip_longest(ids, offsets, trained or (), following):
        limit = len(text) if next_start is None else max(end, next_start)
        name = texts.name(number) or ""
        data = _decoded_bytes(texts, number, text, done, limit) if start < limit or start == end else b""
        if not data and start > done:
            cells.append(TokenCell(None, None, text[done:start]))
            done = start
            data = _decoded_bytes(texts, number, text, done, end)
        data = data or text[done : max(end if next_start is None else min(end, next_start), done)]
        done += len(data)
        cells.append(TokenCell(number, name, data, trained=is_trained, is_control=number in texts.added))
    if done < len(text):
        cells.append(TokenCell(None, None, text[done:]))
    return _with_characters(cells)


def _decoded_bytes(texts: TokenTexts, number: int, text: bytes, start: int, limit: int) -> bytes:
    """Return what a token decodes to if the text goes on with it, up to a limit; else nothing."""
    byte = _BYTE.fullmatch(texts.name(number) or "")
    candidates = [texts.data(number, is_first=False), texts.data(number, is_first=True)]
    candidates += [candidates[0].removeprefix(b" "), bytes([int(byte[1], 16)]) if byte else b""]
    for data in candidates:
        if data and start + len(data) <= limit and text.startswith(data, start):
            return data
    stretch = text[start:limit]  # a tokenizer that composes characters says where the first of them is
    return stretch if candidates[0] and _composed(stretch) == _composed(candidates[0]) else b""


def _composed(data: bytes) -> str:
    return normalize("NFKC", data.decode("utf-8", "replace"))


def _with_characters(cells: list[TokenCell]) -> list[TokenCell]:
    """Number the characters of new cells; a character belongs to the cell in which it ends."""
    decoder = getincrementaldecoder("utf-8")("replace")
    done = 0
    for index, cell in enumerate(cells):
        cell.start = done
        done += len(decoder.decode(cell.data, final=index == len(cells) - 1))
        cell.stop = done
    return cells


def token_counts_text(cells: Sequence[TokenCell]) -> str:
    """Return how many tokens there are, trained, and padding, in words."""
    tokens = [cell for cell in cells if cell.is_token]
    out = [counted(len(tokens), "token")]
    if any(cell.trained is not None for cell in tokens):
        out.append(f"{sum(bool(cell.trained) for cell in tokens):,} trained")
    padding = sum(cell.is_padding for cell in tokens)
    return ", ".join([*out, f"{padding:,} padding"] if padding else out)
