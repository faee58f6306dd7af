"""Description and options of `promptpress join`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import EXIT_CODES, Command
from promptpress_workbench.cli.shell.options import (
    add_budget,
    add_data,
    add_files,
    add_model,
    add_prompt_options,
    add_shared,
)

_DESCRIPTION = """\
Join the results of batches to the rows of their requests by custom_id, in the order of the rows.

RESULTS are the output and error files of OpenAI's Batch API, vLLM or LiteLLM, in any order and number; results may be
missing. --table is the exported table: a rendered file, or the samples themselves if each of them is one request. With
--data, --table is the exported configuration, and the samples are rendered again.
"""


def _add_options(parser: ArgumentParser) -> None:
    results = "files of results, JSON lines; also compressed files, patterns, folders and -"
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=results)
    table = "rendered rows, or the samples; with --data, the configuration"
    parser.add_argument("--table", metavar="FILE", required=True, help=table)
    out = "rows and answers: .parquet, .arrow, .jsonl, .csv; - writes JSON lines to stdout"
    parser.add_argument("--out", metavar="FILE", required=True, help=out)
    columns = parser.add_argument_group("ids and columns").add_argument
    columns("--custom-id", metavar="PATTERN", help="the pattern of the export; default: the default of export")
    columns("--choices", action="store_true", help="a list of all choices instead of the first one")
    columns("--raw", action="store_true", help="add each result as JSON, as it was received")
    columns("--prefix", default="", metavar="TEXT", help="the beginning of the new columns' names")

    second = parser.add_argument_group("a second try")
    retry = "a file for the requests that failed or have no result, as they were sent; both results are joined later"
    second.add_argument("--retry", metavar="FILE", help=retry)
    add_files(second, "--requests", help="the batch files that were sent, from which --retry takes them")

    again = parser.add_argument_group("with --data, if --table is a configuration")
    add_data(again, required=False)
    add_model(parser)
    add_shared(again, "--keep", help="columns to keep (all)")
    add_prompt_options(again)
    add_budget(parser)
    add_shared(again, "--limit")

    how = parser.add_argument_group("execution")
    add_shared(how, "--data-format", help="the format of --data, or else of --table; default: by suffix")
    add_shared(how, "--no-clobber", "--out-format", "--compression", "--threads")
    add_shared(how, "--quiet", help="no notes and no summary")
    add_shared(how, "--strict", "--traceback")


COMMAND = Command(
    "join",
    "join the results of batches to the rows of their requests",
    _DESCRIPTION,
    _add_options,
    f"{EXIT_CODES}Whatever goes wrong, --out is either complete or untouched.\n",
    max_operands=None,
)
