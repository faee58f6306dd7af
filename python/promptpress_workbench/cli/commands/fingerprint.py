"""Description and options of `promptpress fingerprint`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Print the fingerprint of a configuration and its examples: 64 hexadecimal digits that identify everything that decides
the bytes of the prompts.

CONFIG is a configuration as for render. Two runs with the same fingerprint make the same prompts from the same samples,
on any machine. Files that render wrote have the fingerprint in their metadata. For a harness's dataset, OpenCompass's
own prompt hash is printed too.
"""


def _add_options(parser: ArgumentParser) -> None:
    options.add_config(parser)
    add_jinja(parser)
    options.add_files(parser, "--examples", help=options.EXAMPLES)
    options.add_prompt_options(parser.add_argument_group(options.OVERRIDES))
    options.add_budget(parser)
    how = parser.add_argument_group("execution")
    options.add_shared(how, "--json")
    options.add_shared(how, "--data-format", help="the format of --examples; default: by suffix")
    options.add_shared(how, "--quiet", "--traceback")


COMMAND = Command("fingerprint", "identify a configuration by 64 digits", _DESCRIPTION, _add_options)
