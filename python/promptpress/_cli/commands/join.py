"""`promptpress join`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.options import (
    DATA_FORMATS,
    OUT_FORMATS,
    add_data,
    add_model,
    add_no_clobber,
    add_prompt_options,
    add_threads,
    add_traceback,
    names,
    natural,
)

_DESCRIPTION = """\
Bring the results of batches back to the rows that were asked, by custom_id, in the rows' order.

RESULTS are the output and error files of OpenAI's Batch API, vLLM or LiteLLM, in any order and any number; some results
may be missing. --table is what was exported: a rendered file, or the samples themselves where each is one request; or,
with --data, the configuration that was exported, whose rows are rendered again.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        help="files of results, JSON lines; .gz and the like, patterns, folders and - too",
    )
    what = "rendered rows, or the samples; with --data, the configuration"
    parser.add_argument("--table", metavar="FILE", required=True, help=what)
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="rows and answers: .parquet, .arrow, .jsonl, .csv; - is JSONL on stdout",
    )
    ids = parser.add_argument_group("what is joined")
    ids.add_argument("--custom-id", metavar="PATTERN", help="as it was exported; default: as for export")
    ids.add_argument("--choices", action="store_true", help="a list of all choices in the place of the first")
    ids.add_argument("--raw", action="store_true", help="add each result as it came, as JSON")
    ids.add_argument("--prefix", default="", metavar="TEXT", help="what the new columns' names begin with")

    again = parser.add_argument_group("with --data, where --table is a configuration")
    add_data(again, required=False)
    add_model(parser)
    again.add_argument("--keep", type=names, action="extend", metavar="COL,COL", help="columns to keep (all)")
    add_prompt_options(again)
    again.add_argument("--limit", type=natural, metavar="N", help="the first N samples only")

    how = parser.add_argument_group("how")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, or of --table, whatever the suffix")
    add_no_clobber(how)
    how.add_argument("--out-format", choices=OUT_FORMATS, help="of --out, whatever the suffix")
    how.add_argument("--compression", metavar="NAME", help="Parquet: zstd (default), snappy, ...; Arrow: zstd, lz4")
    add_threads(how)
    how.add_argument("--quiet", action="store_true", help="neither notes nor the summary")
    how.add_argument("--strict", action="store_true", help="what is probably a mistake is an error (exit code 3)")
    add_traceback(how)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.join import join  # noqa: PLC0415 - --help needn't wait for Arrow

    join(arguments)
    return ExitCode.OK


COMMAND = Command(
    "join",
    "bring the results of batches back to the rows that were asked",
    _DESCRIPTION,
    _EXIT_CODES,
    _add_options,
    _run,
    max_operands=None,
)
