"""Notes on probable mistakes, reported before anything is rendered; with `--strict` they are errors."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import ConfiguredEngine, TableEngine, engine_of, find_notes

from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.cli.sources.jinja_runs import RendererOrTemplate
from promptpress_workbench.cli.sources.template_option import OPTIONS, TEMPLATE


@contextmanager
def held_warnings(arguments: Namespace) -> Iterator[list[str]]:
    """Collect all prompt warnings for `report_notes`, whatever the filters; without `--strict`, let them be shown."""
    held: list[str] = []
    if not arguments.strict:
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
    renderer: RendererOrTemplate, schema: pa.Schema, arguments: Namespace, held: Sequence[str] = ()
) -> None:
    """Show the notes on a configuration or a Jinja template as warnings; with `--strict`, raise the first as an error.

    For a Jinja template, the notes are about variables that the samples don't give.
    """
    engine: TableEngine = engine_of(renderer)
    engine.warnings.silent = True  # the notes are told here
    if isinstance(engine, ConfiguredEngine):
        files = [{os.path.realpath(path) for path in paths or ()} for paths in (arguments.examples, arguments.data)]
        notes = find_notes(engine.configuration, schema, None, same=files[0] == files[1])
        if arguments.strict:
            notes = [note for note in notes if note.severity == "warning"]
        paths = OPTIONS if arguments.config == TEMPLATE else {}
        texts = [f"{paths.get(note.place, note.place)}: {note.message}; {in_options(note.remedy)}" for note in notes]
    else:
        texts = engine.undefined_names(schema)
    errors = [*held, *texts] if arguments.strict else []
    for text in errors[1:] if arguments.strict else texts:
        # The command prints each warning in one line, and --quiet hides it.
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
    if errors:
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise ConfigError(f"{errors[0]} (--strict{more})")
