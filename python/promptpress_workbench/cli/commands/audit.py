"""Description and options of `promptpress audit`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import get_args

from promptpress.typing import Mask

from promptpress_workbench.audit.codes import LIMITS
from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.option_values import names, natural
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Check all samples and their prompts for mistakes: answers in prompts, samples among their own examples, values treated
as templates or control tokens, equal prompts, empty prompts, and more. No model is needed. docs/audit.md lists all
findings.

CONFIG is a configuration as for render. Known findings can be allowed by code, with --allow or in the configuration:
audit: {allow: [CODE, ...]}.
"""

_EXIT_CODES = """\
exit codes: 0 no finding as serious as --fail-on, 1 such a finding or an unexpected error, 2 command line,
3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    options.add_config(parser)
    add_jinja(parser)
    options.add_data(parser)
    checks = parser.add_argument_group("checks")
    checks.add_argument("--allow", type=names, action="extend", metavar="CODE,CODE", help="findings to leave out")
    checks.add_argument("--only", type=names, action="extend", metavar="CODE,CODE", help="findings to look for (all)")
    for name, limit in LIMITS.items():
        checks.add_argument(options.option_name(f"max_{name}"), type=natural, metavar="N", help=limit.help)
    options.add_shared(checks, "--tokenizer")
    mask = "with --tokenizer: what is trained, as for tokenize; its mask is checked"
    checks.add_argument("--mask", choices=get_args(Mask), help=mask)
    errors = "a row that can't be rendered ends the run (raise, default), or is a finding and in no other check (skip)"
    checks.add_argument("--errors", choices=("raise", "skip"), help=errors)
    options.add_prompt_options(checks)
    options.add_budget(parser, tokenizer=None)
    options.add_rows(parser.add_argument_group(options.ROWS))

    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=("table", "json", "jsonl"), help="default: by suffix of --out, else table")
    out.add_argument("--out", metavar="FILE", help="write the findings into a file: .json, .jsonl, or any for a table")
    out.add_argument(
        "--fail-on",
        choices=("error", "warning", "info", "never"),
        default="error",
        help="exit code 1 for findings of this or a higher severity (error)",
    )
    options.add_shared(out, "--color")
    options.add_progress(out)

    how = parser.add_argument_group("execution")
    options.add_shared(how, "--data-format", "--batch-size", "--threads", "--traceback")


COMMAND = Command("audit", "find mistakes in all prompts of a table", _DESCRIPTION, _add_options, _EXIT_CODES)
