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
            normalizer that takes accents away, `"blanks"` BPE over blanks as `▁`, with bytes for unknown characters;
            else one of `SPLITS`: byte-level BPE with the expressions of a family of models.

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
        if kind not in ("gpt2", "gpt4"):
            tokenizer.normalizer = normalizers.NFC()
        splits = [pre_tokenizers.Split(Regex(split), "isolated") for split in SPLITS.get(kind, (_SPLIT,))]
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=kind == "gpt2")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
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


_SPLIT = r"\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CAPITALS, _SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_GPT4 = rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{_WORD}\p{{L}}+|NUMBERS| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
_GPT4O = rf"{_WORD}{_CAPITALS}*{_SMALL}+|{_WORD}{_CAPITALS}+{_SMALL}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
_DEEPSEEK = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)
SPLITS: dict[str, tuple[str, ...]] = {
    "gpt2": (),
    "gpt4": (_GPT4.replace("NUMBERS", r"\p{N}{1,3}"),),
    "qwen": (_GPT4.replace("NUMBERS", r"\p{N}"),),
    "gpt4o": (_GPT4O,),
    "deepseek": (r"\p{N}{1,3}", "[一-龥\u3040-ゟ\u30a0-ヿ]+", _DEEPSEEK),
}
"""The expressions of families of models, in turn."""

KINDS = ("bytes", "bos", "words", "blanks")
