"""`promptpress stats`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

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

_DESCRIPTION = """\
Say how long the prompts of some files are, what their bytes come from, and which of them are the same.

CONFIG is a configuration as for render, with samples by --data, and nothing is written; or a file of prompts that
render wrote. Values of the data are shown, never sent to the terminal: what isn't printable is escaped.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    add_data(parser, required=False)
    what = parser.add_argument_group("what is measured")
    what.add_argument("--prompt-column", metavar="NAME", help="of a file of prompts: their column (prompt)")
    what.add_argument(
        "--tokenizer",
        metavar="FILE",
        help="count tokens too: a Hugging Face tokenizer.json, its folder, or the name of a model in the local cache",
    )
    add_prompt_options(what)
    what.add_argument("--limit", type=natural, metavar="N", help="the first N rows only")

    how = parser.add_argument_group("how")
    how.add_argument("--json", action="store_true", help="one JSON object, for machines")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of the data or the prompts, whatever the suffix")
    how.add_argument("--batch-size", type=positive, default=65536, metavar="N", help="rows at a time (65536)")
    add_threads(how)

    talk = parser.add_argument_group("what is said")
    bar = talk.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="a progress bar even where stderr is no terminal")
    bar.add_argument("--quiet", action="store_true", help="neither a bar nor notes")
    add_traceback(talk)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.stats import stats  # noqa: PLC0415 - --help needn't wait for Arrow

    stats(arguments)
    return ExitCode.OK


COMMAND = Command("stats", "lengths, origins and duplicates of prompts", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
