"""Description and options of `promptpress view`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.option_values import natural, naturals
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Open a page in the browser that shows all prompts: a list of millions of rows that scrolls at once, and each prompt in
the colours of its origins; chats are coloured by role and control token. Search all prompts, switch model, mode, output
and substitution, compare two configurations or models side by side, and see lengths and duplicates.

CONFIG is as for render, with samples from --data; the page can switch between several. Or CONFIG is a file of prompts
that render wrote. The page is served on this machine only, at an address with a secret part, until Ctrl-C. Nothing is
loaded from elsewhere. With --html FILE no page is opened; instead, the prompts of --rows are written into one file.
"""

_EXIT_CODES = """\
exit codes: 0 done (Ctrl-C too), 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    configs = "prompt configurations, or a file of rendered prompts; without them, --data is already rendered"
    parser.add_argument("config", metavar="CONFIG", nargs="*", help=configs)
    models = "model configurations; the page begins with the first, and with two models side by side"
    options.add_files(parser, "--model", metavar="CONFIG", help=models)
    options.add_template(parser)
    add_jinja(parser)
    first = parser.add_argument_group("the entry to show first, if a file contains several")
    first.add_argument("--dataset", metavar="NAME", help="the dataset's abbr, or the variable that holds it")
    first.add_argument("--model-abbr", metavar="NAME", help="the model's abbr")
    options.add_data(parser, required=False)
    options.add_prompt_options(
        parser.add_argument_group("the first prompts (these options override the configuration)")
    )
    options.add_budget(parser)
    page = parser.add_argument_group("the page")
    page.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    page.add_argument("--port", type=natural, default=0, metavar="N", help="default: any free port")
    file = parser.add_argument_group("a file instead of the page")
    file.add_argument("--html", metavar="FILE", help="write some rows into one self-contained file")
    options.add_shared(file, "--no-clobber")
    file.add_argument("--rows", type=naturals, metavar="0,17,...", help="the rows to write; default: the first ten")
    options.add_rows(parser.add_argument_group(options.ROWS))
    options.add_shared(
        parser.add_argument_group("execution"),
        *("--data-format", "--prompt-column", "--threads", "--quiet", "--traceback"),
    )
    parser.set_defaults(strict=False)


COMMAND = Command(
    "view", "browse all prompts in the browser", _DESCRIPTION, _add_options, _EXIT_CODES, max_operands=None
)
