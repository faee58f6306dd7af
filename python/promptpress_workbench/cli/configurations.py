"""Configurations and renderers of a command line, `CONFIG` or `--template`, with their samples and notes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import (
    ConfiguredEngine,
    TableEngine,
    TableRenderer,
    checked_notes,
    engine_of,
    find_notes,
    refusal,
)
from promptpress.engine.configs import STDIN, follows_harness
from promptpress.engine.errors import UsageError, counted
from promptpress.engine.tokens import LOAD_ERRORS, LoadedTokenizer, load_tokenizer
from promptpress_harness.configs.arguments import arguments_of, has_meta_template, optional_model, required_model
from promptpress_harness.configs.config_file import Config, UnknownFilesError, read_config
from promptpress_harness.configs.selection import Selection, all_datasets, all_models, choose_dataset

from promptpress_workbench.cli.dataset_rows import DatasetRows
from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.jinja_sources import chat_template, warn_of_backslash_n
from promptpress_workbench.cli.options import BUDGET_OPTIONS, OVERRIDES, first_given, option_name
from promptpress_workbench.cli.settings import ALL, TEMPLATE, Settings
from promptpress_workbench.files.read.formats import HarnessTypes
from promptpress_workbench.files.read.samples import AnySamples, Samples, TableSamples, example_rows

MISSING_CONFIG = "neither CONFIG nor --template; one of them says what a prompt is"

_WORDS = {
    **{"system": "system", "optional_system": "optional_system"},
    **{"shots": "shots", "answer": "output_column", "shots_seed": "seed"},
}
"""The options that go with `--template` alone, and the words of the short form."""

OPTIONS_OF_PLACES = {
    "prompt_template": "--template",
    "examples": "--examples",
    "reader.output_column": "--answer",
    **{word: option_name(option) for option, word in _WORDS.items()},
}
"""The options of `--template` by the places of the short form that errors and notes name."""

_PHRASES = {"output_column names": "--answer COL names", "shots says": "--shots N says"}
"""Words of the short form in its errors, and the options in their place."""

_MISTAKES = ("unknown_placeholder", "empty_template", "unclosed_brace")
"""The codes of what is refused in a template for the columns of the samples."""

_NO_ROWS = pa.table({})
"""Stands for the examples until it is known how they are read."""


def with_template(settings: Settings, read: Callable[[str], Config]) -> Callable[[str], Config]:
    """Extend `read` to return the template of `--template` as the configuration `TEMPLATE`; check the options."""
    if settings.template is None:
        option = first_given(settings, _WORDS)
        if option is not None:
            raise UsageError(f"{option} goes with --template; a CONFIG says it itself")
        if settings.config is None:
            raise UsageError(MISSING_CONFIG)
        return read
    if settings.config is not None:
        raise UsageError(f"--template with {settings.config}: one of them says what a prompt is")
    if "\n" not in settings.template:
        warn_of_backslash_n("--template", settings.template)
    words = {_WORDS[option]: value for option, value in settings.given(_WORDS).items()}
    config = Config(TEMPLATE, {"template": settings.template, **words}, python=False)
    return lambda path: config if path == TEMPLATE else read(path)


def _option_of(path: str) -> str:
    """Return the option that gives what stands at a path of the short form; without one, the path itself."""
    if path.startswith(("prompt_template.", "prompt_template[")):
        return "--system" if ".begin[" in path or path.startswith("prompt_template[0]") else "--template"
    return OPTIONS_OF_PLACES.get(path, path)


def in_options_of_template(error: promptpress.TemplateError) -> UsageError | None:
    """Return an error of the short form in the words of the options; None if it is another error."""
    codes = ("unsupported_mode", "missing_output_column", "missing_column", "invalid_number", *_MISTAKES)
    option = _option_of(error.path or "")
    if error.code not in codes or option == (error.path or ""):
        return None
    message = in_options(error.message)
    for words, options in _PHRASES.items():
        message = message.replace(words, options)
    return UsageError(f"{option}: {message}")


def configuration(
    settings: Settings,
    read: Callable[[str], Config],
    *,
    dataset: Selection | None = None,
    model: Mapping[str, Any] | None = None,
) -> tuple[Selection, Mapping[str, Any] | None]:
    """Return the dataset and the model that the command line selects, or those that are given instead.

    `read` is that of `with_template`.
    """
    name = str(settings.config_name)
    config = read(name)
    selection = choose_dataset(config, settings.dataset) if dataset is None else dataset
    if model is None and settings.model is not None:
        if has_meta_template(selection):
            raise ConfigError(f"{name}: has a meta_template or roles of its own, so --model has nothing to add")
        return selection, required_model(read(settings.model), settings.model_abbr)
    return selection, optional_model(config, settings.model_abbr) if model is None else model


def make_renderer(settings: Settings) -> promptpress.Renderer:
    """Make the renderer of a command line."""
    return renderer_and_selection(settings, read_config)[0]


def renderer_and_selection(settings: Settings, read: Callable[[str], Config]) -> tuple[promptpress.Renderer, Selection]:
    """Make the renderer of a command line, and return the selected dataset too."""
    if all(STDIN in (paths or ()) for paths in (settings.data, settings.examples)):
        raise UsageError("standard input is named twice, by --data and --examples; it can be read once")
    selection, model = configuration(settings, with_template(settings, read))
    rows, read_examples = settings.rows, None
    if rows is not None and selection.dataset is not None:
        read_examples = lambda _: rows.train  # noqa: E731 - they are read already
    elif settings.examples:
        read_examples = partial(example_rows, settings.examples, settings.format)
    return renderer_of(settings, selection, model, read_examples), selection


def renderer_of(
    settings: Settings,
    selection: Selection,
    model: Mapping[str, Any] | None,
    read_examples: Callable[[HarnessTypes | None], pa.Table | None] | None,
) -> promptpress.Renderer:
    """Make the renderer of a dataset and a model, with the options that override them.

    `read_examples` reads the examples; it is told which files have the types of a harness's reader.
    """
    if settings.rows is not None:
        selection = settings.rows.without_range(selection)
    options = settings.given(OVERRIDES)
    examples: pa.Table | None = None
    if read_examples is not None:
        examples = _NO_ROWS if selection.format_prompt is None else read_examples(None)
        options["examples"] = examples
    if settings.chat_template is not None:
        # In OpenAI's form the configuration's messages have these names; else the chat template gives them.
        names_roles = settings.output == "openai"
        options["chat_template"] = chat_template(replace(settings, roles=None) if names_roles else settings)
        options = {name: value for name, value in options.items() if name != "roles" or names_roles}
    if settings.tokenizer is not None:
        options |= {**settings.given(BUDGET_OPTIONS), "tokenizer": token_counter(settings.tokenizer)}
    elif (option := first_given(settings, BUDGET_OPTIONS)) is not None:
        raise UsageError(f"{option}: is of tokens; --tokenizer FILE counts them")
    try:
        arguments = arguments_of(selection, model, options)
        if read_examples is not None and arguments.get("examples") is _NO_ROWS:
            arguments["examples"] = examples = read_examples("json" if follows_harness(arguments) else None)
        return promptpress.Renderer(**arguments)
    except promptpress.TemplateError as error:
        is_template = settings.template is not None
        usage = in_options_of_template(error) if is_template else None
        if usage is not None:
            raise usage from error
        message = f"{error.path}: {error.message.partition('; ')[0]}"  # without the remedy for Python callers
        if error.code == "missing_examples" and examples is None:
            raise ConfigError(f"{message}; --examples FILE gives the rows, usually the train split") from error
        if error.code == "example_index_out_of_range" and is_template and examples is not None:
            raise ConfigError(
                f"--shots {settings.shots}: --examples has {counted(examples.num_rows, 'row')}; give a smaller number"
            ) from error
        if error.code == "missing_output_column":
            raise ConfigError(
                f"{settings.config_name}: {message}; name it there, by reader: {{output_column: ...}}, "
                "a dataset's reader_cfg"
            ) from error
        raise


def token_counter(name: str) -> LoadedTokenizer:
    """Load the tokenizer of `--tokenizer`, which counts tokens."""
    try:
        return load_tokenizer(name)
    except LOAD_ERRORS as error:
        raise UsageError(f"--tokenizer {error}") from error  # the message begins with the name


def open_samples(
    settings: Settings, paths: Sequence[str], renderer: TableRenderer[Any] | None, batch_size: int | None = None
) -> AnySamples:
    """Open files of samples, or of prompts, as the options say.

    `renderer` renders them; None if they are prompts. `batch_size` takes the place of the option's.
    """
    batch_size = settings.batch_size if batch_size is None else batch_size
    if settings.rows is not None:
        return TableSamples(settings.rows.samples_for(renderer), batch_size, settings.limit, settings.row_choice)
    return Samples(
        paths,
        settings.format,
        batch_size,
        settings.limit,
        choice=settings.row_choice,
        skip_corrupt=settings.skip_corrupt,
        harness_types=None if renderer is None else engine_of(renderer).value_reading.harness_types,
    )


@contextmanager
def held_warnings(settings: Settings) -> Iterator[list[str]]:
    """Collect all prompt warnings for `report_notes`, whatever the filters; without `--strict`, let them be shown."""
    held: list[str] = []
    if not settings.strict:
        yield held
        return
    caught: list[warnings.WarningMessage] = []
    is_failed = True
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield held
        is_failed = False
    finally:
        for warning in caught:
            # After an error all warnings are shown, because they may explain it.
            if not is_failed and issubclass(warning.category, promptpress.PromptWarning):
                held.append(str(warning.message))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def report_notes(
    renderer: TableRenderer[Any],
    schema: pa.Schema,
    settings: Settings,
    held: Sequence[str] = (),
    *,
    looks: bool = False,
) -> None:
    """Show the notes on a configuration or a Jinja template as warnings; with `--strict`, raise the first as an error.

    For a Jinja template, the notes are about variables that the samples don't give. Notes that are errors are raised
    unless the prompts are only looked at.
    """
    engine: TableEngine = engine_of(renderer)
    engine.warnings.silent = True  # the notes are told here
    if isinstance(engine, ConfiguredEngine):
        files = [{os.path.realpath(path) for path in paths or ()} for paths in (settings.examples, settings.data)]
        notes = find_notes(engine.configuration, schema, None, same=files[0] == files[1])
        if not looks:
            try:
                checked_notes(notes)
            except promptpress.TemplateError as error:
                raise (in_options_of_template(error) if settings.template is not None else None) or error from None
        if settings.strict:
            notes = [note for note in notes if note.severity != "info"]
        source_of = str if settings.template is None else _option_of
        texts = [f"{source_of(note.place)}: {note.message}; {in_options(note.remedy)}" for note in notes]
    else:
        refused = refusal(engine.misspelt_columns(schema)) if settings.unknown == "refuse" and not looks else None
        if refused is not None:
            raise refused
        texts = engine.undefined_names(schema)
    errors = [*held, *texts] if settings.strict else []
    for text in errors[1:] if settings.strict else texts:
        # The command prints each warning in one line, and --quiet hides it.
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
    if errors:
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise ConfigError(f"{errors[0]} (--strict{more})")


@dataclass(frozen=True)
class Job:
    """A dataset and a model, with a label that names both."""

    label: str
    dataset: Selection
    model: Mapping[str, Any] | None


def jobs(settings: Settings, read: Callable[[str], Config] = read_config, *, backend: bool = False) -> list[Job]:
    """Return the jobs of the command line: each chosen dataset with each chosen model.

    With `backend`, a configuration without models has none, although all are chosen.
    """
    read = cache(with_template(settings, read))
    datasets = _all(settings.dataset, all_datasets, read, settings.config_name)
    models_path = settings.config_name if settings.model is None else settings.model
    models = _all(settings.model_abbr, all_models, read, models_path)
    out = []
    # None stands for the entry that the options choose.
    for dataset in datasets if datasets is not None else (None,):
        for model in models if models is not None else (None,):
            chosen, selection = settings, None
            if dataset is not None:
                chosen, selection = replace(chosen, dataset=None), Selection(dataset=dataset[1])
            if model is not None or (backend and models is None and settings.model_abbr == ALL):
                chosen = replace(chosen, model_abbr=None)
            parts = configuration(chosen, read, dataset=selection, model=None if model is None else model[1])
            label = " ".join(part[0] for part in (dataset, model) if part is not None)
            out.append(Job(label, *parts))
    return out


def _all(
    name: str | None,
    entries: Callable[[Config], list[tuple[str, Mapping[str, Any]]]],
    read: Callable[[str], Config],
    path: str | None,
) -> list[tuple[str, Mapping[str, Any]]] | None:
    """Return all entries of a file with their names; None if not all are chosen, or if the file has no list."""
    if name != ALL:
        return None
    listed = entries(read(str(path)))
    return None if not listed or any(label == ALL for label, _ in listed) else listed


def with_dataset_rows(settings: Settings, *, has_catalogue: bool = False) -> Settings:
    """Return settings with the rows of the dataset that CONFIG names, if the command line names no files.

    With `has_catalogue`, the command shows all datasets of a file on the same rows, so there has to be one only.
    """
    given = settings.given(("data", "examples", "template", "jinja"))
    if settings.config is None or given or settings.takes_all:
        return settings
    try:
        config = read_config(settings.config)
        if has_catalogue and len(all_datasets(config)) > 1:
            return settings
        selection = choose_dataset(config, settings.dataset)
    except ConfigError:
        return settings  # the command reads the configuration again, and says what is wrong
    if selection.dataset is None:
        return settings
    try:
        rows = DatasetRows.of(selection)
    except UnknownFilesError as error:
        raise UsageError(f"{settings.config}: a configuration needs samples; --data FILE names them: {error}") from None
    return replace(settings, data=[rows.path], rows=rows)
