"""The options of `promptpress diff` for B, each named after the option for A: `--model M1 --model-b M2`."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from typing import Any

from promptpress._cli.shell.options import add_budget, add_config, add_prompt_options
from promptpress._cli.sources.jinja_options import CONFIGURATION_OPTIONS, JINJA_OPTIONS, add_jinja

_SUFFIX = "-b"
_TEMPLATE_OPTIONS = ("template", "system", "output_column", "shots", "shots_seed")


class _OptionList:
    """Records the options that are added, each with the keywords of the call."""

    def __init__(self) -> None:
        self.added: list[tuple[argparse.Action, dict[str, Any]]] = []
        self._parser = ArgumentParser(add_help=False)

    def add_argument(self, *names: str, **keywords: Any) -> None:
        action = self._parser.add_argument(*names, **keywords)
        if action.option_strings:
            self.added.append((action, keywords))

    def add_argument_group(self, _: str, /) -> _OptionList:
        """Return the same list, because groups make no difference here."""
        return self


def _added_options() -> list[tuple[argparse.Action, dict[str, Any]]]:
    options = _OptionList()
    add_config(options)
    add_jinja(options)
    add_prompt_options(options)
    add_budget(options)
    options.add_argument("--examples", metavar="FILE", nargs="+", action="extend", help="the rows of examples")
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
