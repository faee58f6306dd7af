"""`promptpress diff`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import add_jinja
from promptpress._cli.options import (
    DATA_FORMATS,
    add_data,
    add_model,
    add_prompt_options,
    add_template,
    add_threads,
    add_traceback,
    natural,
)
from promptpress._cli.second_side import add_second_side

_DESCRIPTION = """\
Compare two ways of rendering the same samples: how many requests differ over the whole table, and the first of them
side by side, with what differs and where it comes from.

A and B are configurations as for render, or files of prompts that render wrote. Without B both sides are A, with other
options for B: --model M1 --model-b M2, --substitution-b single_pass, --template TEXT --template-b TEXT.
"""

_EXIT_CODES = """\
exit codes: 0 all requests are equal, 1 a difference, or something unexpected, 2 command line, 3 configuration, 4 data,
5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("config", metavar="A", nargs="?", help="a configuration, or a file of prompts")
    parser.add_argument("other", metavar="B", nargs="?", help="another; default: A, with options for B")
    add_template(parser)
    add_jinja(parser)
    add_model(parser)
    add_data(parser, required=False)
    what = parser.add_argument_group("what is rendered, over what the configurations say")
    add_prompt_options(what)
    add_second_side(parser.add_argument_group("the same of B; default: as A's"))

    how = parser.add_argument_group("how differences are shown")
    how.add_argument("--max", type=natural, default=3, metavar="N", help="show the first N (3)")
    how.add_argument("--whitespace", action="store_true", help="show spaces, tabs, line feeds and other spaces")
    how.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    how.add_argument("--json", action="store_true", help="for programs: counts and the first differences as JSON")

    data = parser.add_argument_group("data")
    data.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    data.add_argument("--prompt-column", metavar="NAME", help="of files of prompts: their column (prompt)")
    add_threads(data)
    data.add_argument("--quiet", action="store_true", help="no notes")
    add_traceback(data)
    parser.set_defaults(strict=False)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.diff import diff  # noqa: PLC0415 - --help needn't wait for Arrow

    return diff(arguments)


COMMAND = Command(
    "diff", "compare two ways of rendering", _DESCRIPTION, _EXIT_CODES, _add_options, _run, max_operands=2
)
