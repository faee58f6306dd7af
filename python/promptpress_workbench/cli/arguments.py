"""The parser of the command line, built from the table of commands, with hints for misplaced words."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from argparse import Namespace
from collections.abc import Container
from pathlib import Path
from textwrap import fill, wrap
from typing import Any, NoReturn

from promptpress.engine.errors import UsageError, close_names

from promptpress_workbench.cli.command import Command
from promptpress_workbench.cli.commands import COMMANDS
from promptpress_workbench.cli.options import OPTIONS, TEMPLATE_OPTIONS, option_name

_NUMBER = re.compile(r"-\d+(\.\d*)?$")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like those of the whole program, and suggest what the user probably wanted."""

    max_operands: int | None = 1

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Check the names of all options first.

        If a required option is misspelt, argparse would report that it is missing instead of the wrong name.
        """
        given = sys.argv[1:] if args is None else list(args)
        leading = list(itertools.takewhile(lambda text: text[:1] != "-", given))
        most = self.max_operands
        if self._subparsers is None and most is not None and len(leading) > most:
            what = "one CONFIG comes" if most == 1 else f"{most} operands come"
            self.error(f"{leading[most]}: {what} first; samples come with --data, examples with --examples")
        for text in given:
            if text == "--" or (self._subparsers is not None and text[:1] != "-"):
                break  # the rest are operands, or options of a command
            self._check_option(text)
        return super().parse_known_args(given, namespace)

    def _check_option(self, text: str) -> None:
        name = text.partition("=")[0]
        if name[:1] != "-" or name == "-" or " " in text or _NUMBER.match(text) or name in self._option_string_actions:
            return
        long_name = f"--{name.lstrip('-')}"
        options = [long_name] if long_name in self._option_string_actions else list(self._option_string_actions)
        close = close_names(long_name, options, 2, 0.75)
        hint = alternative(self.prog.rpartition(" ")[2], long_name) or (close and f"did you mean {' or '.join(close)}?")
        self.error(f"{name}: no such option" + (f"; {hint}" if hint else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = list(map(str, action.choices or ()))
            close = [choice for choice in choices if choice.startswith(f"{value}-")] or close_names(str(value), choices)
            if close:
                error.message += f"; did you mean {close[0]!r}?"
            elif action.dest == "command" and "." in str(value):
                error.message += f"; did you mean: promptpress render {value} ...?"
            elif action.dest == "command" and value == "help":
                error.message += "; promptpress COMMAND --help says what a command does"
            raise

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that wraps paragraphs for the terminal, but neither tables nor the lines of an example."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, max_help_position=26, **more)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        def wrapped(paragraph: str) -> str:
            is_set = paragraph.startswith(("  ", "example"))
            return paragraph if is_set else indent + fill(paragraph, width, break_on_hyphens=False)

        return "\n\n".join(map(wrapped, text.strip().split("\n\n")))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width, break_on_hyphens=False)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        text = super()._format_args(action, default_metavar)
        return f"{action.metavar}..." if action.nargs == argparse.ONE_OR_MORE else text


class _ShortHelp(argparse.Action):
    """Prints the short help of a command, and ends the process."""

    def __init__(self, option_strings: list[str], *, command: Command, **more: Any) -> None:
        super().__init__(
            option_strings, **{**more, "dest": argparse.SUPPRESS, "nargs": 0, "default": argparse.SUPPRESS}
        )
        self._command = command

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        command, every = self._command, sum(len(names) for _, names in self._command.groups())
        short = argparse.ArgumentParser(
            parser.prog,
            f"{parser.prog} {command.usage}",
            f"{command.sentence}\n\nexample:\n  {command.example}",
            f"--help-all explains all {every} options, in groups by stage." if every else None,
            formatter_class=_Formatter,
            add_help=False,
        )
        command.add_main_options(short)
        short.print_help()
        parser.exit()


class _WholeParser(_Parser):
    """The parser of the whole program."""

    def format_help(self) -> str:
        return overall_help()


_EXAMPLES = ("render", "show", "export")


def overall_help() -> str:
    """Return the help of the whole program: examples, and the commands by purpose."""
    lines = [
        "usage: promptpress COMMAND ...",
        "",
        "Render whole tables into prompts for language models: from a template, a Jinja template, a model's chat",
        "template or a harness's configuration.",
        "",
        "examples:",
        *(f"  {COMMANDS[name].example}" for name in _EXAMPLES),
    ]
    for purpose in dict.fromkeys(command.purpose for command in COMMANDS.values()):
        lines += ["", f"{purpose}:"]
        lines += [f"  {name:16}{command.summary}" for name, command in COMMANDS.items() if command.purpose == purpose]
    return "\n".join(
        [
            *lines,
            "",
            "promptpress COMMAND --help shows an example and the main options; --help-all explains all options.",
            "promptpress --version prints the version.",
            "",
        ]
    )


def make_parser(names: Container[str] = COMMANDS) -> argparse.ArgumentParser:
    """Make the parser of the whole program, with the options of the commands that are named.

    Most runs need the options of one command, and those of all would take a hundredth of a second.
    """
    parser = _WholeParser(prog="promptpress")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for command in COMMANDS.values():
        subparser = commands.add_parser(
            command.name,
            usage=f"promptpress {command.name} {command.usage}",
            help=command.summary,
            description=f"{command.sentence}\n\nexample:\n  {command.example}\n\n{command.more}",
            epilog=command.epilog,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        subparser.max_operands = command.max_operands
        if command.name in names:
            command.add_options(subparser)
            group = subparser.add_argument_group("help")
            group.add_argument("-h", "--help", action=_ShortHelp, command=command, help="explain the main options")
            group.add_argument("--help-all", action="help", help="explain all options")
    return parser


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line; None is the command line of the process."""
    given = sys.argv[1:] if argv is None else argv
    parser = make_parser([next((word for word in given if word[:1] != "-"), "")])
    arguments = parser.parse_args(given)
    if arguments.command is None and not arguments.version:
        *others, last = COMMANDS
        parser.error(f"a command is needed: {', '.join(others)} or {last}")
    _refuse_misplaced(arguments)
    return arguments


_COLUMN = re.compile(r"\{[^{}]*\}")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "n", "logprobs")
_DETOUR = (
    "`promptpress export trl-tokens --max-tokens 512 --out b.parquet` truncates; then `promptpress diff A b.parquet`"
)
_ALTERNATIVES = {
    ("show", "limit"): "--row 0-9 shows the first ten rows, and --max says how many of --grep",
    ("show", "html"): "promptpress view --html FILE writes a page",
    ("diff", "limit"): "--where chooses rows, and --max says how many differences are shown",
    ("diff", "max_tokens"): _DETOUR,
    ("diff", "truncation"): _DETOUR,
    ("tokenize", "order"): "token ids stay in the order of the samples; render has it for texts",
    ("view", "out"): "--html FILE writes some prompts into one file",
}
"""Hints for options that other commands have, keyed by command and option."""

_WORDS_OF_OTHERS = {
    **{"num_fewshot": "shots", "system_instruction": "system", "output_column": "answer", "prompt_column": "column"},
    **{"body": "params", "extra_body": "params", "sampling_params": "params", "body_columns": "params_columns"},
}
"""The options for words of harnesses, services and Python that mean the same."""

_WITHOUT_ERRORS = ("audit", "diff", "show", "stats", "view")


def _refuse_misplaced(arguments: Namespace) -> None:
    """Refuse a template, a row number or an API's model name in the place of a configuration."""
    if not hasattr(arguments, "template"):
        return
    for word in filter(None, [*_listed(getattr(arguments, "config", None)), getattr(arguments, "other", None)]):
        if _COLUMN.search(word) and not Path(word).exists():
            more = ", and --template-b TEXT for B" if arguments.command == "diff" else ""
            raise UsageError(f"{word!r}: this looks like a template, which --template TEXT gives{more}")
        if arguments.command == "show" and word.isdecimal() and not Path(word).exists():
            raise UsageError(f"{word}: this looks like a row, which --row {word} shows")
    for word in _listed(getattr(arguments, "model", None)):
        # The name of an API's model may contain a dot, but it doesn't end with a file's suffix.
        if not re.search(r"\.[A-Za-z]+$|://", word) and not Path(word).exists():
            hint = "; --model-name NAME is what an API calls it" if hasattr(arguments, "model_name") else ""
            raise UsageError(f"--model {word}: a file that says how a model's roles speak is needed{hint}")


def _listed(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def alternative(command: str, option: str) -> str | None:  # noqa: PLR0911 - a return for each kind of hint
    """Return a hint for an option that a command lacks but that has an equivalent; None if there is none."""
    name = option.lstrip("-").replace("-", "_")
    if (command, name) in _ALTERNATIVES:
        return _ALTERNATIVES[command, name]
    if command in COMMANDS and _WORDS_OF_OTHERS.get(name) in COMMANDS[command].options:
        return f"did you mean {option_name(_WORDS_OF_OTHERS[name])}?"
    if name == "errors" and command in _WITHOUT_ERRORS:
        return f"render, tokenize and export have it; {command} counts rows that can't be rendered, and goes on"
    if command == "export" and name in _PARAMETERS:
        return f"parameters of all requests go into --params '{{\"{name}\": ...}}'"
    if command == "join" and name in TEMPLATE_OPTIONS:
        return "of a template each request is a row of the samples: --table FILE takes the samples' own file"
    if command not in COMMANDS or name in COMMANDS[command].options:
        return None
    if name == "out":
        return f"{command} prints to standard output; > FILE keeps it"
    others = [other.name for other in COMMANDS.values() if name in OPTIONS and name in other.options]
    return f"it is for {', '.join(others)}" if others else None
