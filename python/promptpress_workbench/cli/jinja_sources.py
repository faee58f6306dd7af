"""Jinja templates of `--jinja` and `--chat-template`, which replace a configuration or render its messages."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
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

from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.options import CONFIGURATION_OPTIONS, first_given, option_name
from promptpress_workbench.cli.settings import Settings

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate
    from promptpress.engine import PromptColumn
    from promptpress.engine.templates import StagedRenderer

_MAX_FILE_BYTES = 1 << 24
_TAG_START = re.compile(r"\{[{%#]")
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_DELIMITERS = ("block_start_string", "variable_start_string", "comment_start_string", "line_statement_prefix")
_SUFFIXES = (".jinja", ".jinja2", ".j2")
_BENCHMARK_SUFFIXES = (".json", ".yaml", ".yml", ".toml")

_TEMPLATE_OPTIONS = ("environment", "fallback", "now")
"""Options of both kinds of templates; `strings` is one of configurations, too."""

_JINJA_OPTIONS = ("jinja_option", "constant")
_CHAT_OPTIONS = ("column", "add_generation_prompt", "system_merge", "decode_arguments", "refuse_left_out")
_OF_ALL = ("strings", "tokenizer", "unknown", "roles")
OF_CONFIGURATIONS = tuple(name for name in CONFIGURATION_OPTIONS if name not in _OF_ALL)
"""Options that decide how a configuration is rendered, and that no template has."""


def has_jinja_source(settings: Settings, allowed: Container[str] = ()) -> bool:
    """Return true if a Jinja template replaces CONFIG; refuse options of a configuration that aren't `allowed` then."""
    of_configurations = tuple(name for name in OF_CONFIGURATIONS if name not in allowed)
    of_chats, config = (*_CHAT_OPTIONS, "chat_argument", "argument_column"), settings.config_name
    if settings.jinja is None and settings.chat_template is None:
        goes_without = "column" if config is None else None  # it names the prompts of a rendered file, too
        names = [name for name in (*_TEMPLATE_OPTIONS, *of_chats) if name != goes_without]
        _refuse(settings, names, "goes with --jinja or --chat-template")
        _refuse(settings, _JINJA_OPTIONS, "goes with --jinja")
        return False
    if settings.jinja is not None:
        if config is not None:
            raise UsageError(f"--jinja with {config}: one of them says what a prompt is")
        if settings.chat_template is None:
            _refuse(settings, (*of_chats, "roles"), "goes with --chat-template")
        _refuse(settings, ("column",), "goes with conversations, and --jinja makes texts")
        _refuse(settings, of_configurations, "says how a configuration is rendered, and there is a Jinja template")
        return True
    _refuse(settings, _JINJA_OPTIONS, "goes with --jinja")
    if config:
        _refuse(settings, ("column",), f"goes with conversations, and {config} says what messages are")
        return False
    _refuse(settings, of_configurations, "says how a configuration is rendered, and --data holds conversations")
    return True


def _refuse(settings: Settings, names: Iterable[str], why: str) -> None:
    option = first_given(settings, names)
    if option is not None:
        raise UsageError(f"{option}: {why}")


def template_of(
    settings: Settings, allowed: Container[str] = ()
) -> JinjaTemplate | ChatTemplate | StagedRenderer | None:
    """Make the template that takes the place of a configuration, or that a configuration itself is; None if neither.

    `allowed` is that of `has_jinja_source`. A Jinja template may have a chat template after it.
    """
    if has_jinja_source(settings, allowed) and settings.jinja is None:
        return chat_template(settings)
    of_jinja = settings.jinja
    template = _template_of_choices(settings, allowed) if of_jinja is None else _jinja_template(settings, of_jinja)
    if template is None or settings.chat_template is None:
        return template
    # The environment of `--jinja` is not that of the chat template.
    return staged(template, settings if settings.jinja is None else replace(settings, environment=None))


def staged(texts: JinjaTemplate | PromptColumn, settings: Settings) -> StagedRenderer:
    """Put the chat template of `--chat-template` after texts."""
    chat = chat_template(settings)
    from promptpress.engine.templates import StagedRenderer  # noqa: PLC0415 - it needs Jinja2

    strings: Any = settings.strings or "string"
    return StagedRenderer(texts, chat, strings)


def _jinja_template(settings: Settings, text: str) -> JinjaTemplate:
    """Make the template of `--jinja`, which is its text or a file."""
    names = (*_TEMPLATE_OPTIONS, "strings")
    given = _named_values("--jinja-option", settings.jinja_option, names)
    for name in given:
        if name not in JinjaOptions.__annotations__:
            hint = did_you_mean(name, JinjaOptions.__annotations__)
            raise UsageError(f"--jinja-option {name}: there is no such option of an environment{hint}")
    options = given | settings.given(names)
    options["constants"] = _named_values("--constant", settings.constant, ())
    delimiters = [given[name] for name in _DELIMITERS if isinstance(given.get(name), str) and given[name]]
    source = _source(text, delimiters)
    path = text if source is not text else ""
    try:
        template: JinjaTemplate = _make(promptpress.JinjaTemplate, "--jinja", path, source, options)
    except promptpress.TemplateError as error:
        if (error.path or "").startswith("constants"):
            raise UsageError(f"--constant: {error.message}") from error
        if error.path not in given:
            raise
        raise UsageError(f"--jinja-option {error}") from error
    engine_of(template).runner.noted = True  # the command itself reports the rows that Jinja2 rendered
    return template


def _template_of_choices(settings: Settings, allowed: Container[str]) -> JinjaTemplate | None:
    """Make the template of a benchmark of EvalScope whose choices are a list in each row; None if CONFIG is none."""
    path = settings.config
    if path is None or Path(path).suffix.lower() not in _BENCHMARK_SUFFIXES:
        return None
    prompt = format_prompt_of(read_config(path))
    if prompt is None or not prompt.has_choices:
        return None
    option = first_given(settings, [name for name in OF_CONFIGURATIONS if name not in allowed])
    if option is not None:
        raise UsageError(f"{option}: not for {path}, whose choices are lists, of which a Jinja template makes a text")
    template = promptpress.JinjaTemplate.from_config(path, **settings.given(("strings",)))
    engine_of(template).runner.noted = True  # as in `template_of`
    return template


def chat_template(settings: Settings) -> ChatTemplate:
    """Make the chat template of `--chat-template`, with its arguments."""
    path, names = str(settings.chat_template), (*_CHAT_OPTIONS, *_TEMPLATE_OPTIONS, "strings", "roles")
    if not Path(path).exists():
        raise ConfigError(f"--chat-template {path}: no such file or folder")
    options = _named_values("--chat-argument", settings.chat_argument, names) | settings.given(names)
    if options.pop("system_merge", None):
        options["system"] = "merge"
    options["refuse"] = options.pop("refuse_left_out", None) or ()
    options["argument_columns"] = argument_columns(settings)
    make = promptpress.ChatTemplate.from_tokenizer
    template: ChatTemplate = _make(make, "--chat-template", path, path, options)
    return template


def argument_columns(settings: Settings) -> dict[str, str] | None:
    """Return the columns of arguments that `--argument-column` names; None if it isn't given."""
    given = settings.argument_column
    columns = {name: column for pair in given or () for name, column in pair.items()}
    if given is not None and columns and len(columns) < len(given):
        raise UsageError("--argument-column: an argument is given twice, or none goes with a column")
    return None if given is None else columns


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


def _source(given: str, delimiters: Sequence[str]) -> str:
    """Return the text of a file, or the given text itself if it contains Jinja, by its own delimiters or these."""
    if given.startswith("@"):
        return read_text(given[1:], _MAX_FILE_BYTES)
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


def warn_of_backslash_n(option: str, text: str) -> None:
    r"""Warn if a text contains `\n`, for which the user probably wanted a line break."""
    if "\\n" in text:
        remedy = "in bash $'...' makes a line break of it"
        text = f"{option}: \\n is a backslash and an n, which go into the prompt as they are; {remedy}"
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
