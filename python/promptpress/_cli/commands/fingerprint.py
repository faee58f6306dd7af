"""`promptpress fingerprint`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import add_jinja
from promptpress._cli.options import DATA_FORMATS, add_config, add_prompt_options, add_traceback

_DESCRIPTION = """\
Say in one short text what decides the bytes of the prompts, to know a configuration again.

CONFIG is a configuration as for render. Two runs with one fingerprint make the same prompts of the same samples, on any
machine; files that render wrote have it in their metadata. Of a harness's dataset OpenCompass's own prompt hash comes
with it.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    parser.add_argument(
        "--examples",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="the rows that few-shot examples come from (the train split)",
    )
    add_prompt_options(parser.add_argument_group("over what the configuration says"))
    how = parser.add_argument_group("how")
    how.add_argument("--json", action="store_true", help="one JSON object, for machines")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --examples, whatever the suffix")
    how.add_argument("--quiet", action="store_true", help="no notes")
    add_traceback(how)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.fingerprint import fingerprint  # noqa: PLC0415 - --help needn't wait for Arrow

    fingerprint(arguments)
    return ExitCode.OK


COMMAND = Command("fingerprint", "a configuration in one short text", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
