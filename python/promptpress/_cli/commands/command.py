"""What a command of the command line is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from promptpress._cli.errors import ExitCode


@dataclass(frozen=True)
class Command:
    """A command: what help says of it, its options, and what runs it.

    Args:
        name: as it is typed.
        summary: one line, for the list of commands.
        description: what stands above the options.
        epilog: what stands below them, such as the exit codes.
        add_options: adds the options to the command's parser. An option that isn't there isn't in the namespace, but
            for `quiet` and `traceback`, which every command must have.
        run: does what the options say, and gives the exit code. It raises what `promptpress._cli.command` explains.
        max_operands: how many words may stand before the first option; None: any number.

    Example:
        >>> Command("nothing", "do nothing", "", "", lambda parser: None, lambda arguments: ExitCode.OK).max_operands
        1

    """

    name: str
    summary: str
    description: str
    epilog: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], ExitCode]
    max_operands: int | None = 1
