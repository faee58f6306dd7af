"""The description of a command, from which its parser is built."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


@dataclass(frozen=True)
class Command:
    """A command: its help texts, its options, and the function that runs it.

    Args:
        name: The word on the command line.
        summary: The line in the list of commands.
        description: The help text above the options.
        add_options: Adds the options to the command's parser. Every command needs `quiet` and `traceback`; other
            options may be missing.
        run: The function that runs the command, as `module:function`. It is imported only when the command runs. It
            takes the parsed arguments, returns an exit code, or None for success, and raises the errors that
            `promptpress_workbench.cli.process` reports.
        epilog: The help text below the options.
        max_operands: The number of words that may precede the first option; None is any number.

    """

    name: str
    summary: str
    description: str
    add_options: Callable[[argparse.ArgumentParser], None]
    epilog: str = EXIT_CODES
    run: str = ""
    max_operands: int | None = 1
