"""The prompts that a command line means: of a configuration and samples, or rendered before."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pyarrow as pa

import promptpress
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.jinja_options import has_own_source
from promptpress._cli.jinja_sources import template_of
from promptpress._cli.notes import tell_notes
from promptpress._cli.second_side import prompt_options
from promptpress._file_errors import DataError, UsageError
from promptpress._inputs.samples import Samples
from promptpress._view.file_rows import FileRows
from promptpress._view.made_rows import MadeRows
from promptpress._view.prompt_source import PromptSource
from promptpress._view.rendered_source import ColumnNames, RenderedSource
from promptpress._view.renderer_source import RendererSource
from promptpress._view.sample_rows import SampleRows, TableRows

_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".py")
_STDIN = "-"


def is_rendered(path: str) -> bool:
    """Whether a file holds prompts: configurations have suffixes of their own.

    >>> is_rendered("prompts.parquet"), is_rendered("job.yaml")
    (True, False)

    """
    return Path(path).suffix.lower() not in _CONFIGS


def prompt_source(arguments: Namespace, rows: SampleRows | None = None) -> PromptSource:
    """Make the source that a command line means.

    Args:
        arguments: With the options of `show`; `config` is a configuration or a rendered file.
        rows: The samples, where they are open already.

    Returns:
        The source.

    Raises:
        FileError: When a file can't be read, or the options don't fit it.
        promptpress.TemplateError: When the configuration is wrong.

    """
    if arguments.config is not None and is_rendered(arguments.config):
        return _rendered(arguments)
    refuse_prompts(arguments)
    template = template_of(arguments)
    if template is not None:
        rows = sample_rows(arguments.data, arguments.data_format) if rows is None else rows
        return RenderedSource(MadeRows(template, rows))
    renderer = make_renderer(arguments)
    rows = sample_rows(arguments.data, arguments.data_format) if rows is None else rows
    if renderer._configuration.chat is not None:
        samples = pa.RecordBatchReader.from_batches(rows.schema, rows.batches())
        return RenderedSource(TableRows(renderer.stream(samples).read_all()))
    tell_notes(renderer, rows.schema, arguments)
    return RendererSource(renderer, rows)


def refuse_prompts(arguments: Namespace) -> None:
    """Refuse options of rendered files where there is a configuration, and a configuration without samples.

    Args:
        arguments: With the configuration.

    Raises:
        UsageError: Naming the option.

    """
    if not arguments.data:
        given = [
            f"--{name}" for name in ("template", "jinja", "chat-template") if getattr(arguments, _dest(name), None)
        ]
        if arguments.config is None and not given:
            raise UsageError("neither CONFIG nor --template; one of them says what a prompt is")
        what = arguments.config or given[0]
        raise UsageError(f"{what}: a configuration needs samples; --data FILE names them")
    if arguments.prompt_column is not None:
        what = "a template" if has_own_source(arguments) else "a configuration"
        raise UsageError(f"--prompt-column: names the prompts of a rendered file, and there is {what}")


def _dest(name: str) -> str:
    return name.replace("-", "_")


def refuse_rendering(arguments: Namespace) -> None:
    """Refuse options that say how to render, where prompts are rendered already.

    Args:
        arguments: With the file of prompts as `config`.

    Raises:
        UsageError: Naming the option.

    """
    given = ["--data"] if arguments.data else []
    given += [action.option_strings[-1] for action in prompt_options() if getattr(arguments, action.dest, None)]
    if given:
        raise UsageError(f"{arguments.config}: holds prompts, so {given[0]} has nothing to add")


def sample_rows(paths: list[str], data_format: str | None = None) -> SampleRows:
    """Open files of samples.

    Args:
        paths: The files; standard input is kept in memory, for it is read once.
        data_format: Their format; by the suffix when None.

    Returns:
        Their rows.

    Raises:
        FileError: When one can't be read.

    """
    if _STDIN in paths:
        return TableRows(Samples(paths, data_format).table())
    return FileRows(paths, data_format)


def _rendered(arguments: Namespace) -> PromptSource:
    path = arguments.config
    refuse_rendering(arguments)
    rows = sample_rows([path], arguments.data_format)
    names = ColumnNames() if arguments.prompt_column is None else ColumnNames(prompt=arguments.prompt_column)
    try:
        return RenderedSource(rows, names)
    except promptpress.RenderError as error:
        hint = "" if arguments.prompt_column else "; --prompt-column names it; samples come with --data"
        raise DataError(f"{path}: {error}{hint}") from error
