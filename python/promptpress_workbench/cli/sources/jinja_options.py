"""`--jinja` and `--chat-template`: Jinja templates that replace a configuration or render its messages."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container

from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.shell.option_values import named_value, time
from promptpress_workbench.cli.shell.options import OptionParser, configuration_options, first_given

_TEMPLATE_OPTIONS = ("environment", "fallback", "now")
_OWN_OPTIONS = ("jinja_option",)
_CHAT_OPTIONS = ("column", "add_generation_prompt", "chat_argument")
CONFIGURATION_OPTIONS = configuration_options("strings", "tokenizer")
"""Options that decide how a configuration is rendered, and that no template has."""

JINJA_OPTIONS = ("jinja", "chat_template", *_TEMPLATE_OPTIONS, *_OWN_OPTIONS, *_CHAT_OPTIONS)


def add_jinja(parser: OptionParser) -> None:
    """Add the two kinds of templates and their options."""
    add = parser.add_argument_group("Jinja templates, instead of CONFIG or after its messages").add_argument
    add("--jinja", metavar="FILE|TEXT", help="a Jinja template over the columns: 'Q: {{ question.strip() }}'")
    add(
        "--chat-template",
        metavar="FILE|FOLDER",
        help="a model's folder, tokenizer_config.json or chat_template.jinja. Without CONFIG, --data contains"
        " conversations; with CONFIG, the template renders its messages",
    )
    add("--column", metavar="NAME", help="the column of conversations (messages)")
    prompt = "end the text where the assistant's answer begins"
    add("--add-generation-prompt", action="store_true", default=None, help=prompt)
    add(
        "--chat-argument",
        metavar="NAME=VALUE",
        type=named_value,
        nargs="+",
        action="extend",
        help="another argument of the chat template, as JSON or text: enable_thinking=false, tools=[...]",
    )
    rules = "the rules to render by; default: jinja2, or transformers for a chat template"
    add("--environment", choices=("jinja2", "transformers", "lm_eval"), help=rules)
    add(
        "--jinja-option",
        metavar="NAME=VALUE",
        type=named_value,
        nargs="+",
        action="extend",
        help="an option of Jinja2's environment, as JSON or text: trim_blocks=true, undefined=strict",
    )
    fallback = "rows that no program renders exactly: jinja2 (default) renders them, refuse makes them errors"
    add("--fallback", choices=("jinja2", "refuse"), help=fallback)
    add("--now", type=time, metavar="TIME", help="the clock of strftime_now: 2026-01-31T09:00; default: the time now")


def has_jinja_source(arguments: Namespace, allowed: Container[str] = ()) -> bool:
    """Return true if a Jinja template replaces CONFIG; refuse options of a configuration that aren't `allowed` then."""
    of_configurations = tuple(name for name in CONFIGURATION_OPTIONS if name not in allowed)
    jinja, chat = getattr(arguments, "jinja", None), getattr(arguments, "chat_template", None)
    config = arguments.config if getattr(arguments, "template", None) is None else "--template"
    if jinja is None and chat is None:
        _refuse(arguments, (*_TEMPLATE_OPTIONS, *_CHAT_OPTIONS), "goes with --jinja or --chat-template")
        _refuse(arguments, _OWN_OPTIONS, "goes with --jinja")
        return False
    if jinja is not None:
        for other in filter(None, (config, chat and "--chat-template")):
            raise UsageError(f"--jinja with {other}: one of them says what a prompt is")
        _refuse(arguments, _CHAT_OPTIONS, "goes with --chat-template")
        _refuse(arguments, of_configurations, "says how a configuration is rendered, and there is a Jinja template")
        return True
    _refuse(arguments, _OWN_OPTIONS, "goes with --jinja")
    if config:
        _refuse(arguments, ("column",), f"goes with conversations, and {config} says what messages are")
        return False
    _refuse(arguments, of_configurations, "says how a configuration is rendered, and --data holds conversations")
    return True


def _refuse(arguments: Namespace, names: tuple[str, ...], why: str) -> None:
    option = first_given(arguments, names)
    if option is not None:
        raise UsageError(f"{option}: {why}")
