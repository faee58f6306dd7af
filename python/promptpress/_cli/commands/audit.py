"""`promptpress audit`: its options."""

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
    names,
    natural,
    positive,
)

_DESCRIPTION = """\
Go over all samples and their prompts, and say what is wrong or odd: answers in prompts, samples among their own
examples, values that are taken for a template or for control tokens, equal and empty prompts, and more. No model is
needed. docs/audit.md lists every finding.

CONFIG is a configuration as for render. Findings that are known are allowed by --allow, or in the configuration:
audit: {allow: [CODE, ...]}.
"""

_EXIT_CODES = """\
exit codes: 0 nothing is found that is as serious as --fail-on, 1 something is, or something unexpected, 2 command line,
3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    add_data(parser)
    what = parser.add_argument_group("what is looked for")
    what.add_argument("--allow", type=names, action="extend", metavar="CODE,CODE", help="findings that are known")
    what.add_argument("--max-bytes", type=natural, metavar="N", help="prompts that are longer are found")
    what.add_argument("--max-tokens", type=natural, metavar="N", help="likewise, by --tokenizer")
    what.add_argument(
        "--tokenizer",
        metavar="FILE",
        help="the model's: a Hugging Face tokenizer.json, its folder, or the name of a model in the local cache",
    )
    add_prompt_options(what)
    what.add_argument("--limit", type=natural, metavar="N", help="the first N rows only")

    out = parser.add_argument_group("what is said")
    out.add_argument("--format", choices=("table", "json", "jsonl"), help="default: table; of --out, by its suffix")
    out.add_argument("--out", metavar="FILE", help="write the findings into a file: .json, .jsonl, or any for a table")
    out.add_argument(
        "--fail-on",
        choices=("error", "warning", "info", "never"),
        default="error",
        help="exit code 1 for findings of this severity and more serious ones (error)",
    )
    out.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    bar = out.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="a progress bar even where stderr is no terminal")
    bar.add_argument("--quiet", action="store_true", help="neither a bar nor notes nor summary")

    how = parser.add_argument_group("how")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    how.add_argument("--batch-size", type=positive, default=65536, metavar="N", help="rows at a time (65536)")
    add_threads(how)
    add_traceback(how)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.audit import audit  # noqa: PLC0415 - --help needn't wait for Arrow

    return audit(arguments)


COMMAND = Command("audit", "what is wrong in a whole table's prompts", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
