"""`promptpress view`: the samples behind a local page, or chosen rows in a file."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import promptpress
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.notes import tell_notes
from promptpress._cli.template_option import TEMPLATE, with_template
from promptpress._cli.threads import set_threads
from promptpress._config_files.config_file import Config, read_config
from promptpress._file_errors import FileError, UsageError
from promptpress._inputs.samples import Samples
from promptpress._viewer.catalogue import Catalogue, Choice, Source
from promptpress._viewer.html_file import write_html
from promptpress._viewer.sample_store import SampleStore
from promptpress._viewer.sources import Sources

_OF_CONFIGURATIONS = (
    *("system", "shots", "output_column", "model", "dataset", "model_abbr", "output", "roles", "mode", "labels"),
    *("substitution", "dialect", "strings", "examples"),
)
"""Options that say what prompts are made of."""

_BATCH = 2048
"""Samples that are read at a time: few, for the first are shown when they are there, and each may be a megabyte."""


def view(arguments: Namespace) -> None:
    """Serve the page until the process is interrupted, or write the file.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when a file can't be read or written, or the page's framework isn't installed.
        promptpress.TemplateError: when the configuration is wrong.

    """
    if arguments.rows is not None and arguments.html is None:
        raise UsageError("--rows says what --html FILE writes; in the page, g goes to a row")
    if arguments.html is None:
        _need_nicegui()
    set_threads(arguments.threads)
    catalogue, choice = _catalogue(arguments)
    samples = Samples(arguments.data, arguments.data_format, _BATCH, arguments.limit)
    if catalogue is not None:
        tell_notes(catalogue.renderer(choice), samples.schema, Namespace(**{**vars(arguments), "strict": False}))
    warnings.simplefilter("ignore", promptpress.PromptWarning)  # of what is chosen later, in threads
    store = SampleStore(samples)
    try:
        if arguments.html is not None:
            rows = write_html(arguments.html, arguments.rows, store, Sources(store, catalogue), choice)
            if not arguments.quiet:
                print(f"promptpress: {rows:,} row{'s' if rows != 1 else ''} in {arguments.html}", file=sys.stderr)
        else:
            _serve(arguments, store, catalogue, choice)
    finally:
        store.close()


def _serve(arguments: Namespace, store: SampleStore, catalogue: Catalogue | None, choice: Choice) -> None:
    from promptpress._viewer.page.server import serve  # noqa: PLC0415 - needs NiceGUI, which --html doesn't
    from promptpress._viewer.page.whole_page import Shown, add_page  # noqa: PLC0415

    title = ", ".join(Path(path).name for path in arguments.data)
    prompts = list(catalogue.prompts) if catalogue is not None else []
    other = choice.changed(prompts=prompts[1]) if len(prompts) > 1 else None
    add_page(Shown(title, store, catalogue, choice, other))

    def announce(address: str) -> None:
        print(f"promptpress: {address}  (Ctrl-C ends it)", file=sys.stderr, flush=True)

    with contextlib.suppress(KeyboardInterrupt):  # which is how it is meant to end
        serve(f"{title} - promptpress", arguments.port, announce, open_browser=not arguments.no_open)


def _need_nicegui() -> None:
    if importlib.util.find_spec("nicegui") is None:
        raise UsageError(
            "promptpress view shows its page with NiceGUI, which isn't installed: pip install 'promptpress[view]'; "
            "--html FILE needs none"
        )


def _catalogue(arguments: Namespace) -> tuple[Catalogue | None, Choice]:
    configs = arguments.config
    read: Callable[[str], Config] = read_config
    if arguments.template is not None:
        if configs:
            raise UsageError(f"--template beside {configs[0]}: one of them says what a prompt is")
        own = Namespace(**{**vars(arguments), "config": None, "model": (arguments.model or [None])[0]})
        read = with_template(own, read_config)
        configs = [TEMPLATE]
    if not configs:
        for option in _OF_CONFIGURATIONS:
            if getattr(arguments, option) is not None:
                name = option.replace("_", "-")
                raise UsageError(
                    f"--{name}: without CONFIG, --data holds rendered prompts, which are shown as they are"
                )
        return None, Choice("")

    def make(choice: Choice, prompts: Source, model: Source | None) -> promptpress.Renderer:
        own = dict(vars(arguments))
        own |= {"config": prompts.path, "dataset": prompts.entry}
        own |= {"model": None, "model_abbr": None}
        if model is not None:
            own["model_abbr"] = model.entry
            own["model"] = model.path if model.path != prompts.path else None
        own |= {name: getattr(choice, name) for name in ("mode", "output", "substitution")}
        return make_renderer(Namespace(**own))

    catalogue = Catalogue(configs, arguments.model or [], make, read)
    prompts = _chosen(catalogue.prompts, arguments.dataset, "--dataset") or next(iter(catalogue.prompts))
    model = _chosen(catalogue.models, arguments.model_abbr, "--model-abbr")
    if model is None and arguments.model:
        model = next(name for name, source in catalogue.models.items() if source.path == arguments.model[0])
    first = Choice(prompts, model, arguments.mode, arguments.output, arguments.substitution)
    return catalogue, _with_model(catalogue, first)


def _with_model(catalogue: Catalogue, choice: Choice) -> Choice:
    """Choose the first model where the configuration leaves open which of several it means."""
    if choice.model is not None or not catalogue.models:
        return choice
    try:
        catalogue.renderer(choice)
    except FileError:
        return choice.changed(model=next(iter(catalogue.models)))
    return choice


def _chosen(names: dict[str, Source], entry: str | None, option: str) -> str | None:
    if entry is None:
        return None
    for name, source in names.items():
        if entry in (name, source.entry):
            return name
    raise UsageError(f"{option} {entry}: no such entry; there are {', '.join(map(repr, names)) or 'none'}")
