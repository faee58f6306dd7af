"""Makes what the options of a command line describe: the renderer of a configuration, samples, and a tokenizer."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import engine_of
from promptpress.engine.configs import STDIN, follows_harness
from promptpress.engine.errors import UsageError, counted
from promptpress.engine.tokens import LOAD_ERRORS, LoadedTokenizer, load_tokenizer
from promptpress_harness.configs.arguments import arguments_of, has_meta_template, optional_model, required_model
from promptpress_harness.configs.config_file import Config, read_config
from promptpress_harness.configs.selection import Selection, choose_dataset

from promptpress_workbench.cli.shell.options import BUDGET_OPTIONS, first_given, format_of, row_choice
from promptpress_workbench.cli.sources.jinja_runs import AnyRenderer
from promptpress_workbench.cli.sources.jinja_sources import chat_template
from promptpress_workbench.cli.sources.template_option import TEMPLATE, in_options_of_template, with_template
from promptpress_workbench.files.read.formats import HarnessTypes
from promptpress_workbench.files.read.samples import Samples, example_rows

_NO_ROWS = pa.table({})
"""Stands for the examples until it is known how they are read."""

_OVERRIDES = ("output", "roles", "mode", "labels", "substitution", "dialect", "strings", "limits")


def make_renderer(arguments: Namespace) -> promptpress.Renderer:
    """Make the renderer of a command line."""
    return renderer_and_selection(arguments, read_config)[0]


def renderer_and_selection(
    arguments: Namespace, read: Callable[[str], Config]
) -> tuple[promptpress.Renderer, Selection]:
    """Make the renderer of a command line, and return the selected dataset too."""
    if all(STDIN in (getattr(arguments, name, None) or ()) for name in ("data", "examples")):
        raise UsageError("standard input is named twice, by --data and --examples; it can be read once")
    selection, model = configuration(arguments, read)
    format_of_examples = format_of(arguments)
    read_examples = partial(example_rows, arguments.examples, format_of_examples) if arguments.examples else None
    return renderer_of(arguments, selection, model, read_examples), selection


def renderer_of(
    arguments: Namespace,
    selection: Selection,
    model: Mapping[str, Any] | None,
    read_examples: Callable[[HarnessTypes | None], pa.Table | None] | None,
) -> promptpress.Renderer:
    """Make the renderer of a dataset and a model, with the options that override them.

    `read_examples` reads the examples; it is told which files have the types of a harness's reader.
    """
    options: dict[str, Any] = {n: getattr(arguments, n) for n in _OVERRIDES if getattr(arguments, n) is not None}
    examples: pa.Table | None = None
    if read_examples is not None:
        examples = _NO_ROWS if selection.format_prompt is None else read_examples(None)
        options["examples"] = examples
    if getattr(arguments, "chat_template", None) is not None:
        options["chat_template"] = chat_template(arguments)
    options |= _budget(arguments)
    try:
        settings = arguments_of(selection, model, options)
        if read_examples is not None and settings.get("examples") is _NO_ROWS:
            settings["examples"] = examples = read_examples("json" if follows_harness(settings) else None)
        return promptpress.Renderer(**settings)
    except promptpress.TemplateError as error:
        usage = in_options_of_template(error) if arguments.config == TEMPLATE else None
        if usage is not None:
            raise usage from error
        message = f"{error.path}: {error.message.partition('; ')[0]}"  # without the remedy for Python callers
        if error.code == "missing_examples" and examples is None:
            raise ConfigError(f"{message}; --examples FILE gives the rows, usually the train split") from error
        if error.code == "example_index_out_of_range" and arguments.config == TEMPLATE and examples is not None:
            raise ConfigError(
                f"--shots {arguments.shots}: --examples has {counted(examples.num_rows, 'row')}; give a smaller number"
            ) from error
        if error.code == "missing_output_column":
            raise ConfigError(
                f"{arguments.config}: {message}; name it there, by reader: {{output_column: ...}}, "
                "a dataset's reader_cfg"
            ) from error
        raise


def _budget(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments of a budget of tokens that the command line gives."""
    options = {name: getattr(arguments, name, None) for name in BUDGET_OPTIONS}
    options = {name: value for name, value in options.items() if value is not None}
    tokenizer = getattr(arguments, "tokenizer", None)
    if tokenizer is None:
        option = first_given(arguments, options)
        if option is not None:
            raise UsageError(f"{option}: is of tokens; --tokenizer FILE counts them")
        return {}
    # A command without these options only counts.
    return {**options, "tokenizer": token_counter(tokenizer)} if hasattr(arguments, "max_seq_len") else {}


def token_counter(name: str) -> LoadedTokenizer:
    """Load the tokenizer of `--tokenizer`, which counts tokens."""
    try:
        return load_tokenizer(name)
    except LOAD_ERRORS as error:
        raise UsageError(f"--tokenizer {error}") from error  # the message begins with the name


def configuration(
    arguments: Namespace,
    read: Callable[[str], Config],
    *,
    dataset: Selection | None = None,
    model: Mapping[str, Any] | None = None,
) -> tuple[Selection, Mapping[str, Any] | None]:
    """Return the dataset and the model that the command line selects, or those that are given instead."""
    read = with_template(arguments, read)
    config = read(arguments.config)
    selection = choose_dataset(config, arguments.dataset) if dataset is None else dataset
    if model is None and arguments.model is not None:
        if has_meta_template(selection):
            raise ConfigError(
                f"{arguments.config}: has a meta_template or roles of its own, so --model has nothing to add"
            )
        return selection, required_model(read(arguments.model), arguments.model_abbr)
    return selection, optional_model(config, arguments.model_abbr) if model is None else model


def open_samples(
    arguments: Namespace, paths: Sequence[str], renderer: AnyRenderer | None, batch_size: int | None = None
) -> Samples:
    """Open files of samples, or of prompts, as the options say.

    `renderer` renders them; None if they are prompts. `batch_size` takes the place of the option's.
    """
    return Samples(
        paths,
        format_of(arguments),
        arguments.batch_size if batch_size is None else batch_size,
        arguments.limit,
        choice=row_choice(arguments),
        skip_corrupt=getattr(arguments, "skip_corrupt", None),
        harness_types=None if renderer is None else engine_of(renderer).value_reading.harness_types,
    )
