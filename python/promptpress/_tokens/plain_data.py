"""Texts whose control tokens are the template's alone: what data brings is encoded without added tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from promptpress._core import RenderError
from promptpress._errors.errors import render_error
from promptpress._tokens.origins import UnknownOriginError, check_origin, is_usual_role
from promptpress._tokens.pieces import Pieces
from promptpress._tokens.tokens import Tokens

_CONTEXT = "\ufdd0\ufdd1"
"""An added token of the tokenizer without others, after which pieces are encoded: noncharacters."""

_MAX_CONSTANTS = 4096
"""The texts of templates whose pieces are kept; with more, all are dropped."""

_DATA = ("field", "filled_field", "argument", "computed")
"""The sources of what data brings; all others are the configuration's."""


class PlainData:
    """Encodes texts in pieces that are cut at the control tokens of the template, by a tokenizer that knows none."""

    def __init__(self, tokenizer: Any, anchors: Mapping[str, int]) -> None:
        import tokenizers  # noqa: PLC0415 - an extra, which has loaded the tokenizer

        tokens = tokenizer.get_added_tokens_decoder()
        self._numbers = frozenset(
            number for number, token in tokens.items() if not _stands_for_text(tokenizer, token.content)
        )
        self._others = [token.content for token in tokens.values() if token.content and token.content not in anchors]
        self._anchors = anchors
        # The longest first: no other begins there, but one may be the beginning of another.
        longest = sorted(anchors, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest)) or r"(?!)")
        plain = tokenizers.Tokenizer.from_str(json.dumps({**json.loads(tokenizer.to_str()), "added_tokens": []}))
        plain.no_truncation()
        plain.no_padding()
        plain.add_special_tokens([tokenizers.AddedToken(_CONTEXT, normalized=False)])
        self._pieces = Pieces(plain, anchors, (_CONTEXT, int(plain.token_to_id(_CONTEXT) or 0)))
        self._cut_constants: dict[str, list[str]] = {}

    def encode(self, texts: Sequence[str], spans: Sequence[Any], *, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts, as `Encoder.encode_data_as_text` without special tokens around them."""
        out: list[Any] = [None] * len(texts)
        rows: dict[int, list[str]] = {}
        for number, (text, of_text) in enumerate(zip(texts, spans, strict=True)):
            try:
                rows[number] = self._cut(text, of_text)
            except UnknownOriginError as error:
                out[number] = render_error("unknown_origin", f'{error}; control_tokens="text" can\'t be done')
        for number, tokens in zip(rows, self._pieces.tokens(list(rows.values()), offsets=offsets), strict=True):
            out[number] = self._checked(tokens, rows[number])
        return out

    def _checked(self, tokens: Tokens, row: Sequence[str]) -> Tokens | RenderError:
        """Refuse tokens of which more are added ones than the template writes: some vocabularies hold them as words."""
        if sum(number in self._numbers for number in tokens.ids) == len(row) // 2:
            return tokens
        return render_error(
            "unknown_origin",
            'the vocabulary itself spells a control token; control_tokens="text" can\'t be done with this tokenizer',
        )

    def _cut(self, text: str, spans: Sequence[Mapping[str, Any]]) -> list[str]:
        """Cut a text at the control tokens that stand in what isn't data."""
        if _CONTEXT in text:
            raise UnknownOriginError("the text holds U+FDD0 and U+FDD1, which mark pieces")
        row = [""]
        for is_constant, stretch in _stretches(text, spans):
            if not is_constant:
                row[-1] += stretch
                continue
            first, *others = self._constant(stretch)
            row[-1] += first
            row += others
        return row

    def _constant(self, text: str) -> list[str]:
        """Return the pieces of a text of the template: a piece, a control token, a piece, and so on."""
        pieces = self._cut_constants.get(text)
        if pieces is None:
            pieces, index = [], 0
            for match in self._pattern.finditer(text):
                pieces += [text[index : match.start()], match[0]]
                index = match.end()
            pieces.append(text[index:])
            for token in self._others:
                if any(token in piece for piece in pieces[::2]):
                    raise UnknownOriginError(f"the template writes {token!r}, a token at which no text can be cut")
            if len(self._cut_constants) >= _MAX_CONSTANTS:
                self._cut_constants.clear()
            self._cut_constants[text] = pieces
        return pieces


def _stands_for_text(tokenizer: Any, token: str) -> bool:
    """Return true for tokens that any text may give: that of unknown characters, and those of single bytes."""
    model = tokenizer.model
    is_byte = getattr(model, "byte_fallback", False) and re.fullmatch(r"<0x[0-9A-F]{2}>", token)
    return bool(is_byte) or token == getattr(model, "unk_token", None)


def _stretches(text: str, spans: Sequence[Mapping[str, Any]]) -> Iterator[tuple[bool, str]]:
    """Yield the stretches of a text that are constant, and those that data brought, in turns."""
    data = text.encode()
    for span in spans:
        check_origin(span, takes_computed=True)
    for is_constant, group in groupby(spans, lambda span: _is_constant(span, data)):
        members = list(group)
        yield is_constant, data[members[0]["start"] : members[-1]["end"]].decode()


def _is_constant(span: Mapping[str, Any], text: bytes) -> bool:
    """Return true for what the template writes, and for the usual roles."""
    return span["source"] not in _DATA or is_usual_role(span, text)
