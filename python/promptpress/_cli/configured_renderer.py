"""The renderer that the configuration files and options of a command line describe."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._config_files.chosen import arguments_of, has_own_meta_template, model_of_file, own_model
from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import Selection, choose_dataset
from promptpress._file_errors import ConfigError, UsageError
from promptpress._inputs.formats import STDIN
from promptpress._inputs.samples import example_rows

from .jinja_sources import chat_template
from .template_option import TEMPLATE, with_template

_OVERRIDES = ("output", "roles", "mode", "labels", "substitution", "dialect", "strings", "limits")


def make_renderer(arguments: Namespace) -> promptpress.Renderer:
    """Make the renderer that the configuration files and options describe.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        The renderer.

    Raises:
        ConfigError: when a file can't be read, or holds nothing of the kind.
        UsageError: when standard input would have to be read twice.
        promptpress.TemplateError: when the configuration is wrong.

    """
    if all(STDIN in (getattr(arguments, name, None) or ()) for name in ("data", "examples")):
        raise UsageError("standard input is named twice, by --data and --examples; it can be read once")
    chosen, model = configuration(arguments)
    examples = example_rows(arguments.examples, arguments.data_format)
    return renderer_of(arguments, chosen, model, examples)


def renderer_of(
    arguments: Namespace, chosen: Selection, model: Mapping[str, Any] | None, examples: pa.Table | None
) -> promptpress.Renderer:
    """Make the renderer of one dataset and one model.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        chosen: the dataset.
        model: the model.
        examples: the rows that few-shot examples come from.

    Returns:
        The renderer.

    Raises:
        ConfigError: when something is missing that an option brings.
        promptpress.TemplateError: when the configuration is wrong.

    """
    options: dict[str, Any] = {n: getattr(arguments, n) for n in _OVERRIDES if getattr(arguments, n) is not None}
    if examples is not None:
        options["examples"] = examples
    if getattr(arguments, "chat_template", None) is not None:
        options["chat_template"] = chat_template(arguments)
    try:
        return promptpress.Renderer(**arguments_of(chosen, model, options))
    except promptpress.TemplateError as error:
        found = f"{error.path}: {error.message.partition('; ')[0]}"  # without what to do in Python
        if error.code == "missing_examples" and examples is None:
            raise ConfigError(f"{found}; --examples FILE gives the rows, usually the train split") from error
        if error.code == "missing_output_column" and arguments.config == TEMPLATE:
            raise UsageError(
                "--output-column: in-context examples need it: it names the column of the answers"
            ) from error
        if error.code == "example_index_out_of_range" and arguments.config == TEMPLATE and examples is not None:
            raise ConfigError(
                f"--shots {arguments.shots}: --examples has {examples.num_rows:,} rows; give a smaller number"
            ) from error
        if error.code == "missing_output_column":
            raise ConfigError(
                f"{arguments.config}: {found}; name it there, by reader: {{output_column: ...}}, a dataset's reader_cfg"
            ) from error
        raise


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
    read = with_template(arguments, read)
    config = read(arguments.config)
    chosen = choose_dataset(config, arguments.dataset) if dataset is None else dataset
    if model is None and arguments.model is not None:
        if has_own_meta_template(chosen):
            raise ConfigError(f"{arguments.config}: has a meta_template of its own, so --model has nothing to add")
        return chosen, model_of_file(read(arguments.model), arguments.model_abbr)
    return chosen, own_model(config, arguments.model_abbr) if model is None else model
