"""From configuration files, and what is said of them, to the arguments of one renderer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import Selection, choose_dataset, choose_model
from promptpress._file_errors import ConfigError, located
from promptpress._from_config import renderer_arguments
from promptpress.typing import ConfigFile, ConfigLike

_INFER_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")


def own_model(config: Config, abbr: str | None) -> Mapping[str, Any] | None:
    """Choose the model that stands beside a dataset: a harness's job file names its models there.

    Args:
        config: The file.
        abbr: Which, where there are several.

    Returns:
        The model's dict; None where there is none.

    """
    has_models = isinstance(config.value, Mapping) and "models" in config.value
    return choose_model(config, abbr) if has_models or abbr else None


def model_of_file(config: Config, abbr: str | None) -> Mapping[str, Any]:
    """Choose the model of a file that is there to bring one.

    Args:
        config: The file.
        abbr: Which, where there are several.

    Returns:
        The model's dict.

    Raises:
        ConfigError: When it holds none, or several and nothing says which.

    """
    model = choose_model(config, abbr)
    if model is None:
        raise ConfigError(f"{config.path}: holds no model (a list 'models', a model dict or a meta_template)")
    return model


def has_own_meta_template(chosen: Selection) -> bool:
    """Say whether a model has nothing to add.

    Args:
        chosen: What the renderer is made of.

    Returns:
        Whether there is a meta template.

    Example:
        >>> has_own_meta_template(Selection(arguments={"prompt_template": "{q}"}))
        False

    """
    return chosen.arguments is not None and chosen.arguments.get("meta_template") is not None


def _model_of(
    config: Config,
    chosen: Selection,
    model: ConfigLike | None,
    abbr: str | None,
) -> Mapping[str, Any] | None:
    if model is None:
        return own_model(config, abbr)
    if has_own_meta_template(chosen):
        raise ConfigError(f"{config.path}: has a meta_template of its own, so a model has nothing to add")
    if isinstance(model, ConfigFile):
        return model_of_file(model._config, abbr)  # type: ignore[attr-defined]
    if isinstance(model, (str, os.PathLike)):
        return model_of_file(read_config(os.fspath(model)), abbr)
    return model if abbr is None else model_of_file(Config("model_cfg", model, python=False), abbr)


def arguments_of(chosen: Selection, model: Mapping[str, Any] | None, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments of `Renderer` that a configuration and a model mean.

    Args:
        chosen: A dataset's dict, or arguments of `Renderer`.
        model: The model's dict.
        overrides: Arguments that win.

    Returns:
        The arguments.

    Raises:
        TemplateError: When the dicts lack what prompts are made of.

    """
    if chosen.dataset is not None:
        return renderer_arguments(chosen.dataset, model, **overrides)
    given = dict(chosen.arguments or {})
    if model is None:
        return {**given, **overrides}
    infer = {name: given.pop(name) for name in _INFER_PARTS if name in given}
    dataset = {"reader_cfg": given.pop("reader", None), "infer_cfg": infer}
    return renderer_arguments(dataset, model, **{**given, **overrides})


def arguments_of_files(
    held: ConfigLike,
    model: ConfigLike | None,
    dataset: str | None,
    model_abbr: str | None,
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Give the arguments of `Renderer` that files, or dicts of several, mean.

    Args:
        held: Where the dataset is.
        model: Where the model is; None: there, too, if it is anywhere.
        dataset: Which of several.
        model_abbr: Which of several.
        overrides: Arguments that win.

    Returns:
        The arguments.

    Raises:
        TemplateError: When a file can't be read, holds nothing of the kind, or several and nothing says which.

    """
    if isinstance(held, ConfigFile):
        config = held._config  # type: ignore[attr-defined]
    elif isinstance(held, (str, os.PathLike)):
        path = os.fspath(held)
        try:
            config = read_config(path)
        except ConfigError as error:
            raise located(error, path) from None
    else:
        config = Config("dataset_cfg", held, python=False)
    try:
        chosen = choose_dataset(config, dataset)
        found = _model_of(config, chosen, model, model_abbr)
    except ConfigError as error:
        raise located(error, config.path) from None
    return arguments_of(chosen, found, overrides)
