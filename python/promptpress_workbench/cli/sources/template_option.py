"""`--template`: a template on the command line that takes the place of a configuration."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import promptpress
from promptpress.engine.errors import UsageError
from promptpress_harness.configs.config_file import Config

from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.cli.shell.options import first_given, option_name

TEMPLATE = "--template"
"""The value of `arguments.config` if `--template` replaces the configuration."""

MISSING_CONFIG = "neither CONFIG nor --template; one of them says what a prompt is"

_WORDS = {"system": "system", "shots": "shots", "output_column": "output_column", "shots_seed": "seed"}
"""The options that go with `--template` alone, and the words of the short form."""

OPTIONS = {
    "prompt_template": "--template",
    "examples": "--examples",
    "reader.output_column": "--output-column",
    **{word: option_name(option) for option, word in _WORDS.items()},
}
"""Places of the short form in errors and notes, and the options that say them."""

_PHRASES = {"output_column names": "--output-column COL names", "shots says": "--shots N says"}
"""Words of the short form in its errors, and the options in their place."""


def in_options_of_template(error: promptpress.TemplateError) -> UsageError | None:
    """Return an error of the short form in the words of the options; None if it is another error."""
    codes = ("unsupported_mode", "missing_output_column", "missing_column", "invalid_number", "unknown_placeholder")
    if error.code not in codes or error.path not in OPTIONS:
        return None
    message = in_options(error.message)
    for words, options in _PHRASES.items():
        message = message.replace(words, options)
    return UsageError(f"{OPTIONS[error.path]}: {message}")


def with_template(arguments: Namespace, read: Callable[[str], Config]) -> Callable[[str], Config]:
    """Extend `read` to return the template of `--template` as the configuration `TEMPLATE`; check the options.

    `arguments.config` becomes `TEMPLATE`. Without `--template`, `read` is returned unchanged.
    """
    if getattr(arguments, "template", None) is None:
        option = first_given(arguments, _WORDS)
        if option is not None:
            raise UsageError(f"{option} goes with --template; a CONFIG says it itself")
        if arguments.config is None:
            raise UsageError(MISSING_CONFIG)
        return read
    if arguments.config not in (None, TEMPLATE):
        raise UsageError(f"--template with {arguments.config}: one of them says what a prompt is")
    if arguments.config is None:  # the first call for these arguments
        arguments.config = TEMPLATE
        if "\n" not in arguments.template:
            warn_of_backslash_n("--template", arguments.template)
    config = Config(TEMPLATE, _value(arguments), python=False)
    return lambda path: config if path == TEMPLATE else read(path)


def warn_of_backslash_n(option: str, text: str) -> None:
    r"""Warn if a text contains `\n`, for which the user probably wanted a line break."""
    if "\\n" in text:
        message = (
            f"{option}: \\n is a backslash and an n, which go into the prompt as they are; "
            "in bash $'...' makes a line break of it"
        )
        warnings.warn(message, promptpress.PromptWarning, stacklevel=2)


def _value(arguments: Namespace) -> dict[str, Any]:
    """Return the configuration that the options describe, as a file in the short form has it."""
    words = {word: getattr(arguments, option, None) for option, word in _WORDS.items()}
    return {"template": arguments.template, **{word: value for word, value in words.items() if value is not None}}
