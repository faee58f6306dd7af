"""Arguments of `Renderer` from configuration files, for `Renderer.from_config` and the command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from promptpress import ConfigError
from promptpress.engine.configs import SHORT_WORDS, inform_of_max_seq_len, renderer_arguments, short_form_of
from promptpress.engine.errors import located
from promptpress.typing import ConfigFile, ConfigLike, TableLike

from promptpress_harness.configs.config_file import Config, content_of, read_config
from promptpress_harness.configs.selection import (
    BUDGET_ARGUMENTS,
    SHORT_TEMPLATE,
    Selection,
    choose_dataset,
    choose_model,
    format_prompt_of,
)

_INFER_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")


def optional_model(config: Config, abbr: str | None) -> Mapping[str, Any] | None:
    """Choose the model in a dataset's file, such as a harness's job file; None if the file has no models."""
    has_models = isinstance(config.value, Mapping) and "models" in config.value
    return choose_model(config, abbr) if has_models or abbr else None


def required_model(config: Config, abbr: str | None) -> Mapping[str, Any]:
    """Choose the model in a model's file by its `abbr`; raise ConfigError if there is none, or several and no name."""
    model = choose_model(config, abbr)
    if model is None:
        raise ConfigError(f"{config.path}: holds no model (a list 'models', a model dict or a meta_template)")
    return model


def has_meta_template(selection: Selection) -> bool:
    """Return true if the configuration sets a meta template, so that a model would have no effect."""
    if selection.format_prompt is not None:
        return True
    return selection.arguments is not None and selection.arguments.get("meta_template") is not None


def _model_of(
    config: Config, selection: Selection, model: ConfigLike | None, abbr: str | None
) -> Mapping[str, Any] | None:
    if model is None:
        return optional_model(config, abbr)
    if has_meta_template(selection):
        raise ConfigError(f"{config.path}: has a meta_template or roles of its own, so a model has nothing to add")
    if isinstance(model, ConfigFile):
        return required_model(content_of(model), abbr)
    if isinstance(model, (str, os.PathLike)):
        return required_model(read_config(os.fspath(model)), abbr)
    return model if abbr is None else required_model(Config("model_cfg", model, python=False), abbr)


def arguments_of(selection: Selection, model: Mapping[str, Any] | None, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Renderer` for a configuration and a model; `overrides` win."""
    if selection.dataset is not None:
        return renderer_arguments(selection.dataset, model, **overrides)
    if selection.format_prompt is not None:
        return selection.format_prompt.arguments(overrides)
    given = dict(selection.arguments or {})
    budget = {name: given.pop(name) for name in BUDGET_ARGUMENTS if name in given}
    if overrides.get("tokenizer") is not None:
        overrides = {**budget, **overrides}
    elif budget:
        inform_of_max_seq_len()
    template = given.pop(SHORT_TEMPLATE, None)
    if template is not None or any(word in given for word in SHORT_WORDS):
        given = {"prompt_template": template, **given} if template is not None else given
        given, overrides = short_form_of({**given, **overrides}, has_model=model is not None), {}
    if model is None:
        return {**given, **overrides}
    infer = {name: given.pop(name) for name in _INFER_PARTS if name in given}
    dataset = {"reader_cfg": given.pop("reader", None), "infer_cfg": infer}
    return renderer_arguments(dataset, model, **{**given, **overrides})


def config_of(config: ConfigLike) -> Config:
    """Return the content of a configuration file; a dict is the content itself."""
    if isinstance(config, ConfigFile):
        return content_of(config)
    if not isinstance(config, (str, os.PathLike)):
        return Config("dataset_cfg", config, python=False)
    path = os.fspath(config)
    try:
        return read_config(path)
    except ConfigError as error:
        raise located(error, path) from None


def jinja_source_of(config: ConfigLike, examples: TableLike | None) -> str:
    """Return the Jinja template of a file of EvalScope or NeMo-Skills; refuse others, and prompts that are messages."""
    content = config_of(config)
    try:
        prompt = format_prompt_of(content)
        if prompt is None:
            message = f"{content.path}: no file of EvalScope or NeMo-Skills; Renderer.from_config reads other files"
            raise ConfigError(message)
        return prompt.jinja_source(examples)
    except ConfigError as error:
        raise located(error, content.path) from None


def arguments_of_files(
    dataset_config: ConfigLike,
    model_config: ConfigLike | None,
    dataset: str | None,
    model_abbr: str | None,
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments of `Renderer` for configuration files or dicts; `overrides` win.

    Without `model_config` the model may be in `dataset_config`. The names are needed if there are several.
    """
    config = config_of(dataset_config)
    try:
        selection = choose_dataset(config, dataset)
        model = _model_of(config, selection, model_config, model_abbr)
        return arguments_of(selection, model, overrides)
    except ConfigError as error:
        raise located(error, config.path) from None
