"""Sources of prompts for commands that show or compare them: samples with a configuration, or rendered files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import engine_of
from promptpress.engine.configs import STDIN
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.engine.tables import PROMPT_COLUMN, column_of_prompts

from promptpress_workbench.cli.shell.options import format_of, option_name
from promptpress_workbench.cli.sources.configured_renderer import make_renderer
from promptpress_workbench.cli.sources.jinja_options import has_jinja_source
from promptpress_workbench.cli.sources.jinja_runs import AnyRenderer
from promptpress_workbench.cli.sources.jinja_sources import template_of
from promptpress_workbench.cli.sources.notes import report_notes
from promptpress_workbench.cli.sources.second_side import prompt_options
from promptpress_workbench.cli.sources.template_option import MISSING_CONFIG
from promptpress_workbench.files.read.chosen_rows import ChosenRows, RowChoice
from promptpress_workbench.files.read.formats import DataFormat, HarnessTypes
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.prompts.file_rows import ChosenSampleRows, ChosenSource, FileRows
from promptpress_workbench.prompts.prompt_source import PromptSource, SampleRows, TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of

_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".py")


def is_rendered(path: str) -> bool:
    """Return true if a file holds prompts, which is every file without the suffix of a configuration."""
    return Path(path).suffix.lower() not in _CONFIGS


def prompt_source(arguments: Namespace, open_rows: Callable[[AnyRenderer], SampleRows] | None = None) -> PromptSource:
    """Make the source of a command line; `open_rows` opens its rows for a renderer, if `chosen_rows` doesn't."""
    if arguments.config is not None and is_rendered(arguments.config):
        return _rendered(arguments)
    refuse_prompts(arguments)
    renderer = template_of(arguments) or make_renderer(arguments)
    rows = chosen_rows(arguments, renderer) if open_rows is None else open_rows(renderer)
    report_notes(renderer, rows.schema, arguments)
    source = source_of(renderer, rows)
    return ChosenSource(source, rows.chosen) if isinstance(rows, ChosenSampleRows) else source


def chosen_rows(arguments: Namespace, renderer: AnyRenderer) -> SampleRows:
    """Open the rows of `--data` that `--where` chooses, for a renderer."""
    harness_types = engine_of(renderer).value_reading.harness_types
    rows = sample_rows(arguments.data, format_of(arguments), harness_types=harness_types)
    if arguments.where is None:
        return rows
    return ChosenSampleRows(rows, ChosenRows(RowChoice(arguments.where), None, rows.schema, rows.batches, None))


def refuse_prompts(arguments: Namespace) -> None:
    """Refuse a configuration without samples, and options that are for rendered files only."""
    if not arguments.data:
        templates = [name for name in ("template", "jinja", "chat_template") if getattr(arguments, name, None)]
        if arguments.config is None and not templates:
            raise UsageError(MISSING_CONFIG)
        what = arguments.config or option_name(templates[0])
        raise UsageError(f"{what}: a configuration needs samples; --data FILE names them")
    if arguments.prompt_column is not None:
        what = "a template" if has_jinja_source(arguments) else "a configuration"
        raise UsageError(f"--prompt-column: names the prompts of a rendered file, and there is {what}")


def refuse_rendering(arguments: Namespace) -> None:
    """Refuse options that decide how prompts are rendered if the file already holds prompts."""
    given = ["--data"] if arguments.data else []
    # A tokenizer may count the tokens of prompts that are there already.
    options = [action for action in prompt_options() if action.dest != "tokenizer"]
    given += [action.option_strings[-1] for action in options if getattr(arguments, action.dest, None) is not None]
    if given:
        raise UsageError(f"{arguments.config}: holds prompts, so {given[0]} has nothing to add")
    if getattr(arguments, "errors", None) is not None:
        raise UsageError(f"--errors: is about rows that can't be rendered, and {arguments.config} holds prompts")


def prompt_column_of(arguments: Namespace, schema: pa.Schema) -> str:
    """Return the column of prompts of a rendered file; if it lacks that, the error depends on `--prompt-column`."""
    name = str(arguments.prompt_column or PROMPT_COLUMN)
    try:
        column_of_prompts(schema, name)
    except promptpress.RenderError as error:
        if error.code != "missing_column":
            raise DataError(f"{arguments.config}: {error}") from error
        has = ", ".join(map(repr, schema.names))
        if arguments.prompt_column is None:
            hint = "--prompt-column says which has the prompts; samples come with --data"
            raise DataError(f"{arguments.config}: has no column {name!r}; it has {has}; {hint}") from None
        message = f"the file has no such column; it has {has}{did_you_mean(name, schema.names)}"
        raise UsageError(f"--prompt-column {name}: {message}") from None
    return name


def sample_rows(
    paths: list[str], data_format: DataFormat | str | None = None, *, harness_types: HarnessTypes | None = None
) -> SampleRows:
    """Open files of samples for access by row; standard input is read into memory."""
    if STDIN in paths:
        with closing(Samples(paths, data_format, harness_types=harness_types)) as samples:
            return TableRows(samples.table())
    return FileRows(paths, data_format, harness_types=harness_types)


def _rendered(arguments: Namespace) -> PromptSource:
    path = arguments.config
    refuse_rendering(arguments)
    if arguments.where is not None:
        raise UsageError(f"--where: chooses samples of --data, and {path} holds prompts; stats takes it for these, too")
    rows = sample_rows([path], format_of(arguments))
    name = prompt_column_of(arguments, rows.schema)
    try:
        return RenderedSource(rows, name)
    except promptpress.RenderError as error:
        raise DataError(f"{path}: {error}") from error
