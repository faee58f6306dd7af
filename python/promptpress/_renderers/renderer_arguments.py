"""The engine that the arguments of `Renderer` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pyarrow as pa

from promptpress._arrow.as_table import as_table
from promptpress._arrow.python_rows import EXACT, OF_HARNESS, ValueReading
from promptpress._config.configuration import Configuration
from promptpress._config.from_harness import CHAT_INFERENCERS, last_part, meta_template_of
from promptpress._config.settings import SHORT_WORDS, plain_settings, short_form_of
from promptpress._config.tokenizer import load_tokenizer
from promptpress._core import DIALECTS, default_substitution
from promptpress._engine.configured_engine import ConfiguredEngine
from promptpress._engine.configured_run import SHOT_COLUMNS, ShotFit
from promptpress._errors.errors import did_you_mean, of_examples, template_error
from promptpress.typing import FitLabels, FitRule, TableLike

_NO_BUDGET = {"max_seq_len": None, "fit": "harness", "reserve": 0, "fit_labels": "each"}
_LIMITS = {"openicl": "max_model_token_num"}
"""The key of an inferencer that says how long a request may be, in dialects where it isn't `max_seq_len`."""

_TAKES_NO_PART = frozenset({*CHAT_INFERENCERS, "AgentInferencer", "SWCELossInferencer"})
"""OpenCompass's inferencers that leave out no examples, whatever `max_seq_len` is."""


def engine_of_arguments(arguments: Mapping[str, Any]) -> ConfiguredEngine:
    """Compile the arguments of `Renderer`, and so check them."""
    settings = dict(arguments)
    examples, tokens, tokenizer = settings.pop("examples"), settings.pop("tokens"), settings.pop("tokenizer")
    chat_template = settings.pop("chat_template")
    budget = {name: settings.pop(name) for name in _NO_BUDGET}
    # Those of the short form that weren't given are None.
    words = {name: settings.pop(name) for name in SHORT_WORDS}
    words |= {name: words[name] or None for name in ("optional_system", "shots")}
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
    by_default = default_substitution(settings)
    if settings["substitution"] is None:
        settings["substitution"] = by_default
    if by_default == settings["substitution"] == "single_pass":
        settings["unknown"] = settings["unknown"] or "refuse"
        if settings["output"] is None and chat_template is None and _is_chat(settings["prompt_template"]):
            settings["output"] = "openai"
    settings["dialect"] = settings["dialect"] or DIALECTS[0]
    chat = None
    if chat_template is not None:
        from promptpress._engine.chat_stage import ChatStage  # noqa: PLC0415 - it needs Jinja2

        chat = ChatStage.after(chat_template, settings)
        settings = plain_settings(chat.settings(settings))
    reading = OF_HARNESS if settings["substitution"] == "harness" else EXACT
    table = None if examples is None else _examples_table(examples, reading)
    if isinstance(tokens, Mapping):
        tokens = dict(tokens)
    elif tokens is not None and not callable(tokens):
        message = f"expected a dict of token ids and their texts, or a function, found a {type(tokens).__name__}"
        raise template_error("wrong_type", "tokens", message)
    engine = ConfiguredEngine(Configuration(settings, table, tokens), chat)
    if engine.core.labels is not None or engine.core.label_column is not None:
        engine.refuse_chat("ppl")
    engine.tokenizer = None if tokenizer is None else load_tokenizer(tokenizer)
    engine.fit = _shot_fit(engine, budget, shot_names)
    return engine


def _is_chat(template: Any) -> bool:
    """Return true for a list of messages, with its settings or without."""
    return isinstance(template, list) or (isinstance(template, dict) and isinstance(template.get("messages"), list))


def _shot_fit(engine: ConfiguredEngine, budget: Mapping[str, Any], names: Mapping[str, str]) -> ShotFit | None:
    """Return the budget that is asked for, or None; columns may have other names."""
    given = [name for name, value in budget.items() if value != _NO_BUDGET[name]]
    if engine.tokenizer is None:
        if given:
            message = (
                f"{given[0]}= counts tokens, and no tokenizer is given; give the model's tokenizer.json or its folder"
            )
            raise template_error("missing_key", "tokenizer", message)
        return None
    most, inferencer = budget["max_seq_len"], engine.settings.get("inferencer")
    if most is None and isinstance(inferencer, Mapping):
        most = inferencer.get(_LIMITS.get(engine.settings.get("dialect") or "", "max_seq_len"))
    if most is None:
        if not given and not names:
            return None  # the tokenizer is for tokenize alone
        message = "a tokenizer fits prompts to a number of tokens, and none is given"
        raise template_error("missing_key", "max_seq_len", message)
    if engine.core.wants_replies:
        message = "the later prompts of a conversation hold the model's replies, so nobody knows what fits"
        raise template_error("unsupported_mode", "max_seq_len", message)
    return _checked_fit(engine, {**budget, "max_seq_len": most}, names)


def _checked_fit(engine: ConfiguredEngine, budget: Mapping[str, Any], names: Mapping[str, str]) -> ShotFit:
    """Check the arguments of a budget, and make it."""
    from promptpress._tokens.encoder import Encoder  # noqa: PLC0415 - few renderers have a budget

    counter = Encoder.of(engine.tokenizer)
    for name, choices in (("fit", get_args(FitRule)), ("fit_labels", get_args(FitLabels))):
        if budget[name] not in choices:
            message = f"{budget[name]!r} is not one of {', '.join(map(repr, choices))}"
            raise template_error("unknown_name", name, message + did_you_mean(str(budget[name]), choices))
    for name in ("max_seq_len", "reserve"):
        if isinstance(budget[name], bool) or not isinstance(budget[name], int):
            raise template_error("wrong_type", name, f"expected a number, found {budget[name]!r}")
        if budget[name] < 0:
            raise template_error("invalid_number", name, f"expected a number from 0 on, found {budget[name]}")
    limit = budget["max_seq_len"] - budget["reserve"]
    if limit < 0:
        message = f"{budget['reserve']} tokens are more than max_seq_len={budget['max_seq_len']} has"
        raise template_error("invalid_number", "reserve", message)
    if budget["fit"] != "harness":
        return ShotFit(counter, limit, budget["fit"], budget["fit_labels"], is_harness=False, names=names)
    for name in ("reserve", "fit_labels"):
        if budget[name] != _NO_BUDGET[name]:
            message = (
                f'fit="harness" is the harness\'s own rule, which has no {name}; fit="last" leaves out the same '
                "examples and takes it"
            )
            raise template_error("unsupported_mode", name, message)
    inferencer = last_part((engine.settings.get("inferencer") or {}).get("type"))
    takes_part = engine.settings["dialect"] != "aisbench" and inferencer not in _TAKES_NO_PART
    is_ppl = engine.core.labels is not None or engine.core.label_column is not None
    return ShotFit(
        counter,
        limit - int(inferencer == "CLPInferencer"),  # for the token that is scored
        "last" if takes_part else None,
        "in_turn" if is_ppl else "each",
        is_harness=True,
        names=names,
    )


def _examples_table(examples: TableLike, reading: ValueReading) -> pa.Table:
    try:
        return as_table(examples, reading)
    except TypeError as error:
        raise of_examples(error) from None
