"""The Jinja templates that a command line means."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptpress
from promptpress._cli.errors import in_options
from promptpress._cli.jinja_options import has_own_source
from promptpress._config_files.bounded_file import read_bytes
from promptpress._file_errors import ConfigError, UsageError

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate

_MAX_FILE_BYTES = 1 << 24
_BEGINS = re.compile(r"\{[{%#]")
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_SUFFIXES = (".jinja", ".jinja2", ".j2")
_OWN_OPTIONS = ("column", "add_generation_prompt", "environment", "fallback", "now", "strings")


def template_of(arguments: Namespace) -> JinjaTemplate | ChatTemplate | None:
    """Make the template that stands in the place of a configuration.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        The template; None where a configuration says what a prompt is.

    Raises:
        FileError: when a file can't be read, or options don't go together.
        promptpress.TemplateError: when the template is wrong.

    """
    if not has_own_source(arguments):
        return None
    return _jinja_template(arguments) if arguments.jinja is not None else chat_template(arguments)


def chat_template(arguments: Namespace) -> ChatTemplate:
    """Make the chat template that `--chat-template` means.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        The template.

    Raises:
        FileError: when there is no such file, or an argument can't be one.
        promptpress.TemplateError: when the template is wrong.

    """
    path = arguments.chat_template
    if not Path(path).exists():
        raise ConfigError(f"--chat-template {path}: no such file or folder")
    given: dict[str, Any] = {}
    for name, text in arguments.chat_argument or ():
        if name in _OWN_OPTIONS:
            raise UsageError(f"--chat-argument {name}: --{name.replace('_', '-')} says it")
        if name in given:
            raise UsageError(f"--chat-argument {name}: is given twice")
        given[name] = _value(name, text)
    given |= _given(arguments, _OWN_OPTIONS)
    make = _public("ChatTemplate", "--chat-template").from_tokenizer
    with _named("--chat-template", path):
        found: ChatTemplate = make(path, **given)
    return found


def _value(name: str, text: str) -> Any:
    """A value as JSON has it; what isn't JSON is a text."""
    try:
        return json.loads(text)
    except ValueError as error:
        if text[:1] in ("{", "[", '"'):
            raise UsageError(f"--chat-argument {name}: not valid JSON: {error}") from None
        return text


def _jinja_template(arguments: Namespace) -> JinjaTemplate:
    given = _given(arguments, ("environment", "fallback", "now", "strings"))
    source = _source(arguments.jinja)
    make = _public("JinjaTemplate", "--jinja")
    with _named("--jinja", arguments.jinja if source is not arguments.jinja else ""):
        found: JinjaTemplate = make(source, **given)
    found._runner.noted = True  # the command says what Jinja2 rendered in words of its own
    return found


@contextlib.contextmanager
def _named(option: str, path: str) -> Iterator[None]:
    """Say of what is wrong with a template's source where that is from."""
    try:
        yield
    except promptpress.TemplateError as error:
        if error.path != "source":
            raise
        place = "" if path and path in error.message else f"{path or option}: "
        raise ConfigError(f"{place}{in_options(error.message)}") from error


def _given(arguments: Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in names if getattr(arguments, name, None) is not None}


def _public(name: str, option: str) -> Any:
    try:
        return getattr(promptpress, name)
    except ImportError:
        raise ConfigError(f"{option} needs Jinja2: pip install 'promptpress[jinja]'") from None


def _source(given: str) -> str:
    """A file's text; or the text itself, if it holds any Jinja."""
    is_text = _BEGINS.search(given) is not None
    if not is_text or (given.endswith(_SUFFIXES) and Path(given).exists()):
        if not is_text and not given.endswith(_SUFFIXES) and not Path(given).exists():
            raise UsageError(
                f"--jinja {given}: no such file; and as a template it names no column, as {{{{ q }}}} does"
            )
        source = read_bytes(given, _MAX_FILE_BYTES)
        try:
            return source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = source.count(b"\n", 0, error.start) + 1
            raise ConfigError(f"{given}:{line}: not UTF-8 (byte 0x{source[error.start]:02x})") from None
    if "\\n" in _TAG.sub("", given) and "\n" not in given:
        message = (
            "--jinja: \\n is a backslash and an n, which go into the prompt as they are; in bash $'...' makes a line "
            "break of it"
        )
        warnings.warn(message, promptpress.PromptWarning, stacklevel=2)
    return given
