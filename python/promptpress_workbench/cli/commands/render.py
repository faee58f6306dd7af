"""Description and options of `promptpress render`, and the choice of the code that runs it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import get_args

from promptpress.typing import RowPolicy

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.errors import ExitCode
from promptpress_workbench.cli.sources.jinja_options import add_jinja, has_jinja_source
from promptpress_workbench.cli.sources.lm_eval_tasks import add_lm_eval, is_lm_eval, is_samples, refuse_lm_eval
from promptpress_workbench.files.read.formats import FORMATS

_DESCRIPTION = f"""\
Render all rows of some files into the prompts that an LLM-evaluation harness would build from them.

CONFIG is JSON, YAML, TOML or a harness's Python file, which is read as data and never executed. It contains arguments
of promptpress.Renderer (prompt_template, retriever, ...), a dataset dict (reader_cfg, infer_cfg), or a list of those
(datasets, ..._datasets). Instead of CONFIG, --template gives the prompt itself, --jinja a Jinja template, and
--chat-template a model's chat template, for conversations. For a YAML task of lm-evaluation-harness, the requests of
the harness are written.

The suffix decides the format of a file. Samples are read from
{", ".join("/".join(suffixes) for suffixes in FORMATS.values())};
.json is an array of objects, and any of them may end with .gz, .zst, .bz2 or .xz.
"""

EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 7 done except for the rows of
--skip-corrupt, or with --strict those of --errors, 130 interrupted, 141 nobody reads standard output, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""


def add_execution(parser: ArgumentParser) -> None:
    """Add the options of how files are read and written, and of what becomes of faults."""
    how = parser.add_argument_group("execution")
    options.add_shared(how, "--data-format", "--out-format", "--batch-size", "--compression", "--threads")

    faults = parser.add_argument_group("faults")
    resume = "continue where an interrupted run stopped; finished parts are kept next to --out"
    faults.add_argument("--resume", action="store_true", help=resume)
    errors = (
        "a row that can't be rendered ends the run (raise, default), fills a column of errors, or is left out (skip)"
    )
    faults.add_argument("--errors", choices=get_args(RowPolicy), help=errors)
    skip = "leave out row groups of Parquet that can't be read, and report them"
    faults.add_argument("--skip-corrupt", action="store_true", help=skip)
    options.add_shared(faults, "--no-clobber")


def _add_options(parser: ArgumentParser) -> None:
    options.add_config(parser, "; 'all' renders every one, each into a file in the folder --out")
    add_jinja(parser)
    add_lm_eval(parser)
    options.add_data(parser, required=False)
    out = "the prompts: .parquet, .arrow, .jsonl or .csv, the last two also with .gz or .zst; - is standard output"
    parser.add_argument("--out", metavar="FILE", required=True, help=out)
    prompts = parser.add_argument_group(options.OVERRIDES)
    options.add_shared(prompts, "--keep")
    options.add_prompt_options(prompts)
    prompts.add_argument("--index", metavar="NAME", help="add a first column: the sample's number, from 0")
    options.add_shared(prompts, "--order")
    shared = "with --order: add columns of each prompt's group and of the bytes that it shares with the one before it"
    prompts.add_argument("--shared", action="store_true", default=None, help=shared)
    hashes = "add a last column, hash: the first 16 bytes of each prompt's BLAKE3"
    prompts.add_argument("--hashes", action="store_true", default=None, help=hashes)
    options.add_budget(parser)
    options.add_rows(parser.add_argument_group(options.ROWS), seed=False)

    add_execution(parser)

    messages = parser.add_argument_group("messages")
    messages.add_argument("--print-first", action="store_true", help="print the first prompt as the model gets it")
    options.add_progress(messages)
    options.add_shared(messages, "--strict", "--traceback")


def run(arguments: Namespace) -> ExitCode:
    """Render a configuration, all entries of a configuration, or an lm-eval task; return the exit code."""
    from promptpress_workbench.cli.render.jobs import takes_all  # noqa: PLC0415
    from promptpress_workbench.cli.render.render import render  # noqa: PLC0415 - --help needn't import what renders

    if is_lm_eval(arguments.config) and not is_samples(arguments.config):
        from promptpress_workbench.cli.render.render_lm_eval import render_lm_eval  # noqa: PLC0415 - a tenth of the start

        render_lm_eval(arguments)
        return ExitCode.OK
    refuse_lm_eval(arguments)
    if takes_all(arguments) and not has_jinja_source(arguments):
        from promptpress_workbench.cli.render.render_all import render_all  # noqa: PLC0415 - a tenth of the start

        return render_all(arguments)
    return render(arguments)


COMMAND = Command(
    "render",
    "render files of samples into prompts",
    _DESCRIPTION,
    _add_options,
    EXIT_CODES,
    run="promptpress_workbench.cli.commands.render:run",
)
