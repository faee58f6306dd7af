"""`promptpress view`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.options import (
    DATA_FORMATS,
    add_data,
    add_no_clobber,
    add_prompt_options,
    add_template,
    add_threads,
    add_traceback,
    natural,
)

_DESCRIPTION = """\
Open a page of your browser that shows every prompt: a list of millions of rows that scrolls at once, and each prompt in
the colours of where its pieces come from. Search in all prompts, switch model, mode, output and substitution, compare
two configurations side by side, see lengths and duplicates.

CONFIG is as for render; several can be switched between. Without CONFIG, --data is a file of prompts that were rendered
before. The page is served on this machine alone, at an address with a secret part, until Ctrl-C. Nothing is loaded from
elsewhere. With --html FILE no page is opened: the prompts of --rows are written into one file to pass on.
"""

_EXIT_CODES = """\
exit codes: 0 done (Ctrl-C too), 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="*", help="prompt configurations; none: --data is rendered already")
    add(
        "--model",
        metavar="CONFIG",
        nargs="+",
        action="extend",
        help="model configurations; the first is shown, and all can be chosen",
    )
    add_template(parser)
    pick = parser.add_argument_group("where a file holds several, which is shown first")
    pick.add_argument("--dataset", metavar="NAME", help="by its abbr or the variable that holds it")
    pick.add_argument("--model-abbr", metavar="NAME", help="by its abbr")
    add_data(parser)
    add_prompt_options(parser.add_argument_group("what is shown first, over what the configuration says"))
    page = parser.add_argument_group("the page")
    page.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    page.add_argument("--port", type=natural, default=0, metavar="N", help="default: any that is free")
    file = parser.add_argument_group("a file instead of the page")
    file.add_argument("--html", metavar="FILE", help="write chosen rows into one self-contained file")
    add_no_clobber(file)
    file.add_argument("--rows", type=rows, metavar="0,17,...", help="which rows; default: the first ten")
    how = parser.add_argument_group("how")
    how.add_argument("--limit", type=natural, metavar="N", help="the first N samples only")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    add_threads(how)
    how.add_argument("--quiet", action="store_true", help="no notes")
    add_traceback(how)


def rows(text: str) -> list[int]:
    """Read row numbers between commas.

    Raises:
        argparse.ArgumentTypeError: for anything else.

    Example:
        >>> rows("0,17")
        [0, 17]

    """
    return [natural(one.strip()) for one in text.split(",")]


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.view import view  # noqa: PLC0415 - --help needn't wait for Arrow

    view(arguments)
    return ExitCode.OK


COMMAND = Command("view", "look at every prompt in the browser", _DESCRIPTION, _EXIT_CODES, _add_options, _run, None)
