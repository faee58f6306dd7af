"""Sources of prompts for commands that show or compare them: samples with a configuration, or rendered files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import engine_of
from promptpress.engine.configs import STDIN
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.engine.tables import PROMPT_COLUMN, column_of_prompts

from promptpress_workbench.cli.configurations import MISSING_CONFIG, make_renderer, report_notes
from promptpress_workbench.cli.jinja_sources import OF_CONFIGURATIONS, has_jinja_source, template_of
from promptpress_workbench.cli.options import JINJA_OPTIONS, PROMPT_OPTIONS, TEMPLATE_OPTIONS, first_given
from promptpress_workbench.cli.run_counts import AnyRenderer
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.files.read.formats import DataFormat, HarnessTypes, RowChoice
from promptpress_workbench.files.read.samples import ChosenRows, Samples
from promptpress_workbench.prompts.file_rows import ChosenSampleRows, ChosenSource, FileRows
from promptpress_workbench.prompts.prompt_source import PromptSource, SampleRows, TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of

_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".py")


def is_rendered(path: str | None) -> bool:
    """Return true if CONFIG holds prompts, which every file without the suffix of a configuration does."""
    return path is not None and Path(path).suffix.lower() not in _CONFIGS


def prompt_source(settings: Settings, open_rows: Callable[[AnyRenderer], SampleRows] | None = None) -> PromptSource:
    """Make the source of a command line; `open_rows` opens its rows for a renderer, if `chosen_rows` doesn't."""
    if is_rendered(settings.config):
        return _rendered(settings)
    refuse_prompts(settings)
    renderer = template_of(settings) or make_renderer(settings)
    rows = chosen_rows(settings, renderer) if open_rows is None else open_rows(renderer)
    report_notes(renderer, rows.schema, settings)
    source = source_of(renderer, rows)
    return ChosenSource(source, rows.chosen) if isinstance(rows, ChosenSampleRows) else source


def chosen_rows(settings: Settings, renderer: AnyRenderer) -> SampleRows:
    """Open the rows of `--data` that `--where` chooses, for a renderer."""
    harness_types = engine_of(renderer).value_reading.harness_types
    rows = sample_rows(settings.data or [], settings.format, harness_types=harness_types)
    if settings.where is None:
        return rows
    return ChosenSampleRows(rows, ChosenRows(RowChoice(settings.where), None, rows.schema, rows.batches, None))


def second_side(settings: Settings, arguments: Namespace) -> Settings:
    """Return the settings of `promptpress diff` for B: the options of A, replaced by those that B has."""
    given = {name: getattr(arguments, f"{name}_b") for name in PROMPT_OPTIONS}
    of_b = {name: value for name, value in given.items() if value is not None}
    config = arguments.other or settings.config
    replaced: tuple[str, ...] = ()
    has_jinja = settings.jinja is not None or (settings.chat_template is not None and settings.config_name is None)
    if "jinja" in of_b:  # replaces A's configuration with all its options
        config = arguments.other
        replaced = (*OF_CONFIGURATIONS, "chat_template")
    elif has_jinja and (arguments.other is not None or "template" in of_b):  # replaces A's Jinja template
        replaced = JINJA_OPTIONS
    if "template" in of_b:  # replaces A's configuration
        config = arguments.other
    elif arguments.other is not None:  # replaces A's template
        replaced += TEMPLATE_OPTIONS
    return replace(settings, **{"config": config, **dict.fromkeys(replaced), **of_b})


def refuse_prompts(settings: Settings) -> None:
    """Refuse a configuration without samples, and options that are for rendered files only."""
    if not settings.data:
        template = first_given(settings, ("template", "jinja", "chat_template"))
        if settings.config is None and template is None:
            raise UsageError(MISSING_CONFIG)
        raise UsageError(f"{settings.config or template}: a configuration needs samples; --data FILE names them")
    if settings.prompt_column is not None:
        what = "a template" if has_jinja_source(settings) else "a configuration"
        raise UsageError(f"--prompt-column: names the prompts of a rendered file, and there is {what}")


def refuse_rendering(settings: Settings) -> None:
    """Refuse options that decide how prompts are rendered if the file already holds prompts."""
    # A tokenizer may count the tokens of prompts that are there already.
    option = first_given(settings, [name for name in PROMPT_OPTIONS if name != "tokenizer"])
    option = "--data" if settings.data else option
    if option is not None:
        raise UsageError(f"{settings.config}: holds prompts, so {option} has nothing to add")


def prompt_column_of(settings: Settings, schema: pa.Schema) -> str:
    """Return the column of prompts of a rendered file; if it lacks that, the error depends on `--prompt-column`."""
    name = settings.prompt_column or PROMPT_COLUMN
    try:
        column_of_prompts(schema, name)
    except promptpress.RenderError as error:
        if error.code != "missing_column":
            raise DataError(f"{settings.config}: {error}") from error
        has = ", ".join(map(repr, schema.names))
        if settings.prompt_column is None:
            hint = "--prompt-column says which has the prompts; samples come with --data"
            raise DataError(f"{settings.config}: has no column {name!r}; it has {has}; {hint}") from None
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


def _rendered(settings: Settings) -> PromptSource:
    path = str(settings.config)
    refuse_rendering(settings)
    if settings.where is not None:
        raise UsageError(f"--where: chooses samples of --data, and {path} holds prompts; stats takes it for these, too")
    rows = sample_rows([path], settings.format)
    name = prompt_column_of(settings, rows.schema)
    try:
        return RenderedSource(rows, name)
    except promptpress.RenderError as error:
        raise DataError(f"{path}: {error}") from error
