"""The core's engine for a tokenizer, where it gives the ids of the library `tokenizers`.

Three things decide. The tokenizer's parts have to be on the list below. The engine has to load it. And it has to give
the library's ids for texts that are easy to get wrong: see `probes`.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import pyarrow as pa

from promptpress._core import TextEncoder
from promptpress._tokens.pieces import encoded, has_empty_normalizer

_MODELS = ("BPE", "Unigram")
_NORMALIZERS = ("NFC", "NFKC", "Precompiled", "Prepend", "Replace", "Strip")
_PRE_TOKENIZERS = ("ByteLevel", "Metaspace", "Split")

_SUFFIXES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_MARKS = r" ?[^\s\p{L}\p{N}]+"
_BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?"
_CAPITALS, _SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_DEEPSEEK_WORDS = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|" + _BLANKS.replace(r"\r\n", "\r\n")
)

# fmt: off
_PROBED_WORDS = ("a", "Word", "ÉTÉ", "don't", "I'LL", "we'Ve", "x's", "naïve", "日本語", "한국", "हिन्दी", "שלום", "ß")
_PROBED_NUMBERS = ("1", "12", "1234567", "3.14", "٣٤", "½", "Ⅷ", "1,000")
_PROBED_MARKS = (
    "!", "...", "//", "/\n", "'", "''", "---", "$5", "€", "{}", '"', "#", "_a_", "<|", "<a>", "→",
    "🙂", "👩\u200d👩\u200d👧", "🇫🇷",
)
_PROBED_BLANKS = (
    " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", " \n", "\n ", " \n \n ",
    "\u00a0", "\u2028", "\u3000", "\u200b", "\x85",
)
_ODD = (
    "\0", "e\u0301", "\u0301", "\u1100\u1161", "ﬁ", "Å", "①", "\u2581", "\u2581\u2581", "Ġ",
    "\ufeff", "\ufffd", "İ", "ǅ", "\u0e33",
)
# fmt: on

_STEP = 89
"""One code point in so many is tried; a prime, so that all kinds of places come up."""

_LAST = 0x3FFFF
_TOKENS_OF_A_TEXT = 64


def _cut_expressions() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the expressions of splits in turn, and the family of `src/token_ids/cuts.rs` that they are of."""
    for digits in (r"\p{N}", r"\p{N}{1,3}"):
        yield (f"{_SUFFIXES}|{_WORD}\\p{{L}}+|{digits}|{_MARKS}[\\r\\n]*|{_BLANKS}",), "gpt4"
        for suffixes in ("", _SUFFIXES + "?"):
            words = f"{_WORD}{_CAPITALS}*{_SMALL}+{suffixes}|{_WORD}{_CAPITALS}+{_SMALL}*{suffixes}"
            yield (f"{words}|{digits}|{_MARKS}[\\r\\n/]*|{_BLANKS}",), "gpt4o"
    yield (r"\p{N}{1,3}", "[一-龥\u3040-ゟ\u30a0-ヿ]+", _DEEPSEEK_WORDS), "gpt4"


_CUTS = dict(_cut_expressions())


class Fast:
    """The core's engine for a tokenizer, or why there is none."""

    def __init__(self, tokenizer: Any, anchors: Mapping[str, int]) -> None:
        self._tokenizer = tokenizer
        self._added = tokenizer.get_added_tokens_decoder()
        self.engine: TextEncoder | None = None
        """The engine; None if there is none."""
        self.reason = _unknown_part(tokenizer, self._added)
        """The reason why there is none."""
        if self.reason is None:
            self._load(anchors)

    def _load(self, anchors: Mapping[str, int]) -> None:
        added = []
        for token in filter(lambda token: token.content, self._added.values()):
            looks_around = token.normalized or token.lstrip or token.rstrip or token.single_word
            added.append((token.content, anchors.get(token.content), looks_around))
        kinds, normalizers = _kinds(self._tokenizer.pre_tokenizer), _kinds(self._tokenizer.normalizer)
        self._normalizers = {kind["type"] for kind in normalizers}
        is_byte_level = any(kind["type"] == "ByteLevel" for kind in kinds)
        self._keeps_bytes = is_byte_level and _model(self._tokenizer) == "BPE" and self._normalizers <= {"NFC"}
        context = None
        if any(kind["type"] == "Metaspace" and kind.get("prepend_scheme") == "first" for kind in kinds):
            context = next(iter(anchors.items()), None)
        cuts = _cuts(kinds) if self._keeps_bytes else None
        try:
            engine = TextEncoder(self._tokenizer.to_str(), added, context, cuts)
        except ValueError as error:
            self.reason = str(error)
            return
        # Every engine can encode this text.
        if engine.encode(pa.array(["The quick brown fox."]), offsets=False).open_rows:
            self.reason = "the core can't encode with it"
            return
        self.reason = self._difference(engine, offsets=False)
        if self.reason is None:
            self.engine = engine

    @cached_property
    def has_offsets(self) -> bool:
        """True if the engine knows the bytes of tokens."""
        if self.engine is None or not self._keeps_bytes:
            return False
        self.engine.set_lengths(_lengths(self._tokenizer, self._added), bool(self._normalizers))
        return self._difference(self.engine, offsets=True) is None

    def _difference(self, engine: TextEncoder, *, offsets: bool) -> str | None:
        """Return for which text the core's tokens aren't the library's; None if there is no such text."""
        texts = probes([token.content for token in self._added.values()])
        rows = engine.encode(pa.array(texts, pa.string()), offsets=offsets)
        wanted = encoded(self._tokenizer, texts, special=False, offsets=offsets)
        for row, (text, tokens) in enumerate(zip(texts, wanted, strict=True)):
            ids = rows.ids(row)
            if ids is not None and not tokens.are(ids, rows.spans(row) if offsets else None):
                return f"its tokens differ from those of the library for {text[:40]!r}"
        return None


def _model(tokenizer: Any) -> str:
    """Return the name of a tokenizer's model."""
    return type(tokenizer.model).__name__


def _unknown_part(tokenizer: Any, added: Mapping[int, Any]) -> str | None:
    """Return which part of a tokenizer isn't on the list; None if all are."""
    if tokenizer.encode_special_tokens:
        return "special tokens in texts are encoded as texts"
    dropout = getattr(tokenizer.model, "dropout", None)
    if _model(tokenizer) not in _MODELS or dropout:
        return f"its model is {_model(tokenizer)}" + (" with dropout" if dropout else "")
    for part, names in (("normalizer", _NORMALIZERS), ("pre_tokenizer", _PRE_TOKENIZERS)):
        for kind in _kinds(getattr(tokenizer, part)):
            if kind["type"] not in names or kind.get("add_prefix_space"):
                prefix = " with add_prefix_space" if kind["type"] in names else ""
                return f"its {part} is {kind['type']}{prefix}"
    kinds = _kinds(tokenizer.pre_tokenizer)
    if any("Regex" in kind.get("pattern", ()) for kind in kinds) and _cuts(kinds) is None:
        return "its pre_tokenizer splits by an expression that the core doesn't know"
    if any(token.normalized for token in added.values()) and not has_empty_normalizer(tokenizer):
        return "added tokens are looked for in normalised texts"
    return None


def _kinds(part: Any) -> list[dict[str, Any]]:
    """Return the parts of a normalizer or pre-tokenizer, without sequences around them."""

    def of_config(config: dict[str, Any]) -> list[dict[str, Any]]:
        if config["type"] == "Sequence":
            members = config.get("normalizers", config.get("pretokenizers"))
            return [kind for member in members or () for kind in of_config(member)]
        return [config]

    return [] if part is None else of_config(json.loads(part.__getstate__()))


def _cuts(kinds: list[dict[str, Any]]) -> str | None:
    """Return the family of places to cut of a pre-tokenizer; None if its expressions aren't known."""
    *splits, last = kinds
    if not splits:
        return "gpt2" if last.get("use_regex") else None
    if last["type"] != "ByteLevel" or last.get("use_regex"):
        return None
    for split in splits:
        way = (split.get("behavior"), split.get("invert"))
        if split["type"] != "Split" or way not in (("Isolated", False), ("Removed", True)):
            return None
    return _CUTS.get(tuple(split["pattern"].get("Regex", "") for split in splits))


def _lengths(tokenizer: Any, added: Mapping[int, Any]) -> list[int]:
    """Return the number of bytes that each token of a byte-level vocabulary stands for: a character is a byte."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    lengths = [0] * (max([*vocabulary.values(), *added]) + 1)
    for text, number in vocabulary.items():
        lengths[number] = len(text)
    for number, token in added.items():
        lengths[number] = len(token.content.encode())
    return lengths


def probes(added: Sequence[str]) -> list[str]:
    """Return texts: what stands at the borders of classes of characters, each added token, code points of all kinds."""
    return [*_pairs(), *_code_points(), *_with_added(added)]


def _pairs() -> Iterator[str]:
    """Yield each kind of text next to each other kind, and long runs of one."""
    kinds = (*_PROBED_WORDS, *_PROBED_NUMBERS, *_PROBED_MARKS, *_PROBED_BLANKS, *_ODD)
    for first in kinds:
        yield "".join(first + second for second in kinds)
        yield first * 40
        yield first
        yield f" {first} "
    for first, second, third in product(_PROBED_BLANKS[:8], (*_PROBED_MARKS[:4], "a", "7"), _PROBED_BLANKS[:8]):
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
