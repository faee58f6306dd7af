"""The options of `promptpress diff` that say of B what they say of A: `--model M1 --model-b M2`."""

from __future__ import annotations

import argparse
import copy
from argparse import ArgumentParser, Namespace

from promptpress._cli.jinja_options import JINJA_OPTIONS, OF_CONFIGURATIONS, add_jinja
from promptpress._cli.options import add_config, add_prompt_options

_SUFFIX = "-b"
_TEMPLATE = ("template", "system", "output_column", "shots")


def prompt_options() -> list[argparse.Action]:
    """List the options that say what is rendered: those that several commands share.

    >>> "substitution" in [action.dest for action in prompt_options()]
    True

    """
    scratch = ArgumentParser(add_help=False)
    add_config(scratch)
    add_jinja(scratch)
    add_prompt_options(scratch)
    scratch.add_argument("--examples", metavar="FILE", nargs="+", action="extend", help="the rows of examples")
    return [action for action in scratch._actions if action.option_strings]


def add_second_side(parser: argparse._ArgumentGroup) -> None:
    """Add each of those options once more, for B.

    Args:
        parser: a group of the command's parser.

    """
    for action in prompt_options():
        own = copy.copy(action)
        own.option_strings = [name + _SUFFIX for name in action.option_strings if name.startswith("--")]
        own.dest = f"{action.dest}_b"
        own.default = None
        own.help = f"of B, instead of {action.option_strings[-1]}"
        parser._add_action(own)


def second_side(arguments: Namespace) -> Namespace:
    """The options of B: its own, and A's where it has none.

    Args:
        arguments: of `promptpress diff`.

    Example:
        >>> empty = {f"{action.dest}_b": None for action in prompt_options()}
        >>> second_side(Namespace(config="a.py", other=None, mode="gen", **{**empty, "mode_b": "ppl"})).mode
        'ppl'

    """
    given = {action.dest: getattr(arguments, f"{action.dest}_b") for action in prompt_options()}
    own = {name: value for name, value in given.items() if value is not None}
    config = arguments.other or arguments.config
    if "jinja" in own:  # in the place of all that A's configuration is rendered by
        config = arguments.other
        own = {**dict.fromkeys((*OF_CONFIGURATIONS, "chat_template")), **own}
    elif arguments.other is not None or "template" in own:  # in the place of A's Jinja template
        own = {**dict.fromkeys(_jinja_options(arguments)), **own}
    if own.get("template") is not None:  # in the place of A's configuration
        config = arguments.other
    elif arguments.other is not None:  # in the place of A's template
        own = {**dict.fromkeys(_TEMPLATE), **own}
    return Namespace(**{**vars(arguments), "config": config, **own})


def _jinja_options(arguments: Namespace) -> tuple[str, ...]:
    """Those that go with the template in the place of A's configuration, if there is one."""
    is_one = getattr(arguments, "jinja", None) is not None or (
        getattr(arguments, "chat_template", None) is not None
        and arguments.config is None
        and getattr(arguments, "template", None) is None
    )
    return JINJA_OPTIONS if is_one else ()
