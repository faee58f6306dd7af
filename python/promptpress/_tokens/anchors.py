"""Added tokens at which a text can be cut, and its pieces be encoded one by one, without a change of ids.

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
"""

from __future__ import annotations

import json
from typing import Any


def anchors(tokenizer: Any) -> dict[str, int]:
    """Return the added tokens at which texts can be cut, and their ids.

    >>> from tokenizers import AddedToken, Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in ("<|end|>", "<|", "]~]", "<s>")])
    4
    >>> sorted(anchors(tokenizer))  # "<|" begins "<|end|>", and "]~]" overlaps itself
    ['<s>', '<|end|>']

    """
    if getattr(tokenizer.model, "dropout", None) or tokenizer.encode_special_tokens:
        return {}
    tokens = tokenizer.get_added_tokens_decoder()
    is_plain = has_empty_normalizer(tokenizer)
    first = [token.content for token in tokens.values() if token.content and not token.normalized]
    begins = {text[:stop] for text in first for stop in range(1, len(text) + 1)}
    texts = [token.content for token in tokens.values() if token.content]
    ends = {text[start:] for text in texts for start in range(1, len(text))}
    starts: dict[str, int] = {}
    for text in texts:
        for stop in range(1, len(text)):
            starts[text[:stop]] = 1
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
