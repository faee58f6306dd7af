"""`promptpress render`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import add_jinja, has_own_source
from promptpress._cli.lm_eval_options import add_lm_eval, refuse_lm_eval
from promptpress._cli.options import (
    DATA_FORMATS,
    OUT_FORMATS,
    add_config,
    add_data,
    add_no_clobber,
    add_prompt_options,
    add_threads,
    add_traceback,
    names,
    natural,
    positive,
)

_DESCRIPTION = """\
Render every row of some files into the prompt that an LLM-evaluation harness would have built for it.

CONFIG is JSON, YAML, TOML or a harness's Python file, which is read as data and never executed. It holds arguments of
promptpress.Renderer (prompt_template, retriever, ...), a dataset dict (reader_cfg, infer_cfg), or a list of those
(datasets, ..._datasets). Or --template gives the prompt itself, --jinja a Jinja template, and --chat-template a model's
chat template, for conversations. A YAML task of lm-evaluation-harness gives the requests that the harness would make.
Files are told apart by suffix: .parquet, .arrow/.feather/.ipc (Arrow IPC), .jsonl/.ndjson, .json (an array of objects),
.csv, .tsv; any of them may end with .gz, .zst, .bz2 or .xz.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 7 done but for rows that
--skip-corrupt or --errors column names, 130 interrupted, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser, "; all takes every one, each into a file of the folder --out")
    add_jinja(parser)
    add_lm_eval(parser)
    add_data(parser, required=False)
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="the prompts: .parquet, .arrow, .jsonl or .csv, the last two also with .gz or .zst; - is standard output",
    )
    what = parser.add_argument_group("what is rendered, over what the configuration says")
    what.add_argument("--keep", type=names, action="extend", metavar="COL,COL", help="columns to keep, or: all")
    add_prompt_options(what)
    what.add_argument("--index", metavar="NAME", help="a first column of this name: the number of the sample, from 0")
    what.add_argument(
        "--hashes",
        action="store_true",
        default=None,
        help="a last column: hash, the first 16 bytes of each prompt's BLAKE3",
    )
    what.add_argument("--limit", type=natural, metavar="N", help="the first N samples only")

    how = parser.add_argument_group("how")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    how.add_argument("--out-format", choices=OUT_FORMATS, help="of --out, whatever the suffix")
    how.add_argument("--batch-size", type=positive, default=65536, metavar="N", help="samples at a time (65536)")
    how.add_argument(
        "--compression", metavar="NAME", help="Parquet: zstd (default), snappy, none, ...; Arrow: zstd, lz4"
    )
    add_threads(how)

    fault = parser.add_argument_group("when something goes wrong")
    fault.add_argument(
        "--resume",
        action="store_true",
        help="keep what is finished beside --out, and go on with what an earlier run has finished",
    )
    fault.add_argument("--errors", choices=("raise", "column"), help="of a row: end (default), or say it in a column")
    fault.add_argument(
        "--skip-corrupt", action="store_true", help="leave row groups of Parquet out that can't be read, and say so"
    )
    add_no_clobber(fault)

    talk = parser.add_argument_group("what is said")
    talk.add_argument("--print-first", action="store_true", help="print the first prompt as the model gets it")
    bar = talk.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="a progress bar even where stderr is no terminal")
    bar.add_argument("--quiet", action="store_true", help="neither a bar, nor notes, nor the summary")
    talk.add_argument("--strict", action="store_true", help="what is probably a mistake is an error (exit code 3)")
    add_traceback(talk)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.jobs import takes_all  # noqa: PLC0415
    from promptpress._cli.lm_eval_files import is_lm_eval, is_samples  # noqa: PLC0415
    from promptpress._cli.render import render  # noqa: PLC0415 - --help needn't wait for Arrow

    if is_lm_eval(arguments.config) and not is_samples(arguments.config):
        from promptpress._cli.render_lm_eval import render_lm_eval  # noqa: PLC0415 - a tenth of the start

        render_lm_eval(arguments)
        return ExitCode.OK
    refuse_lm_eval(arguments)
    if takes_all(arguments) and not has_own_source(arguments):
        from promptpress._cli.render_all import render_all  # noqa: PLC0415 - likewise

        return render_all(arguments)
    return render(arguments)


COMMAND = Command("render", "render files of samples into prompts", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
