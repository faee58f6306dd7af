"""Prompts of the reference: transformers' `apply_chat_template` if it is installed, else promptpress's own `render`.

Other tests compare the two: tests/real/jinja/.
"""

from __future__ import annotations

import datetime
import importlib.util
from functools import cache
from typing import Any
from unittest import mock

import promptpress as pp

from .chat_templates import Source
from .conversations import Case

NOW = datetime.datetime(2026, 3, 5, 14, 7, 9)


def compiled(source: Source, arguments: dict[str, Any]) -> pp.ChatTemplate | None:
    """Return the template of promptpress with some arguments, or None if it can't be made."""
    try:
        return pp.ChatTemplate(source.template, now=NOW, **{**source.special_tokens, **arguments})
    except (pp.TemplateError, pp.RenderError):
        return None


def texts_of(source: Source, cases: list[Case]) -> list[str | None]:
    """Return the reference's prompts of cases that have the same arguments, and None for those that it refuses."""
    if importlib.util.find_spec("transformers") is None:
        template = compiled(source, cases[0].arguments)
        if template is None:
            return [None] * len(cases)
        rows = template.render([case.row for case in cases], errors="column").to_pylist()
        return [None if row["error"] else row["prompt"] for row in rows]
    from transformers.utils import chat_template_utils

    tokenizer = tokenizer_class()(source)
    texts: list[str | None] = []
    with mock.patch.object(chat_template_utils, "datetime", Clock):
        for case in cases:
            try:
                texts.append(tokenizer.apply_chat_template(case.messages, tokenize=False, **case.arguments))
            except Exception:
                texts.append(None)
    return texts


class Clock(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
        return NOW


@cache
def tokenizer_class() -> Any:
    """Return as much of a tokenizer of transformers as rendering needs."""
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    class Tokenizer(PreTrainedTokenizerBase):
        def __init__(self, source: Source) -> None:
            self.__dict__.update(chat_template=source.template, tokens=source.special_tokens)

        @property
        def special_tokens_map(self) -> dict[str, str]:
            return self.__dict__["tokens"]

    return Tokenizer
