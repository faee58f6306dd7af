"""Errors of the command: exit codes, and messages for Python callers in the words of its options."""

from __future__ import annotations

import re
from enum import IntEnum

from promptpress import ConfigError, DataError, RenderError, TemplateError
from promptpress.engine.core import SETTINGS
from promptpress.engine.errors import (
    FileError,
    FilledValuesWarning,
    LeftOutWarning,
    OutputError,
    ReaderGoneError,
    UsageError,
    reason,
)

from promptpress_workbench.cli.options import (
    BUDGET_OPTIONS,
    JINJA_OPTIONS,
    OVERRIDES,
    TEMPLATE_OPTIONS,
    TOKEN_OPTIONS,
    option_name,
)
from promptpress_workbench.files.write.output_file import STDOUT, STDOUT_DEVICES

NO_ROWS = "--where: the condition holds for no row"
"""The message if no row is chosen."""

_PHRASES = {
    'substitution="single_pass" leaves values alone': "--substitution single_pass leaves values alone",
    'fallback="jinja2" has Jinja2 render it': "--fallback jinja2 has Jinja2 render it",
    "answer= names": "--answer COL names",
    "custom_id=": "--custom-id ",
    "labels=True needs": "--token-labels needs",
    "reasoning=True ": "--reasoning ",
    "last_turn=True needs": "--last-turn needs",
    '(turns="each")': "(--turns each)",
    "max_tokens= allows": "--max-tokens allows",
    "tokenizer= applies it": "--tokenizer FILE applies it",
    "fewshot_docs: shots are drawn": "--examples: shots are drawn",
    "name it by column=": "--column names it",
    "argument_columns={} says": "--argument-column none says",
    "argument_columns= names": "--argument-column names",
    "argument_columns: ": "--argument-column: ",
    "which refuse= names": "which --refuse-left-out names",
    "name one by template=": "name one by --chat-argument template=NAME",
    "ChatTemplate renders such a column": "--chat-template FOLDER renders such a column",
    "ChatTemplate.from_tokenizer(FOLDER) with": "--chat-template FOLDER with",
    'JinjaTemplate("{{ text }}") renders and': "--jinja '{{ text }}' renders and",
}
"""Phrases that aren't an argument with its value, each with the phrase for users of the command."""

_ARGUMENTS = (
    *(*TEMPLATE_OPTIONS, *OVERRIDES, "tokenizer", *BUDGET_OPTIONS, *JINJA_OPTIONS, *TOKEN_OPTIONS),
    *("examples", "data_format", "limit", "errors", "keep", "index", "seed", "output_column"),
)
"""Options that are arguments of the same name in Python, but for `_RENAMED`."""

_RENAMED = {
    name: f"--{setting.option}"
    for name, setting in SETTINGS.items()
    if setting.option is not None and setting.option != name.replace("_", "-")
}
_KEYS = tuple(name for name, setting in SETTINGS.items() if setting.in_files and setting.option is None)
"""Arguments that a configuration has as keys."""

_LIMIT = re.compile(r'\blimits=\{"(\w+)": (\d+)\}')
_VALUE = r'(?<![\w.])({})=("(?P<value>[^"\s]*)"|(?![\w"\'({{\[=]))'
_ARGUMENT = re.compile(_VALUE.format("|".join(_ARGUMENTS)))
_KEY = re.compile(_VALUE.format("|".join(_KEYS)))
_CHAT_ARGUMENT = re.compile(_VALUE.format(r"\w+_token|tools|documents|continue_final_message"))
_ROLE = re.compile(r"by roles=\{'(.*)': 'user'\}", re.DOTALL)
_PLAIN_ROLE = re.compile(r"[^\s,='\"{\\]+")


class ExitCode(IntEnum):
    """Exit codes of the process, as `docs/command.md` lists them."""

    OK = 0
    UNEXPECTED = 1
    DIFFERENT = 1  # `verify` and `diff` have found a difference, as with `cmp` and `diff`
    FINDINGS = 1  # `audit` has found something
    USAGE = 2
    CONFIGURATION = 3
    DATA = 4
    OUTPUT = 5
    UNSUPPORTED = 6  # `verify`: promptpress has no part for what the harness does
    INCOMPLETE = 7  # done, except for rows that --skip-corrupt leaves out; with --strict those of --errors, too
    INTERRUPTED = 130  # a shell reports this code for SIGINT: 128 + 2
    READER_GONE = 141  # a shell reports this code for SIGPIPE: 128 + 13
    TERMINATED = 143  # a shell reports this code for SIGTERM: 128 + 15


class Terminated(BaseException):
    """Raised on SIGTERM; not an `Exception`, as KeyboardInterrupt isn't, so that no handler on the way swallows it."""


_EXIT_CODES: dict[type[FileError], ExitCode] = {
    ReaderGoneError: ExitCode.READER_GONE,
    UsageError: ExitCode.USAGE,
    ConfigError: ExitCode.CONFIGURATION,
    DataError: ExitCode.DATA,
    OutputError: ExitCode.OUTPUT,
}


def code_and_text(  # noqa: PLR0911 - a return for each kind of error
    error: BaseException, out: str | None = None
) -> tuple[ExitCode, str]:
    """Return the exit code and the message of a failure; `out` is the value of `--out`."""
    if isinstance(error, FileError):
        if error.code == "unclear_choice":
            return ExitCode.USAGE, error.of_command()
        codes = (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
        return next(codes, ExitCode.UNEXPECTED), error.of_command()
    if isinstance(error, (TemplateError, RenderError)):
        is_template = isinstance(error, TemplateError)
        return ExitCode.CONFIGURATION if is_template else ExitCode.DATA, in_options(str(error))
    if isinstance(error, (FilledValuesWarning, LeftOutWarning)):
        return ExitCode.CONFIGURATION, f"{in_options(str(error))} (--strict)"
    if isinstance(error, (KeyboardInterrupt, Terminated)):
        is_stdout = out in (STDOUT, *STDOUT_DEVICES)
        left = "what standard output has may be incomplete" if is_stdout else "nothing is written"
        if isinstance(error, Terminated):
            return ExitCode.TERMINATED, f"terminated, {left}"
        return ExitCode.INTERRUPTED, f"interrupted, {left}"
    if isinstance(error, MemoryError):
        return ExitCode.UNEXPECTED, "out of memory; a smaller --batch-size needs less"
    return ExitCode.UNEXPECTED, f"unexpected {type(error).__name__}: {reason(error)} (--traceback shows where)"


def in_options(text: str) -> str:
    """Return a message with options, or keys of the configuration, in the place of Python arguments."""
    for of_python, of_options in _PHRASES.items():
        text = text.replace(of_python, of_options)
    text = _LIMIT.sub(r"--limits \1=\2", text)
    text = _ARGUMENT.sub(
        lambda match: _RENAMED.get(match[1], option_name(match[1])) + (f" {match['value']}" if match["value"] else ""),
        text,
    )
    text = _KEY.sub(
        lambda match: f"{match[1]}:{' ' + match['value'] if match['value'] else ''} in the configuration", text
    )
    text = _CHAT_ARGUMENT.sub(lambda match: f"--chat-argument {match[1]}={match['value'] or 'VALUE'}", text)
    return _ROLE.sub(_role_option, text)


def _role_option(match: re.Match[str]) -> str:
    role = match[1]
    example = f"--roles '{role}=user'" if _PLAIN_ROLE.fullmatch(role) else "--roles, as a JSON object"
    return f"by {example}, or roles: in the configuration"
