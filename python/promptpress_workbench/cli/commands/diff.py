"""Description and options of `promptpress diff`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.option_values import natural
from promptpress_workbench.cli.sources.jinja_options import add_jinja
from promptpress_workbench.cli.sources.second_side import add_second_side

_DESCRIPTION = """\
Compare two ways of rendering the same samples. Count the requests that differ in the whole table, and show the first
of them side by side: the differences, what is around them, and their origins. Messages are aligned by their words.

A and B are configurations as for render, or files of prompts that render wrote. Without B, both sides are A, with other
options for B: --model M1 --model-b M2, --substitution-b single_pass, --template TEXT --template-b TEXT.
"""

_EXIT_CODES = """\
exit codes: 0 all requests are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, 4 data,
5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("config", metavar="A", nargs="?", help="a configuration, or a file of prompts")
    parser.add_argument("other", metavar="B", nargs="?", help="a second one; default: A, with the options for B")
    options.add_template(parser)
    add_jinja(parser)
    options.add_model(parser)
    options.add_data(parser, required=False)
    options.add_prompt_options(parser.add_argument_group(options.OVERRIDES))
    options.add_budget(parser)
    add_second_side(parser.add_argument_group("the same options for B; default: as for A"))

    display = parser.add_argument_group("display")
    display.add_argument("--max", type=natural, default=3, metavar="N", help="show the first N differences (3)")
    options.add_shared(display, "--whitespace", "--color")
    options.add_shared(display, "--json", help="print the counts and the first differences as JSON, for programs")

    data = parser.add_argument_group("data and execution")
    options.add_shared(data, "--where", "--data-format", "--prompt-column", "--threads", "--quiet")
    options.add_shared(data, "--traceback")
    parser.set_defaults(strict=False)


COMMAND = Command("diff", "compare two ways of rendering", _DESCRIPTION, _add_options, _EXIT_CODES, max_operands=2)
