"""The command line: its options, and what they are turned into."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import sys
from typing import Any, NoReturn

from promptpress._cli.commands import COMMANDS
from promptpress._cli.commands.command import Command
from promptpress._cli.meant import other_way, refuse_misplaced
from promptpress._file_errors import UsageError

_NUMBER = re.compile(r"-\d+(\.\d*)?$")


class _Parser(argparse.ArgumentParser):
    """A parser that tells its errors as the rest of the command does, and what was probably meant."""

    max_operands: int | None = 1

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Look at the options first: one that is misspelt leaves another one missing, which isn't what is wrong."""
        given = sys.argv[1:] if args is None else list(args)
        leading = list(itertools.takewhile(lambda text: text[:1] != "-", given))
        most = self.max_operands
        if self._subparsers is None and most is not None and len(leading) > most:
            what = "one CONFIG comes" if most == 1 else f"{most} operands come"
            self.error(f"{leading[most]}: {what} first; samples come with --data, examples with --examples")
        for text in given:
            if text == "--" or (self._subparsers is not None and text[:1] != "-"):
                break  # what follows are no options, or those of a command
            self._check_option(text)
        return super().parse_known_args(given, namespace)

    def _check_option(self, text: str) -> None:
        name = text.partition("=")[0]
        if name[:1] != "-" or name == "-" or " " in text or _NUMBER.match(text) or name in self._option_string_actions:
            return
        meant = f"--{name.lstrip('-')}"
        options = [meant] if meant in self._option_string_actions else list(self._option_string_actions)
        close = difflib.get_close_matches(meant, options, 2, 0.75)
        hint = other_way(self.prog.rpartition(" ")[2], meant) or (close and f"did you mean {' or '.join(close)}?")
        self.error(f"{name}: no such option" + (f"; {hint}" if hint else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = list(map(str, action.choices or ()))
            begun = [choice for choice in choices if choice.startswith(f"{value}-")]
            close = begun or difflib.get_close_matches(str(value), choices, 1)
            if close:
                error.message += f"; did you mean {close[0]!r}?"
            elif action.dest == "command" and "." in str(value):
                error.message += f"; did you mean: promptpress render {value} ...?"
            elif action.dest == "command" and value == "help":
                error.message += "; promptpress COMMAND --help says what a command does"
            raise

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line.

    Args:
        argv: the arguments; those of the process when None.

    Returns:
        The options, by name.

    Raises:
        UsageError: when they make no sense.
        SystemExit: after `--help` or `--version`.

    Example:
        >>> parse(["render", "job.json", "--data", "a.parquet", "--out", "b.jsonl", "--keep", "id,answer"]).keep
        ['id', 'answer']

    """
    parser = _Parser(prog="promptpress", description="Bulk prompt rendering for LLM evaluation.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS.values():
        _add(commands, command)
    arguments = parser.parse_args(argv)
    if arguments.command is None and not arguments.version:
        *others, last = COMMANDS
        parser.error(f"a command is needed: {', '.join(others)} or {last}")
    refuse_misplaced(arguments)
    return arguments


def _add(commands: argparse._SubParsersAction[_Parser], command: Command) -> None:
    parser = commands.add_parser(
        command.name,
        help=command.summary,
        description=command.description,
        epilog=command.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.max_operands = command.max_operands
    command.add_options(parser)
