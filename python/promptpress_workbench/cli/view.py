"""`promptpress view`: serves a local page of all prompts, or writes some of them into an HTML file."""

from __future__ import annotations

import contextlib
import importlib.util
import warnings
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import promptpress
from promptpress.engine import PromptColumn, TableRenderer, engine_of
from promptpress.engine.errors import FileError, UsageError, counted
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress_harness.configs.config_file import Config, read_config

from promptpress_workbench.cli.configurations import make_renderer, open_samples, report_notes, with_template
from promptpress_workbench.cli.jinja_sources import has_jinja_source, template_of
from promptpress_workbench.cli.lm_eval_tasks import is_task
from promptpress_workbench.cli.option_values import row_numbers
from promptpress_workbench.cli.prompt_sources import (
    NEEDS_TOKENIZER,
    holds_prompts,
    is_rendered,
    open_source,
    prepared_ids,
    prompt_files,
    refuse_prompts,
    refuse_rendering,
    without_answer,
)
from promptpress_workbench.cli.settings import TEMPLATE, Settings
from promptpress_workbench.cli.terminal import say
from promptpress_workbench.cli.token_options import token_view, trained_answer
from promptpress_workbench.files.read.samples import AnySamples
from promptpress_workbench.prompts.tokenized import TokenView
from promptpress_workbench.viewer.prompt_html import write_html
from promptpress_workbench.viewer.sources import Catalogue, Choice, ConfigEntry, SampleStore, Sources

_MAX_HEADING = 120  # characters of a template in the heading of the HTML file

_BATCH_ROWS = 2048
"""Samples in a batch: few, because the page shows the first batch early, and a sample may have a megabyte."""


def view(settings: Settings, arguments: Namespace) -> None:
    """Serve the page until the process is interrupted, or write the HTML file."""
    if arguments.row is not None and arguments.html is None:
        raise UsageError("--row says what --html FILE writes; in the page, g goes to a row")
    if arguments.html is None and importlib.util.find_spec("nicegui") is None:
        raise UsageError(
            "promptpress view shows its page with NiceGUI, which isn't installed: pip install 'promptpress[view]'; "
            "--html FILE needs none"
        )
    settings, configs = _operands(settings, arguments.config)
    models, paths = arguments.model or [], prompt_files(settings) if holds_prompts(settings) else settings.data or []
    tokens, answer = token_view(settings, arguments), trained_answer(settings, arguments)
    settings = without_answer(settings, answer)
    catalogue, choice, column = None, Choice(""), PROMPT_COLUMN
    renderer: TableRenderer[Any] | None = None
    prepared = _prepared(settings, tokens) if len(configs) < 2 and holds_prompts(settings) else None
    if prepared is not None:
        samples = prepared[0]
    elif len(configs) < 2 and (holds_prompts(settings) or is_task(settings.config)):
        renderer, samples = open_source(settings, _BATCH_ROWS)
        if isinstance(renderer, PromptColumn):
            (column,) = engine_of(renderer).required_columns
        else:
            choice = Choice(Path(settings.chat_template or "").name)
            catalogue = Catalogue([], [], template=(choice.prompts, renderer))
    else:
        catalogue, choice = _catalogue(settings, configs, models)
        renderer = catalogue.renderer(choice)
        samples = open_samples(settings, paths, renderer, _BATCH_ROWS)
    if renderer is not None:
        report_notes(renderer, samples.schema, settings, looks=True)
    warnings.simplefilter("ignore", promptpress.PromptWarning)  # other choices are made later, in threads
    store = SampleStore(samples)
    more: dict[str, Any] = {"ids_column": prepared and prepared[1], "shows_ids": arguments.ids, "answer": answer}
    sources = Sources(store, catalogue, column, tokens, **more)
    title = ", ".join(Path(path).name for path in paths)
    try:
        if arguments.html is not None:
            heading = " · ".join(filter(None, [_heading(settings, choice), title]))
            rows = write_html(arguments.html, arguments.row, store, sources, choice, title=heading)
            if not settings.quiet:
                say(f"{counted(rows, 'row')} in {arguments.html}")
            return
        from promptpress_workbench.viewer.page.server import serve  # noqa: PLC0415 - needs NiceGUI, as --html doesn't
        from promptpress_workbench.viewer.page.whole_page import PageSetup, add_page  # noqa: PLC0415

        other, has_two_models = _compared(settings, models, catalogue, choice)
        add_page(
            PageSetup(title, store, sources, catalogue, choice, row_numbers, other, starts_comparing=has_two_models)
        )

        def announce(address: str) -> None:
            say(f"{address}  (Ctrl-C ends it)")

        with contextlib.suppress(KeyboardInterrupt):  # the usual end of the command
            serve(f"{title} - promptpress", arguments.port, announce, open_browser=not arguments.no_open)
    finally:
        store.close()


def _prepared(settings: Settings, tokens: TokenView | None) -> tuple[AnySamples, str] | None:
    """Return the samples of a prepared data set and its column of token ids; None if the file holds prompts."""
    samples = open_samples(settings, prompt_files(settings), None, _BATCH_ROWS)
    ids = prepared_ids(settings, samples.schema)
    if ids is None:
        samples.close()
        return None
    refuse_rendering(settings)
    if tokens is None:
        raise UsageError(f"{prompt_files(settings)[0]}: {NEEDS_TOKENIZER}")
    return samples, ids


def _operands(settings: Settings, configs: list[str]) -> tuple[Settings, list[str]]:
    """Make a file of prompts that is given in place of CONFIG the data, and refuse operands that don't go together."""
    rendered = [path for path in configs if is_rendered(path)]
    if rendered and settings.data:
        raise UsageError(f"{rendered[0]}: holds prompts, so --data has nothing to add")
    if rendered and len(configs) > 1:
        raise UsageError(f"{rendered[0]}: holds prompts, and is viewed alone; promptpress diff compares two such files")
    if rendered:
        return replace(settings, config=rendered[0]), []
    if configs or settings.given(("template", "jinja", "chat_template")):
        refuse_prompts(settings)
    elif not settings.data:
        raise UsageError("neither CONFIG nor --data; CONFIG says what a prompt is, or is a file of prompts")
    return settings, configs


def _heading(settings: Settings, choice: Choice) -> str:
    """Return the template or its file, for the heading of the HTML file."""
    template = settings.template if choice.prompts == TEMPLATE else choice.prompts
    if settings.jinja is not None and choice.prompts == "--jinja":
        template = settings.jinja
    words = " ".join((template or "").split())
    return words if len(words) <= _MAX_HEADING else words[: _MAX_HEADING - 1] + "…"


def _compared(
    settings: Settings, paths: list[str], catalogue: Catalogue | None, choice: Choice
) -> tuple[Choice | None, bool]:
    """Return the choice that the first one is compared with, and whether both are of two models of `--model`."""
    if catalogue is None:
        return None, False
    files = set(paths)
    models = [name for name, entry in catalogue.models.items() if entry.path in files]
    has_two_models = len(files) == 2 or (len(models) == 2 and settings.model_abbr is None)
    if has_two_models and (other := catalogue.other_model(choice)) is not None:
        return other, True
    return catalogue.other_prompts(choice), False


def _catalogue(settings: Settings, configs: list[str], models: list[str]) -> tuple[Catalogue, Choice]:
    """Return the catalogue of configurations, and the first choice."""
    read: Callable[[str], Config] = read_config
    if settings.template is not None:
        read = with_template(settings, read_config)
    if len(configs) > 1:
        has_jinja_source(settings)  # raises an error if options don't go together
    template = template_of(settings) if len(configs) < 2 else None
    if template is not None:
        is_text = settings.jinja is not None and not Path(settings.jinja).exists()
        name = "--jinja" if is_text else Path(settings.jinja or settings.chat_template or configs[0]).name
        return Catalogue([], [], template=(name, template)), Choice(name)
    if settings.template is not None:
        configs = [TEMPLATE]

    def make(choice: Choice, prompts: ConfigEntry, model: ConfigEntry | None) -> promptpress.Renderer:
        has_own_file = model is not None and model.path != prompts.path
        options = replace(
            settings,
            config=None if prompts.path == TEMPLATE else prompts.path,
            dataset=prompts.entry,
            model=model.path if model is not None and has_own_file else None,
            model_abbr=None if model is None else model.entry,
            **{name: getattr(choice, name) for name in ("mode", "output", "substitution")},
        )
        return make_renderer(options)

    catalogue = Catalogue(configs, models, make, read)
    prompts = _chosen(catalogue.prompts, settings.dataset, "--dataset") or next(iter(catalogue.prompts))
    model = _chosen(catalogue.models, settings.model_abbr, "--model-abbr")
    if model is None and models:
        model = next(name for name, source in catalogue.models.items() if source.path == models[0])
    choice = Choice(prompts, model, settings.mode, settings.output, settings.substitution)
    if model is None and catalogue.models:
        try:
            catalogue.renderer(choice)
        except FileError:  # the configuration has several models, and names none
            choice = choice.changed(model=next(iter(catalogue.models)))
    return catalogue, choice


def _chosen(names: dict[str, ConfigEntry], entry: str | None, option: str) -> str | None:
    if entry is None:
        return None
    for name, source in names.items():
        if entry in (name, source.entry):
            return name
    raise UsageError(f"{option} {entry}: no such entry; there are {', '.join(map(repr, names)) or 'none'}")
