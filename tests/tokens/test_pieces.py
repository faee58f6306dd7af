"""Texts that are encoded in pieces, beside the library over the whole texts: random added tokens, hostile texts."""

from __future__ import annotations

import json
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer
from promptpress._config.tokenizer import PANIC, load_tokenizer
from promptpress._tokens import encoder, pieces
from promptpress._tokens.encoder import Encoder
from promptpress._tokens.pieces import anchors
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

ALPHABET = "ab| \u0301"


def text_of(rng: random.Random, tokens: list[str], most: int = 8) -> str:
    def part() -> str:
        token = rng.choice(tokens)
        start, end = sorted((rng.randint(0, len(token)), rng.randint(0, len(token))))
        return rng.choice([token, token, token[start:end], "".join(rng.choices(ALPHABET, k=rng.randint(0, 3))), "\n"])

    return "".join(part() for _ in range(rng.randint(0, most)))


def random_tokenizer(rng: random.Random) -> tuple[Any, list[str]]:
    """A tokenizer of single characters, some pairs, and added tokens of any kind over few letters."""
    letters = [*ALPHABET, "\n", "▁", "[UNK]"]
    pairs = [("a", "b"), ("b", "a"), (" ", "a"), ("|", "|"), ("a", "\u0301"), ("▁", "a"), ("▁", "▁")]
    vocabulary = {token: number for number, token in enumerate([*letters, *("".join(pair) for pair in pairs)])}
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs, unk_token="[UNK]"))
    normalizer = rng.choice([None, normalizers.NFC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    split = rng.choice([None, pre_tokenizers.Whitespace(), *(f"metaspace {kind}" for kind in ("first", "always"))])
    if isinstance(split, str):
        split = pre_tokenizers.Metaspace(prepend_scheme=split.split()[1], split=rng.random() < 0.5)
    if split is not None:
        tokenizer.pre_tokenizer = split
    texts = {"".join(rng.choices(ALPHABET, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 5))}
    has_flags = rng.random() < 0.5
    added = [
        AddedToken(
            text,
            normalized=has_flags and rng.random() < 0.2,
            lstrip=has_flags and rng.random() < 0.2,
            rstrip=has_flags and rng.random() < 0.2,
            single_word=has_flags and rng.random() < 0.1,
            special=rng.random() < 0.5,
        )
        for text in sorted(texts)
    ]
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer, sorted(texts)


def ids_of(encoded: encoder.Encoded) -> list[list[int]]:
    assert not encoded.errors
    ids: list[list[int]] = encoded.rows.columns(None, False, None, "refuse", []).input_ids.to_pylist()
    return ids


def test_random_added_tokens() -> None:
    rng = random.Random(40)
    cut = 0
    for _ in range(part_of(1200)):
        tokenizer, tokens = random_tokenizer(rng)
        texts = [text_of(rng, tokens) for _ in range(30)]
        cutter = pieces.Cutter(tokenizer)
        rows = cutter.pieces(texts)
        if rows is None:
            continue
        cut += 1
        of_pieces = pieces.Pieces(tokenizer, cutter.anchors, next(iter(cutter.anchors.items())))
        for offsets in (False, True):
            out = of_pieces.tokens(rows, offsets=offsets)
            for text, got in zip(texts, out, strict=True):
                want = tokenizer.encode(text, add_special_tokens=False)
                assert got.ids == want.ids, (text, tokens, tokenizer.to_str())
                if offsets:
                    byte = [len(text[:n].encode()) for n in range(len(text) + 1)]
                    assert list(got.starts or ()) == [byte[start] for start, _ in want.offsets]
                    assert list(got.ends or ()) == [byte[end] for _, end in want.offsets]
    assert cut > part_of(1200) // 8


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_small_tokenizers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, tokenizer = random.Random(kind), small_tokenizer(kind)
    assert set(MARKS) <= set(anchors(tokenizer))
    of_all = Encoder(load_tokenizer(tokenizer))
    monkeypatch.setattr(pieces, "_MAX_CHARACTERS", 300)
    for _ in range(part_of(60)):
        texts = [text_of(rng, [*MARKS, *WORDS]) for _ in range(20)]
        special = rng.random() < 0.5
        got = of_all.encode(pa.array(texts), special, offsets=False)
        want = [tokenizer.encode(text, add_special_tokens=special).ids for text in texts]
        assert ids_of(got) == want


def test_what_repeats_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    of_library = pieces.encoded

    def counting(tokenizer: Any, texts: Any, **options: bool) -> Any:
        encoded.extend(texts)
        return of_library(tokenizer, texts, **options)

    monkeypatch.setattr(pieces, "encoded", counting)
    monkeypatch.setattr(Encoder, "_made", {})
    chat = pp.ChatTemplate("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}")
    shots = [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]
    rows = [{"messages": [*shots, {"role": "user", "content": f"{n}?"}]} for n in range(1000)]
    table = chat.tokenize(rows, small_tokenizer())
    assert len(encoded) == 1000 + 3
    assert table.num_rows == 1000


def test_a_difference_is_an_error() -> None:
    tokenizer = small_tokenizer()
    for text, message in (("<s></s>", "aren't those of the library"), ("<s>a</s>", "isn't one token")):
        wrong = Encoder(load_tokenizer(tokenizer))
        wrong._pieces._anchors = dict.fromkeys(wrong._pieces._anchors, 1)
        wrong._pieces._context = ("<s>", 1)
        with pytest.raises(pp.RenderError, match=message) as caught:
            wrong.encode(pa.array([text]), False, offsets=False)
        assert caught.value.code == "differs_from_reference"
    assert encoder._CHECKED_ONE_IN > 1


def test_random_encoding_is_not_cut() -> None:
    state = json.loads(small_tokenizer().to_str())
    state["model"]["dropout"] = 0.5
    assert anchors(Tokenizer.from_str(json.dumps(state))) == {}


def test_tokens_that_overlap_are_not_cut_at() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokens = ("<|end|>", "<|", "]~]", "<s>")  # "<|" begins "<|end|>", and "]~]" overlaps itself
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
    assert sorted(anchors(tokenizer)) == ["<s>", "<|end|>"]


def test_a_table_of_texts_without_added_tokens() -> None:
    samples = pa.table({"q": ["one", "<s>two</s>"] * 20})
    table = pp.Renderer("{q}").tokenize(samples.slice(0, 1), small_tokenizer())
    assert table.num_rows == 1
    ids = pp.Renderer("{q}").tokenize(samples, small_tokenizer())["input_ids"].to_pylist()
    assert ids == [small_tokenizer().encode(text).ids for text in samples["q"].to_pylist()]


def test_special_tokens_that_a_tokenizer_takes_for_text() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer().to_str())
    samples = pa.table({"q": ["a<s>b</s>"] * 3})
    parsed = pp.Renderer("{q}").tokenize(samples, tokenizer)["input_ids"][0].as_py()
    tokenizer.encode_special_tokens = True
    split = pp.Renderer("{q}").tokenize(samples, tokenizer)["input_ids"][0].as_py()
    assert split == tokenizer.encode("a<s>b</s>").ids != parsed


def test_what_the_library_fails_on_is_an_error_of_its_row() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer().to_str())
    tokenizer.add_tokens(
        [AddedToken("<A>", rstrip=True, normalized=False), AddedToken("\n", lstrip=True, normalized=False)]
    )
    samples = pa.table({"q": ["one", "<A>\n\n", "two"]})
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the library's own class is private
        tokenizer.encode("<A>\n\n")
    assert caught.type.__name__ == PANIC
    with pytest.raises(pp.RenderError, match="row 1: the library tokenizers fails on the text"):
        pp.Renderer("{q}").tokenize(samples, tokenizer)
    table = pp.Renderer("{q}").tokenize(samples, tokenizer, errors="column")
    assert [error is None for error in table["error"].to_pylist()] == [True, False, True]


def test_a_first_special_token_that_is_normalised_is_seen() -> None:
    state = json.loads(small_tokenizer("bos").to_str())
    for token in state["added_tokens"]:
        token["normalized"] = True
    state["normalizer"] = {"type": "Strip", "strip_left": True, "strip_right": False}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    # The text doesn't begin with the token, and its ids do.
    plain = tokenizer.encode(" <s>x", add_special_tokens=False).ids
    assert plain[0] == tokenizer.token_to_id("<s>")
    encoded = Encoder.of(tokenizer).encode(pa.array([" <s>x", "x"]), None, offsets=False)
    assert ids_of(encoded) == [plain, tokenizer.encode("x").ids]
