"""The options of `promptpress diff` for B, each named after the option for A: `--model M1 --model-b M2`."""

from __future__ import annotations

import argparse
from argparse import Namespace
from typing import Any

from promptpress_workbench.cli.shell.options import OptionList, add_configuration
from promptpress_workbench.cli.sources.jinja_options import CONFIGURATION_OPTIONS, JINJA_OPTIONS, add_jinja

_SUFFIX = "-b"
_TEMPLATE_OPTIONS = ("template", "system", "output_column", "shots", "shots_seed")


def _added_options() -> list[tuple[argparse.Action, dict[str, Any]]]:
    options = OptionList()
    add_configuration(options)
    add_jinja(options)
    return options.added


def prompt_options() -> list[argparse.Action]:
    """Return the options that decide the prompts, such as `--substitution`."""
    return [action for action, _ in _added_options()]


def add_second_side(parser: argparse._ArgumentGroup) -> None:
    """Add the options of `prompt_options` once more, for B."""
    for action, keywords in _added_options():
        names = [name + _SUFFIX for name in action.option_strings if name.startswith("--")]
        of_b = {"dest": f"{action.dest}_b", "default": None, "help": f"of B, instead of {action.option_strings[-1]}"}
        parser.add_argument(*names, **{**keywords, **of_b})


def second_side(arguments: Namespace) -> Namespace:
    """Return the arguments for B: the options of A, replaced by those that B has."""
    given = {action.dest: getattr(arguments, f"{action.dest}_b") for action in prompt_options()}
    of_b = {name: value for name, value in given.items() if value is not None}
    config = arguments.other or arguments.config
    replaced: tuple[str, ...] = ()
    has_config = arguments.config is not None or arguments.template is not None
    has_jinja = arguments.jinja is not None or (arguments.chat_template is not None and not has_config)
    if "jinja" in of_b:  # replaces A's configuration with all its options
        config = arguments.other
        replaced = (*CONFIGURATION_OPTIONS, "chat_template")
    elif has_jinja and (arguments.other is not None or "template" in of_b):  # replaces A's Jinja template
        replaced = JINJA_OPTIONS
    if "template" in of_b:  # replaces A's configuration
        config = arguments.other
    elif arguments.other is not None:  # replaces A's template
        replaced += _TEMPLATE_OPTIONS
    return Namespace(**{**vars(arguments), "config": config, **dict.fromkeys(replaced), **of_b})
