"""How the command ends: its exit codes, and which of them each error has."""

from __future__ import annotations

import re
from enum import IntEnum

from promptpress._core import RenderError, TemplateError
from promptpress._file_errors import ConfigError, DataError, FileError, OutputError, UsageError


class ExitCode(IntEnum):
    """How the process ends; `docs/command.md` lists the same codes.

    Example:
        >>> int(ExitCode.DATA)
        4

    """

    OK = 0
    UNEXPECTED = 1
    DIFFERENT = 1  # what `verify` and `diff` look for, as `cmp` and `diff` have it
    FOUND = 1  # what `audit` looks for
    USAGE = 2
    CONFIGURATION = 3
    DATA = 4
    OUTPUT = 5
    UNSUPPORTED = 6  # `verify`: promptpress has no part for what the harness does
    INCOMPLETE = 7  # done, but for rows that --skip-corrupt leaves out, or that --errors column names
    INTERRUPTED = 130  # what a shell reports for SIGINT: 128 + 2
    TERMINATED = 143  # and for SIGTERM: 128 + 15


class Terminated(BaseException):
    """SIGTERM arrived. Like KeyboardInterrupt no `Exception`, so that nothing on the way swallows it."""


_EXIT_CODES: dict[type[FileError], ExitCode] = {
    UsageError: ExitCode.USAGE,
    ConfigError: ExitCode.CONFIGURATION,
    DataError: ExitCode.DATA,
    OutputError: ExitCode.OUTPUT,
}


def exit_code_of(error: FileError) -> ExitCode:
    """Say how the process ends after an error of the files.

    Args:
        error: what was raised.

    Returns:
        The exit code of its kind; where something has to be chosen, that of the command line.

    Example:
        >>> exit_code_of(DataError("a.parquet: no such file")).name
        'DATA'

    """
    if error.code == "unclear_choice":
        return ExitCode.USAGE
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), ExitCode.UNEXPECTED)


_OF_TEMPLATES = {
    'fallback="jinja2" has Jinja2 render it': "--fallback jinja2 has Jinja2 render it",
    "fewshot_docs: shots are drawn": "--examples: shots are drawn",
    "name it by column=": "--column names it",
    "name one by template=": "name one by --chat-argument template=NAME",
}
"""What errors of Jinja templates say in Python, and what they say to who types a command."""

_NAMED_ROLE = re.compile(r"by roles=\{'(.*)': 'user'\}", re.DOTALL)
_PLAIN_ROLE = re.compile(r"[^\s,='\"{\\]+")


def of_command(error: TemplateError | RenderError) -> str:
    """Say what a renderer's error says, in options where it says it in arguments.

    Args:
        error: what was raised.

    Returns:
        The text.

    Example:
        >>> from promptpress._errors import render_error
        >>> of_command(render_error("unmapped_role", "say which it is by roles={'critic': 'user'}"))
        "say which it is by --roles 'critic=user', or roles: in the configuration"

    """
    if error.code != "unmapped_role":
        return in_options(str(error))

    def option(found: re.Match[str]) -> str:
        role = found[1]
        example = f"--roles '{role}=user'" if _PLAIN_ROLE.fullmatch(role) else "--roles, as a JSON object"
        return f"by {example}, or roles: in the configuration"

    return _NAMED_ROLE.sub(option, str(error))


def in_options(text: str) -> str:
    """Say in options what a Jinja template's error says in arguments.

    Args:
        text: what it says.

    Returns:
        The text.

    Example:
        >>> in_options("the table has no such column; name it by column=")
        'the table has no such column; --column names it'

    """
    for of_python, of_options in _OF_TEMPLATES.items():
        text = text.replace(of_python, of_options)
    return text
