"""The engine that the arguments of `Renderer` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from promptpress._arrow.python_rows import EXACT, OF_HARNESS, ValueReading
from promptpress._config.configuration import Configuration
from promptpress._config.model_classes import meta_template_of
from promptpress._config.settings import plain_settings
from promptpress._config.short_form import short_form_of
from promptpress._core import DIALECTS, default_substitution
from promptpress._engine.configured_engine import ConfiguredEngine
from promptpress._engine.shot_fit import SHOT_COLUMNS, ShotFit, harness_limit, shot_fit_of
from promptpress._errors.errors import template_error
from promptpress._errors.remedies import of_examples
from promptpress._io.as_table import as_table
from promptpress._io.tokenizer import load_tokenizer
from promptpress.typing import ChatTemplateLike, TableLike, Tokens

_NO_BUDGET = {"max_seq_len": None, "fit": "harness", "reserve": 0, "fit_labels": "each"}


def engine_of_arguments(
    settings: dict[str, Any],
    words: Mapping[str, Any],
    examples: TableLike | None,
    chat_template: ChatTemplateLike | None,
    tokens: Tokens | None,
    *,
    tokenizer: object,
    budget: Mapping[str, Any],
) -> ConfiguredEngine:
    """Compile the arguments of `Renderer`, and so check them."""
    shot_names: dict[str, str] = {}
    if tokenizer is not None and isinstance(settings["names"], Mapping):
        # The core knows the names of its own columns.
        shot_names = {name: other for name, other in settings["names"].items() if name in SHOT_COLUMNS}
        core_names = {name: other for name, other in settings["names"].items() if name not in SHOT_COLUMNS}
        settings = {**settings, "names": core_names or None}
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
    reading = OF_HARNESS if settings["substitution"] == "harness" else EXACT
    table = None if examples is None else _examples_table(examples, reading)
    if isinstance(tokens, Mapping):
        tokens = dict(tokens)
    elif tokens is not None and not callable(tokens):
        raise template_error(
            "wrong_type",
            "tokens",
            f"expected a dict of token ids and their texts, or a function, found a {type(tokens).__name__}",
        )
    engine = ConfiguredEngine(Configuration(settings, table, tokens), chat)
    if engine.core.labels is not None or engine.core.label_column is not None:
        engine.refuse_chat("ppl")
    engine.tokenizer = None if tokenizer is None else load_tokenizer(tokenizer)
    engine.fit = _shot_fit(engine, budget, shot_names)
    return engine


def _shot_fit(engine: ConfiguredEngine, budget: Mapping[str, Any], names: Mapping[str, str]) -> ShotFit | None:
    """Return the budget that is asked for, or None."""
    given = [name for name, value in budget.items() if value != _NO_BUDGET[name]]
    if engine.tokenizer is None:
        if given:
            raise template_error(
                "missing_key",
                "tokenizer",
                f"{given[0]}= counts tokens, and no tokenizer is given; give the model's tokenizer.json or its folder",
            )
        return None
    most = budget["max_seq_len"]
    most = harness_limit(engine.settings) if most is None else most
    if most is None and not given and not names:
        return None  # the tokenizer is for tokenize alone
    if most is None:
        raise template_error(
            "missing_key", "max_seq_len", "a tokenizer fits prompts to a number of tokens, and none is given"
        )
    if engine.core.wants_replies:
        raise template_error(
            "unsupported_mode",
            "max_seq_len",
            "the later prompts of a conversation hold the model's replies, so nobody knows what fits",
        )
    from promptpress._tokens.encoder import Encoder  # noqa: PLC0415 - few renderers have a budget

    counter = Encoder.of(engine.tokenizer)
    is_ppl = engine.core.labels is not None or engine.core.label_column is not None
    arguments = {**budget, "max_seq_len": most}
    return shot_fit_of(counter, engine.settings, names=names, is_ppl=is_ppl, **arguments)


def _examples_table(examples: TableLike, reading: ValueReading) -> pa.Table:
    try:
        return as_table(examples, reading)
    except TypeError as error:
        raise of_examples(error) from None
