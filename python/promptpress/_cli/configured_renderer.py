"""The renderer that the configuration files and options of a command line describe."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import promptpress
from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import Selection, choose_dataset, choose_model
from promptpress._file_errors import ConfigError
from promptpress._inputs.samples import Samples

_OVERRIDES = ("output", "roles", "mode", "labels", "substitution", "dialect", "strings")
_INFER_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")


def make_renderer(arguments: Namespace) -> promptpress.Renderer:
    """Make the renderer that the configuration files and options describe.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        The renderer.

    Raises:
        ConfigError: when a file can't be read, or holds nothing of the kind.
        promptpress.TemplateError: when the configuration is wrong.

    """
    chosen, model = configuration(arguments)
    options: dict[str, Any] = {n: getattr(arguments, n) for n in _OVERRIDES if getattr(arguments, n) is not None}
    if arguments.examples:
        options["examples"] = Samples(arguments.examples, None).table()
    try:
        return _made(chosen, model, options)
    except promptpress.TemplateError as error:
        found = f"{error.path}: {error.message.partition('; ')[0]}"  # without what to do in Python
        if error.code == "missing_examples" and not arguments.examples:
            raise ConfigError(f"{found}; --examples FILE gives the rows, usually the train split") from error
        if error.code == "unmapped_role":
            role = error.message.partition("'")[2].partition("'")[0]
            raise ConfigError(
                f"{found}; say which it is by --roles '{role}=user', or roles: in the configuration"
            ) from error
        if error.code == "missing_output_column":
            raise ConfigError(
                f"{arguments.config}: {found}; name it there, by reader: {{output_column: ...}}, a dataset's reader_cfg"
            ) from error
        raise


def _made(chosen: Selection, model: Mapping[str, Any] | None, options: Mapping[str, Any]) -> promptpress.Renderer:
    if chosen.dataset is not None:
        return promptpress.Renderer.from_config(chosen.dataset, model, **options)
    given = dict(chosen.arguments or {})
    if model is None:
        return promptpress.Renderer(**{**given, **options})
    infer = {name: given.pop(name) for name in _INFER_PARTS if name in given}
    dataset = {"reader_cfg": given.pop("reader", None), "infer_cfg": infer}
    return promptpress.Renderer.from_config(dataset, model, **{**given, **options})


def configuration(
    arguments: Namespace,
    read: Callable[[str], Config] = read_config,
    *,
    dataset: Selection | None = None,
    model: Mapping[str, Any] | None = None,
) -> tuple[Selection, Mapping[str, Any] | None]:
    """Read the dataset and the model that the command line means.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        read: what reads a configuration file.
        dataset: the dataset, where it is chosen already.
        model: the model, likewise.

    Returns:
        What the renderer is made of, and the model's dict.

    Raises:
        FileError: when a file can't be read, holds nothing of the kind, or holds several.

    """
    config = read(arguments.config)
    chosen = choose_dataset(config, arguments.dataset) if dataset is None else dataset
    return chosen, _model(arguments, config, chosen, read) if model is None else model


def _model(
    arguments: Namespace, config: Config, chosen: Selection, read: Callable[[str], Config]
) -> Mapping[str, Any] | None:
    has_meta_template = chosen.arguments is not None and chosen.arguments.get("meta_template") is not None
    if arguments.model is None:
        # A harness's job file names its models beside its datasets.
        has_models = isinstance(config.value, Mapping) and "models" in config.value
        return choose_model(config, arguments.model_abbr) if has_models or arguments.model_abbr else None
    if has_meta_template:
        raise ConfigError(f"{arguments.config}: has a meta_template of its own, so --model has nothing to add")
    model = choose_model(read(arguments.model), arguments.model_abbr)
    if model is None:
        raise ConfigError(f"{arguments.model}: holds no model (a list 'models', a model dict or a meta_template)")
    return model
