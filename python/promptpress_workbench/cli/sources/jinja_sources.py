"""Makes the Jinja templates of `--jinja` and `--chat-template`."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptpress
from promptpress import ConfigError
from promptpress.engine import engine_of
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.typing import JinjaOptions
from promptpress_harness.bounded_file import read_text
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import format_prompt_of

from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.cli.shell.options import first_given, option_name
from promptpress_workbench.cli.sources.jinja_options import CONFIGURATION_OPTIONS, has_jinja_source
from promptpress_workbench.cli.sources.template_option import warn_of_backslash_n

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate

_MAX_FILE_BYTES = 1 << 24
_TAG_START = re.compile(r"\{[{%#]")
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_DELIMITERS = ("block_start_string", "variable_start_string", "comment_start_string", "line_statement_prefix")
_SUFFIXES = (".jinja", ".jinja2", ".j2")
_JINJA_OPTIONS = ("environment", "fallback", "now", "strings")
_BENCHMARK_SUFFIXES = (".json", ".yaml", ".yml", ".toml")
_CHAT_TEMPLATE_OPTIONS = ("column", "add_generation_prompt", "environment", "fallback", "now", "strings")


def template_of(arguments: Namespace, allowed: Container[str] = ()) -> JinjaTemplate | ChatTemplate | None:
    """Make the template that takes the place of a configuration, or that a configuration itself is; None if neither.

    `allowed` is that of `has_jinja_source`.
    """
    if not has_jinja_source(arguments, allowed):
        return _template_of_choices(arguments, allowed)
    if arguments.jinja is None:
        return chat_template(arguments)
    given = _named_values("--jinja-option", arguments.jinja_option, _JINJA_OPTIONS)
    for name in given:
        if name not in JinjaOptions.__annotations__:
            hint = did_you_mean(name, JinjaOptions.__annotations__)
            raise UsageError(f"--jinja-option {name}: there is no such option of an environment{hint}")
    options = given | _given(arguments, _JINJA_OPTIONS)
    delimiters = [given[name] for name in _DELIMITERS if isinstance(given.get(name), str) and given[name]]
    source = _source(arguments.jinja, delimiters)
    path = arguments.jinja if source is not arguments.jinja else ""
    make = _public("JinjaTemplate", "--jinja")
    try:
        template: JinjaTemplate = _make(make, "--jinja", path, source, options)
    except promptpress.TemplateError as error:
        if error.path not in given:
            raise
        raise UsageError(f"--jinja-option {error}") from error
    engine_of(template).runner.noted = True  # the command itself reports the rows that Jinja2 rendered
    return template


def _template_of_choices(arguments: Namespace, allowed: Container[str]) -> JinjaTemplate | None:
    """Make the template of a benchmark of EvalScope whose choices are a list in each row; None if CONFIG is none."""
    config = arguments.config
    path = config[0] if isinstance(config, list) and len(config) == 1 else config  # `view` takes several
    if not isinstance(path, str) or Path(path).suffix.lower() not in _BENCHMARK_SUFFIXES:
        return None
    prompt = format_prompt_of(read_config(path))
    if prompt is None or not prompt.has_choices:
        return None
    option = first_given(arguments, [name for name in (*CONFIGURATION_OPTIONS, "chat_template") if name not in allowed])
    if option is not None:
        raise UsageError(f"{option}: not for {path}, whose choices are lists, of which a Jinja template makes a text")
    template: JinjaTemplate = _public("JinjaTemplate", path).from_config(path, **_given(arguments, ("strings",)))
    engine_of(template).runner.noted = True  # as in `template_of`
    return template


def chat_template(arguments: Namespace) -> ChatTemplate:
    """Make the chat template of `--chat-template`, with its arguments."""
    path = arguments.chat_template
    if not Path(path).exists():
        raise ConfigError(f"--chat-template {path}: no such file or folder")
    options = _named_values("--chat-argument", arguments.chat_argument, _CHAT_TEMPLATE_OPTIONS)
    options |= _given(arguments, _CHAT_TEMPLATE_OPTIONS)
    make = _public("ChatTemplate", "--chat-template").from_tokenizer
    template: ChatTemplate = _make(make, "--chat-template", path, path, options)
    return template


def _named_values(option: str, given: list[tuple[str, str]] | None, others: Container[str]) -> dict[str, Any]:
    """Return the values of an option that takes names with values; `others` are names that have an option each."""
    values: dict[str, Any] = {}
    for name, text in given or ():
        if name in others:
            raise UsageError(f"{option} {name}: {option_name(name)} says it")
        if name in values:
            raise UsageError(f"{option} {name}: is given twice")
        values[name] = _value(option, name, text)
    return values


def _value(option: str, name: str, text: str) -> Any:
    """Parse a value as JSON; others are texts, unless they begin like JSON, as delimiters of Jinja may do."""
    try:
        return json.loads(text)
    except ValueError as error:
        if text[:1] in ("{", "[", '"') and not name.endswith("_string"):
            raise UsageError(f"{option} {name}: not valid JSON: {error}") from None
        return text


def _make(make: Callable[..., Any], option: str, path: str, source: str, options: dict[str, Any]) -> Any:
    """Make a template; an error in its source names the file, or the option if the path is empty."""
    try:
        return make(source, **options)
    except promptpress.TemplateError as error:
        if error.path != "source":
            raise
        prefix = "" if path and path in error.message else f"{path or option}: "
        raise ConfigError(f"{prefix}{in_options(error.message)}") from error


def _given(arguments: Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in names if getattr(arguments, name, None) is not None}


def _public(name: str, option: str) -> Any:
    """Return a class of promptpress that needs Jinja2."""
    try:
        return getattr(promptpress, name)
    except ImportError:
        raise ConfigError(f"{option} needs Jinja2: pip install 'promptpress[jinja]'") from None


def _source(given: str, delimiters: Sequence[str]) -> str:
    """Return the text of a file, or the given text itself if it contains Jinja, by its own delimiters or these."""
    is_text = _TAG_START.search(given) is not None or any(start in given for start in delimiters)
    if not is_text or (given.endswith(_SUFFIXES) and Path(given).exists()):
        if not is_text and not given.endswith(_SUFFIXES) and not Path(given).exists():
            raise UsageError(
                f"--jinja {given}: no such file; and as a template it names no column, as {{{{ q }}}} does"
            )
        return read_text(given, _MAX_FILE_BYTES)
    if "\n" not in given:
        warn_of_backslash_n("--jinja", _TAG.sub("", given))
    return given
