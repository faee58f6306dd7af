"""`promptpress view`: serves a local page of all prompts, or writes some of them into an HTML file."""

from __future__ import annotations

import contextlib
import importlib.util
import warnings
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import promptpress
from promptpress.engine import engine_of
from promptpress.engine.errors import FileError, UsageError, counted
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress.engine.templates import TemplateEngine
from promptpress_harness.configs.config_file import Config, read_config

from promptpress_workbench.cli.shell.errors import say
from promptpress_workbench.cli.shell.options import configuration_options, first_given
from promptpress_workbench.cli.sources.configured_renderer import make_renderer, open_samples
from promptpress_workbench.cli.sources.jinja_sources import template_of
from promptpress_workbench.cli.sources.notes import report_notes
from promptpress_workbench.cli.sources.prompt_sources import is_rendered, prompt_column_of, refuse_prompts
from promptpress_workbench.cli.sources.template_option import TEMPLATE, with_template
from promptpress_workbench.viewer.prompt_html import write_html
from promptpress_workbench.viewer.sources import Catalogue, Choice, ConfigEntry, SampleStore, Sources

_MAX_HEADING = 120
"""Characters of a template in the heading of the HTML file."""

_BATCH_ROWS = 2048
"""Samples in a batch: few, because the page shows the first batch early, and a sample may have a megabyte."""


def view(arguments: Namespace) -> None:
    """Serve the page until the process is interrupted, or write the HTML file."""
    if arguments.rows is not None and arguments.html is None:
        raise UsageError("--rows says what --html FILE writes; in the page, g goes to a row")
    if arguments.html is None and importlib.util.find_spec("nicegui") is None:
        raise UsageError(
            "promptpress view shows its page with NiceGUI, which isn't installed: pip install 'promptpress[view]'; "
            "--html FILE needs none"
        )
    _settle_operands(arguments)
    catalogue, choice = _catalogue(arguments)
    renderer = None if catalogue is None else catalogue.renderer(choice)
    samples = open_samples(arguments, arguments.data, renderer, _BATCH_ROWS)
    if renderer is not None:
        report_notes(renderer, samples.schema, arguments)
    column = PROMPT_COLUMN
    if catalogue is None:
        file = Namespace(config=arguments.data[0], prompt_column=arguments.prompt_column)
        column = prompt_column_of(file, samples.schema)
    warnings.simplefilter("ignore", promptpress.PromptWarning)  # other choices are made later, in threads
    store = SampleStore(samples)
    sources = Sources(store, catalogue, column)
    try:
        if arguments.html is not None:
            heading = _heading(arguments, choice)
            rows = write_html(arguments.html, arguments.rows, store, sources, choice, title=heading)
            if not arguments.quiet:
                say(f"{counted(rows, 'row')} in {arguments.html}")
        else:
            _serve(arguments, store, sources, catalogue, choice)
    finally:
        store.close()


def _settle_operands(arguments: Namespace) -> None:
    """Make a file of prompts that is given in place of CONFIG the data, and refuse operands that don't go together."""
    configs = arguments.config
    rendered = [path for path in configs if is_rendered(path)]
    if rendered and arguments.data:
        raise UsageError(f"{rendered[0]}: holds prompts, so --data has nothing to add")
    if rendered and len(configs) > 1:
        raise UsageError(f"{rendered[0]}: holds prompts, and is viewed alone; promptpress diff compares two such files")
    if rendered:
        arguments.config, arguments.data = [], rendered
    elif configs or any(getattr(arguments, name) is not None for name in ("template", "jinja", "chat_template")):
        refuse_prompts(Namespace(**{**vars(arguments), "config": next(iter(configs), None)}))
    elif not arguments.data:
        raise UsageError("neither CONFIG nor --data; CONFIG says what a prompt is, or is a file of prompts")


def _heading(arguments: Namespace, choice: Choice) -> str:
    """Return the heading of the HTML file: the template or its file, and the files of samples."""
    template = arguments.template if choice.prompts == TEMPLATE else choice.prompts
    if arguments.jinja is not None and choice.prompts == "--jinja":
        template = arguments.jinja
    words = " ".join((template or "").split())
    short = words if len(words) <= _MAX_HEADING else words[: _MAX_HEADING - 1] + "…"
    return " · ".join(filter(None, [short, _file_names(arguments)]))


def _file_names(arguments: Namespace) -> str:
    return ", ".join(Path(path).name for path in arguments.data)


def _serve(
    arguments: Namespace, store: SampleStore, sources: Sources, catalogue: Catalogue | None, choice: Choice
) -> None:
    from promptpress_workbench.viewer.page.server import serve  # noqa: PLC0415 - needs NiceGUI, which --html doesn't
    from promptpress_workbench.viewer.page.whole_page import PageSetup, add_page  # noqa: PLC0415

    title = _file_names(arguments)
    other, has_two_models = _compared(arguments, catalogue, choice)
    add_page(PageSetup(title, store, sources, catalogue, choice, other, starts_comparing=has_two_models))

    def announce(address: str) -> None:
        say(f"{address}  (Ctrl-C ends it)")

    with contextlib.suppress(KeyboardInterrupt):  # the usual end of the command
        serve(f"{title} - promptpress", arguments.port, announce, open_browser=not arguments.no_open)


def _compared(arguments: Namespace, catalogue: Catalogue | None, choice: Choice) -> tuple[Choice | None, bool]:
    """Return the choice that the first one is compared with, and whether both are of two models of `--model`."""
    if catalogue is None:
        return None, False
    files = set(arguments.model or ())
    models = [name for name, entry in catalogue.models.items() if entry.path in files]
    has_two_models = len(files) == 2 or (len(models) == 2 and arguments.model_abbr is None)
    if has_two_models and (other := catalogue.other_model(choice)) is not None:
        return other, True
    return catalogue.other_prompts(choice), False


def _catalogue(arguments: Namespace) -> tuple[Catalogue | None, Choice]:
    """Return the catalogue of configurations and the first choice; without CONFIG there is no catalogue."""
    configs = arguments.config
    read: Callable[[str], Config] = read_config
    if arguments.template is not None:
        if configs:
            raise UsageError(f"--template with {configs[0]}: one of them says what a prompt is")
        first_model = (arguments.model or [None])[0]
        read = with_template(Namespace(**{**vars(arguments), "config": None, "model": first_model}), read_config)
        configs = [TEMPLATE]
    template = template_of(arguments)
    if template is not None:
        engine: TemplateEngine = engine_of(template)  # type: ignore[assignment]  # no overload takes a union
        is_text = engine.source == arguments.jinja
        name = "--jinja" if is_text else Path(arguments.jinja or arguments.chat_template or configs[0]).name
        return Catalogue([], [], template=(name, template)), Choice(name)
    if not configs:
        option = first_given(arguments, configuration_options("template"))
        if option is not None:
            raise UsageError(f"{option}: without CONFIG, --data holds rendered prompts, which are shown as they are")
        return None, Choice("")

    def make(choice: Choice, prompts: ConfigEntry, model: ConfigEntry | None) -> promptpress.Renderer:
        options = vars(arguments) | {"config": prompts.path, "dataset": prompts.entry}
        options |= {"model": None, "model_abbr": None}
        if model is not None:
            options["model_abbr"] = model.entry
            options["model"] = model.path if model.path != prompts.path else None
        options |= {name: getattr(choice, name) for name in ("mode", "output", "substitution")}
        return make_renderer(Namespace(**options))

    catalogue = Catalogue(configs, arguments.model or [], make, read)
    prompts = _chosen(catalogue.prompts, arguments.dataset, "--dataset") or next(iter(catalogue.prompts))
    model = _chosen(catalogue.models, arguments.model_abbr, "--model-abbr")
    if model is None and arguments.model:
        model = next(name for name, source in catalogue.models.items() if source.path == arguments.model[0])
    choice = Choice(prompts, model, arguments.mode, arguments.output, arguments.substitution)
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
