"""Sources of prompts for commands that show or compare them: samples with a configuration, or rendered files."""

from __future__ import annotations

import re
import warnings
from argparse import Namespace
from collections.abc import Callable, Container, Iterable
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import PromptColumn, RenderOptions, engine_of
from promptpress.engine.configs import STDIN
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.engine.tables import PAIR, PROMPT_COLUMN, column_of_prompts, is_json, is_text

from promptpress_workbench.cli.configurations import (
    MISSING_CONFIG,
    make_renderer,
    open_samples,
    report_notes,
    token_counter,
)
from promptpress_workbench.cli.jinja_sources import OF_CONFIGURATIONS, chat_template, staged, template_of
from promptpress_workbench.cli.lm_eval_tasks import is_task, task_prompts
from promptpress_workbench.cli.options import JINJA_OPTIONS, PROMPT_OPTIONS, TEMPLATE_OPTIONS, first_given
from promptpress_workbench.cli.run_counts import AnyRenderer
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.files.read.formats import DataFormat, HarnessTypes, RowChoice
from promptpress_workbench.files.read.samples import AnySamples, ChosenRows, Samples, TableSamples
from promptpress_workbench.prompts.file_rows import ChosenSampleRows, ChosenSource, FileRows
from promptpress_workbench.prompts.prepared_source import IDS, PreparedSource, columns_of_ids, prepared_column
from promptpress_workbench.prompts.prompt import as_request
from promptpress_workbench.prompts.prompt_source import SampleRows, TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of
from promptpress_workbench.prompts.tokenized import ShownSource

if TYPE_CHECKING:
    from promptpress.engine.templates import StagedRenderer

# The reasons why some sources don't go into some outputs, as docs/sources.md lists them.
NO_FINGERPRINT = "a fingerprint is of a configuration or a template, and not of prompts or of a task of lm-eval"
TAKES_MESSAGES = (
    "takes messages, to which the server or the trainer applies the chat template itself: leave --chat-template out; "
    "export openai-batch --url /v1/completions and the exports of token ids take its texts"
)
TAKES_TEXTS = "takes texts, and the prompts are messages: --chat-template, or --output text, makes a text of them"
NO_AUDIT = (
    "an audit is of a configuration or a template: prompts that are there already don't say how they were made; "
    "--chat-template FOLDER audits the chats that it makes of them"
)

NEEDS_TOKENIZER = "holds token ids; --tokenizer FILE|NAME names the tokenizer that shows them as text"

PROMPT_COLUMNS = (PROMPT_COLUMN, "messages", "conversations")
"""The columns that hold prompts unless `--column` names another; the first one that there is."""

CHAT_OPTIONS = (
    *("add_generation_prompt", "chat_argument", "argument_column", "environment", "fallback", "now"),
    *("roles", "system_merge", "decode_arguments", "refuse_left_out"),
)
"""Options of the chat template after prompts that are there already."""

_FIRST_PROMPTS = 1000
"""Prompts that are looked at, because the first one may be bad."""

_OF_PROMPTS = ("tokenizer", "unknown", "column", "chat_template", "strings", *CHAT_OPTIONS)
"""Options for prompts that are there already."""

_TEXTS = (".txt", ".md", ".jinja", ".jinja2", ".j2")
"""Suffixes of templates, which no file of prompts has."""

_MARK = "\ue000"
_TOKENS = re.compile(r"(?:<[^<>\s]+>|\[[A-Z_]+\])+")
_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".py")


def is_rendered(path: str | None) -> bool:
    """Return true if CONFIG holds prompts, which every file without the suffix of a configuration does."""
    return path is not None and Path(path).suffix.lower() not in _CONFIGS


def open_source(
    settings: Settings, batch_size: int | None = None, allowed: Container[str] = (), *, repeated: bool = False
) -> tuple[AnyRenderer, AnySamples]:
    """Return what gives the prompts of a command line, and its samples.

    `batch_size` takes the place of the option's. `allowed` are options of configurations that templates may have too.
    `repeated` is that of `task_prompts`.
    """
    if is_task(settings.config):
        table = task_prompts(settings, repeated=repeated)
        return PromptColumn(PROMPT_COLUMN), TableSamples(table, batch_size or settings.batch_size)
    if not holds_prompts(settings):
        renderer = _checked_renderer(settings, allowed)
        samples = open_samples(settings, settings.data or (), renderer, batch_size)
        return _chat_of_data(settings, renderer, samples.schema, samples.reader), samples
    refuse_rendering(settings, allowed)
    samples = open_samples(settings, prompt_files(settings), None, batch_size)
    name = prompt_column_of(settings, samples.schema)
    return _of_column(settings, samples.schema, name, samples.reader), samples


def refuse_messages(what: str, renderer: AnyRenderer, samples: AnySamples) -> None:
    """Refuse messages where texts are taken."""
    engine = engine_of(renderer)
    fields = list(engine.output_schema(samples.schema, RenderOptions()))
    prompt = fields[len(fields) - 1 - len(engine.shot_fields)]
    is_message = not is_text(prompt.type) or engine.writes_json
    if isinstance(renderer, PromptColumn) and not is_message:
        is_message = renderer.is_json(samples.schema) or holds_messages(prompt.name, samples.reader)
    if is_message:
        raise UsageError(f"{what} {TAKES_TEXTS}")


def holds_messages(column: str, read: Callable[[], Iterable[pa.RecordBatch]]) -> bool:
    """Return true if most of the first prompts of a column of texts are JSON of messages, as all then have to be."""
    chunks = (batch.column(batch.schema.get_field_index(column)) for batch in read())
    first = islice((text.as_py() for chunk in chunks for text in chunk if text.is_valid), _FIRST_PROMPTS)
    are_messages = [isinstance(as_request(text, is_json=None), list) for text in first]
    return 2 * sum(are_messages) > len(are_messages)


def prompt_source(
    settings: Settings, open_rows: Callable[[AnyRenderer], SampleRows] | None = None, answer: str | None = None
) -> ShownSource:
    """Make the source of a command line; `open_rows` opens its rows for a renderer, if `chosen_rows` doesn't.

    `answer` is the column of the assistant's last messages, if prompts shall have them.
    """
    settings = without_answer(settings, answer)
    if is_task(settings.config):
        return RenderedSource(TableRows(task_prompts(settings)), PROMPT_COLUMN)
    if holds_prompts(settings):
        return _of_file(settings)
    renderer = _checked_renderer(settings)
    rows = chosen_rows(settings, renderer) if open_rows is None else open_rows(renderer)
    renderer = _chat_of_data(settings, renderer, rows.schema, rows.batches)
    report_notes(renderer, rows.schema, settings, looks=True)
    source = source_of(renderer, rows, answer)
    return ChosenSource(source, rows.chosen) if isinstance(rows, ChosenSampleRows) else source


def without_answer(settings: Settings, answer: str | None) -> Settings:
    """Return settings without `--answer` if it names what is trained, and no template has a use for it."""
    return replace(settings, answer=None) if answer is not None and settings.template is None else settings


def holds_prompts(settings: Settings) -> bool:
    """Return true if the prompts are there already: in CONFIG, or in `--data` where nothing says what a prompt is."""
    if settings.config is not None:
        return is_rendered(settings.config)
    return bool(settings.data) and not settings.given(("template", "jinja", "chat_template"))


def _chat_of_data(
    settings: Settings, renderer: AnyRenderer, schema: pa.Schema, read: Callable[[], Iterable[pa.RecordBatch]]
) -> AnyRenderer:
    """Return a chat template over the column of `--data` that holds prompts, if none is named; or the same renderer."""
    is_named = settings.given(("config", "template", "jinja", "column"))
    if settings.chat_template is None or is_named or "messages" in schema.names:
        return renderer
    if settings.mask is not None and set(PAIR) <= set(schema.names):
        return renderer  # what is trained is the completions
    name = next((name for name in reversed(PROMPT_COLUMNS) if name in schema.names), None)
    return renderer if name is None else _of_column(settings, schema, name, read)


def prompt_files(settings: Settings) -> list[str]:
    """Return the files of prompts that are there already."""
    return [settings.config] if settings.config is not None else settings.data or []


def _checked_renderer(settings: Settings, allowed: Container[str] = ()) -> AnyRenderer:
    refuse_prompts(settings)
    return template_of(settings, allowed) or make_renderer(settings)


def _of_column(
    settings: Settings, schema: pa.Schema, name: str, read: Callable[[], Iterable[pa.RecordBatch]]
) -> AnyRenderer:
    """Return what gives the prompts of a column that `read` reads: as they are, or by a chat template."""
    prompts = PromptColumn(name)
    if settings.chat_template is None:
        return prompts
    field = schema.field(name)
    if name == "conversations" or not is_text(field.type) or is_json(field) or holds_messages(name, read):
        return chat_template(replace(settings, column=name))
    renderer = staged(prompts, settings)
    if (header := _header(renderer)) and _first_text(name, read).startswith(header):
        text = f"the prompts begin with {header!r}, as chats do already; --chat-template makes chats of them once more"
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
    return renderer


def _header(renderer: StagedRenderer) -> str:
    """Return the control tokens with which a chat begins; an empty text if there are none."""
    try:
        (chat,) = engine_of(renderer).chat.of_users([_MARK])
    except promptpress.RenderError:
        return ""
    tokens = _TOKENS.match(chat.partition(_MARK)[0])
    return "" if tokens is None else tokens[0]


def _first_text(column: str, read: Callable[[], Iterable[pa.RecordBatch]]) -> str:
    columns = (batch.column(batch.schema.get_field_index(column)).drop_null() for batch in read())
    return next((str(texts[0].as_py()) for texts in columns if len(texts)), "")


def _of_file(settings: Settings) -> ShownSource:
    """Make the source of prompts that are there already, maybe with a chat template after them."""
    refuse_rendering(settings)
    path = prompt_files(settings)[0]
    if settings.where is not None:
        raise UsageError(f"--where: chooses samples of --data, and {path} holds prompts; stats takes it for these, too")
    rows = sample_rows(prompt_files(settings), settings.format)
    if (ids := prepared_ids(settings, rows.schema)) is not None:
        if settings.tokenizer is None:
            raise UsageError(f"{path}: {NEEDS_TOKENIZER}")
        return PreparedSource(rows, token_counter(settings.tokenizer), ids)
    name = prompt_column_of(settings, rows.schema)
    try:
        if settings.chat_template is None:
            return RenderedSource(rows, name)
        return source_of(_of_column(settings, rows.schema, name, rows.batches), rows)
    except promptpress.RenderError as error:
        raise DataError(f"{path}: {error}") from error


def prepared_ids(settings: Settings, schema: pa.Schema) -> str | None:
    """Return the column of token ids if the file is a prepared data set, and no prompts in it are asked for."""
    if settings.chat_template is not None:
        return None
    has_prompts = settings.tokenizer is None and any(name in schema.names for name in PROMPT_COLUMNS)
    return None if has_prompts and settings.column is None else prepared_column(schema, settings.column)


def chosen_rows(settings: Settings, renderer: AnyRenderer) -> SampleRows:
    """Open the rows of `--data` that `--where` chooses, for a renderer."""
    harness_types = engine_of(renderer).value_reading.harness_types
    rows: SampleRows
    if settings.rows is not None:
        rows = TableRows(settings.rows.samples_for(renderer))
    else:
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
    if settings.column is not None and settings.chat_template is None:
        what = "a configuration" if settings.jinja is None else "a template"
        raise UsageError(f"--column: names the prompts of a rendered file, or conversations, and there is {what}")


def refuse_rendering(settings: Settings, allowed: Container[str] = ()) -> None:
    """Refuse options that decide how prompts are rendered if the file already holds prompts, but the `allowed` ones."""
    # A tokenizer may count the tokens of prompts that are there already, and a chat template may stand after them.
    names = [name for name in PROMPT_OPTIONS if name not in _OF_PROMPTS and name not in allowed]
    option = first_given(settings, names if settings.chat_template is not None else [*names, *CHAT_OPTIONS])
    option = "--data" if settings.data and settings.config is not None else option
    path = prompt_files(settings)[0]
    if option == "--data" and Path(path).suffix.lower() in _TEXTS:
        raise UsageError(f"{path}: a template in a file is --template @{path}, and one of Jinja --jinja {path}")
    if option == "--data":
        kinds = ", ".join(_CONFIGS[:-1])
        raise UsageError(
            f"{path}: a configuration is a {kinds} or {_CONFIGS[-1]} file; samples come with --data, and a file of "
            "prompts without"
        )
    if option is not None:
        remedy = "--data FILE --template '{prompt}' makes others of them"
        raise UsageError(f"{path}: holds prompts, so {option} has nothing to add; {remedy}")


def prompt_column_of(settings: Settings, schema: pa.Schema) -> str:
    """Return the column of prompts of a rendered file; if it lacks that, the error depends on `--column`."""
    named = (name for name in PROMPT_COLUMNS if name in schema.names)
    name = settings.column or next(named, PROMPT_COLUMN)
    path = prompt_files(settings)[0]
    try:
        column_of_prompts(schema, name)
    except promptpress.RenderError as error:
        if error.code != "missing_column":
            raise DataError(f"{path}: {error}") from error
        has = ", ".join(map(repr, schema.names))
        if settings.column is None and settings.config is None:
            raise UsageError(f"{MISSING_CONFIG}; or --column names the prompts that --data has already") from None
        if settings.column is None:
            hint = "--column says which has the prompts; samples come with --data"
            if ids := columns_of_ids(schema):
                hint = "it holds token ids, which show, view, stats and diff take"
                hint += "" if ids[0] == IDS else f" by --column {ids[0]} --tokenizer FILE"
            raise DataError(f"{path}: has no column {name!r}; it has {has}; {hint}") from None
        message = f"the file has no such column; it has {has}{did_you_mean(name, schema.names)}"
        raise UsageError(f"--column {name}: {message}") from None
    return name


def sample_rows(
    paths: list[str], data_format: DataFormat | str | None = None, *, harness_types: HarnessTypes | None = None
) -> SampleRows:
    """Open files of samples for access by row; standard input is read into memory."""
    if STDIN in paths:
        with closing(Samples(paths, data_format, harness_types=harness_types)) as samples:
            return TableRows(samples.table())
    return FileRows(paths, data_format, harness_types=harness_types)
