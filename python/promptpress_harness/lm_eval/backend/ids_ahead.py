"""The replacements for Hugging Face models of lm-evaluation-harness that score continuations: ids encoded in blocks.

The harness's own code takes texts apart, decides about special tokens and puts ids together. While it does so, its
tokenizer is one that encodes the texts of many requests at once; the first text of each block is encoded by the
model's own tokenizer too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from promptpress_harness.bulk.report import log_once

_BLOCK = 2048
"""Texts that are encoded together."""
_KEPT = 4 * _BLOCK
"""Texts whose ids are kept, so that memory is bounded: those that were asked for last."""
_MAX_ENCODED_FOR_ONE = 4
"""Texts that are encoded for each one that is asked for; with more, texts come in an order that no block foresees."""
_WORTH_IT = 64
"""Requests from which blocks are encoded."""

_current: ContextVar[IdsAhead | None] = ContextVar("promptpress_lm_eval_ids_ahead", default=None)
"""The ids of the model whose requests are being encoded."""


def scored_in_blocks(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of `TemplateLM.loglikelihood`, during which the model's texts are encoded in blocks."""

    @functools.wraps(harness)
    def loglikelihood(self: Any, requests: Any, *arguments: Any, **named: Any) -> Any:
        token = _current.set(_ahead_of(self, requests))
        try:
            return harness(self, requests, *arguments, **named)
        finally:
            _current.reset(token)

    return loglikelihood


def ids_ahead(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of `HFLM.tok_encode`, in which the harness asks a tokenizer that encodes in blocks."""

    @functools.wraps(harness)
    def tok_encode(self: Any, *arguments: Any, **named: Any) -> Any:
        ahead = _current.get()
        if ahead is None or ahead.model is not self:
            return harness(self, *arguments, **named)
        self.tokenizer = ahead
        try:
            return harness(self, *arguments, **named)
        finally:
            self.tokenizer = ahead.tokenizer

    return tok_encode


def _ahead_of(model: Any, requests: Any) -> IdsAhead | None:
    """Return the ids of a model's requests; None if its own tokenizer has to encode them."""
    tokenizer = vars(model).get("tokenizer")
    if getattr(tokenizer, "is_fast", None) is not True or not isinstance(requests, Sequence):
        return None
    pairs: list[Any] = [getattr(request, "args", None) for request in requests]
    if len(pairs) < _WORTH_IT or not all(map(_is_pair, pairs)):
        return None
    try:
        from promptpress.engine.tokens import Encoder  # noqa: PLC0415 - an optional package

        encoder = Encoder.of(tokenizer.backend_tokenizer)
    except Exception as error:  # whatever it is that wraps no tokenizer, the harness encodes by it
        log_once("debug", "", f"token ids are left to the harness: {error}")
        return None
    return IdsAhead(model, tokenizer, encoder, dict.fromkeys(_texts(model, pairs)))


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(type(text) is str for text in pair)


def _texts(model: Any, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the texts that the harness is going to ask for; it doesn't matter if it asks for others."""
    is_causal = getattr(model, "backend", None) == "causal"
    for context, continuation in pairs:
        stripped = context.rstrip()
        if not context:
            yield continuation
        elif is_causal:
            yield context + continuation
            yield stripped
        else:
            yield stripped
            yield context[len(stripped) :] + continuation


class IdsAhead:
    """A tokenizer in the place of a model's own, which encodes the texts of many requests at once."""

    def __init__(self, model: Any, tokenizer: Any, encoder: Any, texts: dict[str, None]) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._encoder = encoder
        self._texts = list(texts)
        self._indices = {text: index for index, text in enumerate(self._texts)}
        self._ids: dict[tuple[str, bool], list[int]] = {}
        self._count_asked = self._count_encoded = 0
        self._decoded: dict[int, Any] = {}
        self._is_off = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Decode ids as the model's tokenizer does; the harness asks for the same single id with each text."""
        if type(token_ids) is not int or options:
            return self.tokenizer.decode(token_ids, **options)
        if token_ids not in self._decoded:
            self._decoded[token_ids] = self.tokenizer.decode(token_ids)
        return self._decoded[token_ids]

    def encode(self, text: Any, **options: Any) -> Any:
        """Encode a text as the model's tokenizer does."""
        special = options.get("add_special_tokens", True)
        is_known = type(special) is bool and options.keys() <= {"add_special_tokens"} and type(text) is str
        if is_known and not self._is_off and text in self._indices:
            ids = self._ids_of(text, special)
            if ids is not None:
                return list(ids)
        return self.tokenizer.encode(text, **options)

    def _ids_of(self, text: str, special: bool) -> list[int] | None:
        """Return the ids of a text, and make it the one that was asked for last; None if they aren't certain."""
        self._count_asked += 1
        ids = self._ids.pop((text, special), None)
        if ids is None:
            ids = self._encoded(text, special)
        if ids is not None:
            self._ids[text, special] = ids
        return ids

    def _encoded(self, text: str, special: bool) -> list[int] | None:
        """Encode a text and those after it; return its ids, or None if the model's tokenizer gives others."""
        index = self._indices[text]
        texts = self._texts[index : index + _BLOCK]
        self._count_encoded += len(texts)
        is_foreseen = self._count_encoded <= _KEPT + _MAX_ENCODED_FOR_ONE * self._count_asked
        try:
            encoded = self._encoder.ids(texts, special) if is_foreseen else []
            has_same = encoded[:1] == [self.tokenizer.encode(text, add_special_tokens=special)]
        except Exception as error:
            log_once("debug", "", f"token ids are left to the harness: {error}")
            has_same = False
        if not has_same:
            self._is_off = True
            return None
        for other, ids in zip(texts, encoded, strict=True):
            if isinstance(ids, list):
                self._ids[other, special] = ids
        for key in list(self._ids)[: max(len(self._ids) - _KEPT, 0)]:
            del self._ids[key]
        first: Any = encoded[0]
        return list(first)


IDS_AHEAD = {
    "lm_eval.api.model": {"TemplateLM.loglikelihood": scored_in_blocks},
    "lm_eval.models.huggingface": {"HFLM.tok_encode": ids_ahead},
}
"""The replacements, as `Patches` takes them."""
