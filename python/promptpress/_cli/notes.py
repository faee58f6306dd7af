"""What is probably a mistake, told before anything is rendered."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._file_errors import ConfigError
from promptpress._model_classes import did_you_mean
from promptpress._notes import find_notes, silent


@contextmanager
def held_back(arguments: Namespace) -> Iterator[list[str]]:
    """Under `--strict` keep what is probably a mistake for `tell_notes`, whatever the filters; else let it be shown.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Yields:
        The texts, which are complete when the block has ended.

    Example:
        >>> with held_back(Namespace(strict=True)) as held:
        ...     warnings.warn("a slip", promptpress.PromptWarning)
        >>> held
        ['a slip']

    """
    held: list[str] = []
    if not arguments.strict:
        yield held
        return
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield held
    except BaseException:
        for one in caught:  # an error says less than what led to it
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        raise
    for one in caught:
        if issubclass(one.category, promptpress.PromptWarning):
            held.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def tell_notes(
    renderer: promptpress.Renderer, schema: pa.Schema, arguments: Namespace, held: Sequence[str] = ()
) -> None:
    """Show the notes on a configuration; under `--strict` refuse one that gets a warning.

    Args:
        renderer: the renderer, which says nothing itself from now on.
        schema: of the samples.
        arguments: as `promptpress._cli.arguments.parse` gives them.
        held: what was held back while the renderer was made.

    Raises:
        ConfigError: when there is a warning, and `--strict`.

    Example:
        >>> arguments = Namespace(strict=True, data=["test.jsonl"], examples=None)
        >>> tell_notes(promptpress.Renderer("{q}"), pa.schema([("q", pa.string())]), arguments)

    """
    silent(renderer)
    files = [{os.path.realpath(path) for path in paths or ()} for paths in (arguments.examples, arguments.data)]
    notes = find_notes(renderer, schema, None, same=files[0] == files[1])
    told = [(note.severity, f"{note.place}: {note.message}; {note.remedy}") for note in notes]
    if not arguments.strict:
        for _, text in told:
            # The command shows warnings in one line each, and --quiet hides them.
            warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
        return
    _refuse([*held, *(text for severity, text in told if severity == "warning")])


def tell_template_notes(template: Any, schema: pa.Schema, arguments: Namespace, held: Sequence[str] = ()) -> None:
    """Show which names of a Jinja template were probably meant to be columns; under `--strict` refuse it.

    Args:
        template: the template. A name that is no column is undefined, which Jinja writes as nothing.
        schema: of the samples.
        arguments: as `promptpress._cli.arguments.parse` gives them.
        held: what was held back while the template was made.

    Raises:
        ConfigError: when there is one, or something was held back, and `--strict`.

    Example:
        >>> template, schema = promptpress.JinjaTemplate("{{ questoin }}"), pa.schema([("question", pa.string())])
        >>> tell_template_notes(template, schema, Namespace(strict=True))
        Traceback (most recent call last):
        ...
        promptpress._file_errors.ConfigError: questoin: no column; did you mean 'question'? (--strict)

    """
    read = template.required_columns
    unread = sorted(set(schema.names).difference(read))
    meant = {name: did_you_mean(name, unread) for name in read if name not in schema.names}
    told = [f"{name}: no column{text}" for name, text in meant.items() if text]
    if arguments.strict:
        _refuse([*held, *told])
        return
    for text in told:
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)


def _refuse(wrong: Sequence[str]) -> None:
    """Make what is probably a mistake an error; what comes after the first is shown as notes."""
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        for text in wrong[1:]:
            warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
        raise ConfigError(f"{wrong[0]} (--strict{more})")
