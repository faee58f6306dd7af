"""Description and options of `promptpress show`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell.option_values import natural, pattern, positive, row_numbers
from promptpress_workbench.cli.shell.options import (
    OVERRIDES,
    add_budget,
    add_config,
    add_data,
    add_prompt_options,
    add_shared,
)
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Show prompts as the model gets them, coloured by the origin of each piece: the template, a column, an example, the
model's meta template, or a masked answer. Chats that were rendered to one text are coloured by role and control token.

CONFIG is a configuration as for render, with samples from --data; or a file of prompts that render wrote. Characters
that are invisible or would control the terminal are shown as Python escapes (\\x1b, \\u202e).
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    add_data(parser, required=False)
    which = parser.add_argument_group("which prompts (default: the first row)")
    choice = which.add_mutually_exclusive_group().add_argument
    choice("--row", type=row_numbers, metavar="N,N-N", help="rows by number, from 0: 3,17,100-105")
    choice("--grep", type=pattern, metavar="REGEX", help="prompts that a regular expression matches")
    choice("--longest", type=positive, metavar="N", help="the N longest prompts, by bytes")
    choice("--shortest", type=positive, metavar="N", help="the N shortest prompts, by bytes")
    choice("--sample", type=positive, metavar="N", help="N random rows")
    add_shared(which, "--seed", "--where")
    which.add_argument("--max", type=positive, default=10, metavar="N", help="the most prompts of --grep to show (10)")
    which.add_argument("--label", metavar="LABEL", help="only the prompt of this label (ppl)")
    which.add_argument("--turn", type=natural, metavar="N", help="only the prompt of this turn")

    display = parser.add_argument_group("display")
    add_shared(display, "--whitespace")
    display.add_argument("--origins", action="store_true", help="list the pieces with their origins")
    add_shared(display, "--tokenizer", "--color")

    add_prompt_options(parser.add_argument_group(OVERRIDES))
    add_budget(parser, tokenizer=None)
    data = parser.add_argument_group("data and execution")
    add_shared(data, "--data-format", "--prompt-column", "--threads", "--quiet", "--traceback")
    parser.set_defaults(strict=False)


COMMAND = Command("show", "show prompts, coloured by origin", _DESCRIPTION, _add_options)
