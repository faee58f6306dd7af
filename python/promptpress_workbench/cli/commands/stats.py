"""Description and options of `promptpress stats`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Measure the prompts of some files: their lengths, the origins of their bytes, and their duplicates.

CONFIG is a configuration as for render, with samples from --data; no prompts are written. Or CONFIG is a file of
prompts that render wrote. Values of the data are printed with all unprintable characters escaped.
"""


def _add_options(parser: ArgumentParser) -> None:
    options.add_config(parser)
    add_jinja(parser)
    options.add_data(parser, required=False)
    measures = parser.add_argument_group("measurements")
    options.add_shared(measures, "--prompt-column", "--tokenizer")
    options.add_prompt_options(measures)
    options.add_budget(parser, tokenizer=None)
    options.add_rows(parser.add_argument_group(options.ROWS))

    how = parser.add_argument_group("execution")
    options.add_shared(how, "--json")
    options.add_shared(how, "--data-format", help="the format of the data or the prompts; default: by suffix")
    options.add_shared(how, "--batch-size", "--threads")
    errors = (
        "a row that can't be rendered ends the run (raise, default), or is left out (skip); origins are left out then"
    )
    how.add_argument("--errors", choices=("raise", "skip"), help=errors)

    messages = parser.add_argument_group("messages")
    options.add_progress(messages)
    options.add_shared(messages, "--traceback")
    parser.set_defaults(strict=False)


COMMAND = Command("stats", "lengths, origins and duplicates of prompts", _DESCRIPTION, _add_options)
