"""`--jinja` and `--chat-template`: Jinja templates in the place of a configuration, or behind one."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import datetime

from promptpress._file_errors import UsageError

ENVIRONMENTS = ("jinja2", "transformers", "lm_eval")
"""Whose rules a template may be rendered by."""

_OF_BOTH = ("environment", "fallback", "now")
_OF_CHATS = ("column", "add_generation_prompt", "chat_argument")
OF_CONFIGURATIONS = (
    *("template", "system", "shots", "output_column", "examples", "model", "dataset", "model_abbr"),
    *("output", "roles", "mode", "labels", "substitution", "dialect"),
)
"""Options that say how a configuration is rendered."""

JINJA_OPTIONS = ("jinja", "chat_template", *_OF_BOTH, *_OF_CHATS)
"""Those of Jinja templates."""


def add_jinja(parser: ArgumentParser) -> None:
    """Add both templates and what is said of them.

    Args:
        parser: the command's.

    """
    add = parser.add_argument_group("Jinja templates, instead of CONFIG or behind its messages").add_argument
    add("--jinja", metavar="FILE|TEXT", help="a Jinja template over the columns: 'Q: {{ question.strip() }}'")
    add(
        "--chat-template",
        metavar="FILE|FOLDER",
        help="a model's: its folder, tokenizer_config.json or chat_template.jinja. Without CONFIG, --data holds"
        " conversations; with it, the template makes texts of its messages",
    )
    add("--column", metavar="NAME", help="the column of conversations (messages)")
    add("--add-generation-prompt", action="store_true", default=None, help="end where the assistant is to speak")
    add(
        "--chat-argument",
        metavar="NAME=VALUE",
        type=chat_argument,
        nargs="+",
        action="extend",
        help="what else the chat template is given, JSON or text: enable_thinking=false, tools=[...]",
    )
    add("--environment", choices=ENVIRONMENTS, help="whose rules; default: jinja2, of a chat template transformers")
    add("--fallback", choices=("jinja2", "refuse"), help="rows that aren't compiled: jinja2 (default) renders them")
    add("--now", type=moment, metavar="TIME", help="the clock of strftime_now: 2026-01-31T09:00; default: the time now")


def has_own_source(arguments: Namespace) -> bool:
    """Say whether a Jinja template stands in the place of a configuration.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether it does.

    Raises:
        UsageError: when options that don't go together are given.

    Example:
        >>> has_own_source(Namespace(config=None, template=None, jinja=None, chat_template="model/"))
        True

    """
    jinja, chat = getattr(arguments, "jinja", None), getattr(arguments, "chat_template", None)
    config = arguments.config if getattr(arguments, "template", None) is None else "--template"
    if jinja is None and chat is None:
        _refuse(arguments, (*_OF_BOTH, *_OF_CHATS), "goes with --jinja or --chat-template")
        return False
    if jinja is not None:
        for other in filter(None, (config, chat and "--chat-template")):
            raise UsageError(f"--jinja beside {other}: one of them says what a prompt is")
        _refuse(arguments, _OF_CHATS, "goes with --chat-template")
        _refuse(arguments, OF_CONFIGURATIONS, "says how a configuration is rendered, and there is a Jinja template")
        return True
    if config:
        _refuse(arguments, ("column",), f"goes with conversations, and {config} says what messages are")
        return False
    _refuse(arguments, OF_CONFIGURATIONS, "says how a configuration is rendered, and --data holds conversations")
    return True


def _refuse(arguments: Namespace, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if getattr(arguments, name, None) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: {why}")


def chat_argument(text: str) -> tuple[str, str]:
    """Read a name and its value, which is left as text.

    Raises:
        argparse.ArgumentTypeError: when there is no name.

    Example:
        >>> chat_argument("enable_thinking=false")
        ('enable_thinking', 'false')

    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ArgumentTypeError(f"{text!r}: expected NAME=VALUE, such as enable_thinking=false")
    return name, value


def moment(text: str) -> datetime:
    """Read a time.

    Raises:
        argparse.ArgumentTypeError: when it is none.

    Example:
        >>> moment("2026-01-31")
        datetime.datetime(2026, 1, 31, 0, 0)

    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time as in 2026-01-31T09:00:00") from None
