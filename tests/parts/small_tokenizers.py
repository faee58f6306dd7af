"""Small tokenizers of several kinds, made here: nothing is downloaded."""

from __future__ import annotations

from functools import cache
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

MARKS = ("<|im_start|>", "<|im_end|>", "<s>", "</s>", "<think>", "</think>")
WORDS = (
    "the answer is 42",
    "Hello there.",
    "user assistant system",
    "1+1 = 2\n\n",
    "naïve café été",
    "你好 世界",
    "a  b   c",
)


@cache
def small_tokenizer(kind: str = "bytes") -> Any:
    """Return a tokenizer with the tokens of `MARKS`.

    Args:
        kind: `"bytes"` is byte-level BPE, `"bos"` the same with `<s>` before each text, `"words"` WordPiece with a
            normalizer that takes accents away, `"blanks"` BPE over blanks as `▁`, with bytes for unknown characters.

    """
    trainer: Any
    if kind == "words":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]", *MARKS])
    elif kind == "blanks":
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=["[UNK]", *MARKS, *(f"<0x{n:02X}>" for n in range(256))]
        )
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        split = Regex(r"\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(split, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=list(MARKS), initial_alphabet=alphabet)
    tokenizer.train_from_iterator(WORDS * 3, trainer)
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in MARKS])
    if kind == "bos":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
        )
    return tokenizer


KINDS = ("bytes", "bos", "words", "blanks")
