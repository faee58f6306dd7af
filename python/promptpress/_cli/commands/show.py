"""`promptpress show`: its options."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import add_jinja
from promptpress._cli.options import (
    DATA_FORMATS,
    add_config,
    add_data,
    add_prompt_options,
    add_threads,
    add_traceback,
    natural,
    positive,
)
from promptpress._cli.row_numbers import row_numbers

_DESCRIPTION = """\
Show prompts as the model gets them, coloured by where each piece comes from: the template, a column, an example, the
model's meta template, or an answer that is masked.

CONFIG is a configuration as for render, with samples by --data; or a file of prompts that render wrote. Characters that
can't be seen, or that would steer the terminal, are shown as Python writes them (\\x1b, \\u202e).
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


def pattern(text: str) -> re.Pattern[str]:
    """Read a regular expression.

    Raises:
        argparse.ArgumentTypeError: when it is none.

    Example:
        >>> pattern("a+").pattern
        'a+'

    """
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    add_data(parser, required=False)
    which = parser.add_argument_group("which prompts; default: the first row")
    one = which.add_mutually_exclusive_group()
    one.add_argument("--row", type=row_numbers, metavar="N,N-N", help="rows by number, from 0: 3,17,100-105")
    one.add_argument("--grep", type=pattern, metavar="REGEX", help="prompts in which a regular expression matches")
    one.add_argument("--longest", type=positive, metavar="N", help="the N longest, by bytes")
    one.add_argument("--shortest", type=positive, metavar="N", help="the N shortest")
    one.add_argument("--sample", type=positive, metavar="N", help="N rows at random")
    which.add_argument("--seed", type=natural, default=0, metavar="N", help="of --sample (0)")
    which.add_argument("--max", type=positive, default=10, metavar="N", help="of --grep: show the first N (10)")
    which.add_argument("--label", metavar="LABEL", help="the prompt of this label only (ppl)")
    which.add_argument("--turn", type=natural, metavar="N", help="the prompt of this turn only")

    how = parser.add_argument_group("how they are shown")
    how.add_argument("--whitespace", action="store_true", help="show spaces, tabs, line feeds and other spaces")
    how.add_argument("--origins", action="store_true", help="list the pieces with where they come from")
    how.add_argument("--tokenizer", metavar="FILE|NAME", help="count tokens: a tokenizer.json, or a model in the cache")
    how.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")

    what = parser.add_argument_group("what is rendered, over what the configuration says")
    add_prompt_options(what)
    data = parser.add_argument_group("data")
    data.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    data.add_argument("--prompt-column", metavar="NAME", help="of a file of prompts: their column (prompt)")
    add_threads(data)
    data.add_argument("--quiet", action="store_true", help="no notes")
    add_traceback(data)
    parser.set_defaults(strict=False)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.show import show  # noqa: PLC0415 - --help needn't wait for Arrow

    show(arguments)
    return ExitCode.OK


COMMAND = Command("show", "show prompts, coloured by origin", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
