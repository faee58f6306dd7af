"""The engine that the arguments of `Renderer` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from promptpress._config.configuration import Configuration
from promptpress._config.model_classes import meta_template_of
from promptpress._config.settings import plain_settings
from promptpress._config.short_form import short_form_of
from promptpress._core import DIALECTS, default_substitution
from promptpress._engine.configured_engine import ConfiguredEngine
from promptpress._errors.errors import template_error
from promptpress._errors.remedies import of_examples
from promptpress._io.as_table import as_table
from promptpress.typing import ChatTemplateLike, TableLike, Tokens

__all__ = ["engine_of_arguments"]


def engine_of_arguments(
    settings: dict[str, Any],
    words: Mapping[str, Any],
    examples: TableLike | None,
    chat_template: ChatTemplateLike | None,
    tokens: Tokens | None,
) -> ConfiguredEngine:
    """Compile the arguments of `Renderer`, and so check them.

    Args:
        settings: The settings of the core.
        words: The words of the short form; None for those that weren't given.
        examples: The examples.
        chat_template: The chat template that makes texts of the messages.
        tokens: Texts of token ids.

    Raises:
        TemplateError: If the configuration is wrong.

    """
    meta_template = settings["meta_template"]
    if isinstance(meta_template, str) and ":" in meta_template:
        settings = {**settings, "meta_template": meta_template_of(meta_template)}
    if any(word is not None for word in words.values()):
        filled = short_form_of({**settings, **words, "examples": examples, "chat_template": chat_template})
        settings = {**settings, **{name: filled[name] for name in settings if name in filled}}
    settings = plain_settings(settings)
    if settings["substitution"] is None:
        settings["substitution"] = default_substitution(settings)
    settings["dialect"] = settings["dialect"] or DIALECTS[0]
    chat = None
    if chat_template is not None:
        from promptpress._engine.chat_stage import ChatStage  # noqa: PLC0415 - it needs Jinja2

        chat = ChatStage(chat_template, settings["strings"], settings["limits"])
        settings = plain_settings(chat.settings(settings))
    table = None if examples is None else _examples_table(examples)
    if isinstance(tokens, Mapping):
        tokens = dict(tokens)
    elif tokens is not None and not callable(tokens):
        message = f"expected a dict of token ids and their texts, or a function, found a {type(tokens).__name__}"
        raise template_error("wrong_type", "tokens", message)
    engine = ConfiguredEngine(Configuration(settings, table, tokens), chat)
    if engine.core.labels is not None or engine.core.label_column is not None:
        engine.refuse_chat("ppl")
    return engine


def _examples_table(examples: TableLike) -> pa.Table:
    try:
        return as_table(examples)
    except TypeError as error:
        raise of_examples(error) from None
