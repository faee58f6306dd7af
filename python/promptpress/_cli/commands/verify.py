"""`promptpress verify`: its options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.options import DATA_FORMATS, add_config, add_traceback, natural

_DESCRIPTION = """\
Render the rows of a dataset with the harness that CONFIG is for, and with promptpress, and print the first difference.

CONFIG is a harness's dataset configuration, as for render. The harness (OpenCompass or AISBench) has to be installed;
it reads CONFIG itself, loads the dataset that CONFIG names, or takes the rows of --data and --examples, and goes from
its retriever to its model's parser. No model is loaded.

CONFIG may be a YAML task of lm-evaluation-harness, whose requests are compared; or samples_TASK_DATE.jsonl of a
finished run, beside its results_DATE.json: the requests that were sent are compared with those for the documents in it.
Where a run showed examples, --examples are the rows that they were drawn from.
"""

_EXIT_CODES = """\
exit codes: 0 all requests are equal, 1 a difference, or something unexpected, 2 command line, 3 configuration, or the
harness isn't installed, 4 data, or the dataset can't be loaded, 6 promptpress doesn't support it, 130 interrupted,
143 terminated. With --dataset all, or --model-abbr all: 1 if there is a difference, else an error's, else 6.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser, "; all takes every one")
    add = parser.add_argument
    add(
        "--data",
        "--samples",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="the samples; default: the dataset that CONFIG names, as the harness loads it",
    )
    add("--examples", metavar="FILE", nargs="+", action="extend", help="the rows that examples come from, with --data")
    add("--backend", action="store_true", help="don't compare: list what the bulk backend would render, and what not")
    add("--num-fewshot", type=natural, metavar="N", help="of a YAML task: how many examples, whatever it says")
    add("--rows", "--limit", type=natural, metavar="N", help="the first N samples only")
    add("--dialect", choices=("opencompass", "aisbench"), help="which harness, where CONFIG's class names don't tell")
    add("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    add("--quiet", action="store_true", help="no notes")
    add_traceback(parser)


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.verify import verify  # noqa: PLC0415 - --help needn't wait for Arrow

    return verify(arguments)


COMMAND = Command("verify", "compare with the harness's own prompts", _DESCRIPTION, _EXIT_CODES, _add_options, _run)
