"""Description and options of `promptpress verify`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.shell.option_values import natural
from promptpress_workbench.cli.shell.options import add_config, add_files, add_shared

_DESCRIPTION = """\
Render the rows of a dataset with the harness of CONFIG and with promptpress, and print the first difference.

CONFIG is a harness's dataset configuration, as for render. The harness (OpenCompass or AISBench) has to be installed.
It reads CONFIG itself, loads the dataset that CONFIG names, or takes the rows of --data and --examples, and runs
everything from its retriever to its model's parser. No model is loaded.

CONFIG may also be a YAML task of lm-evaluation-harness, whose requests are compared; or samples_TASK_DATE.jsonl of a
finished run, next to its results_DATE.json. Then the requests that were sent are compared with promptpress's requests
for the same documents. If the run used examples, --examples are the rows that they were drawn from.
"""

_EXIT_CODES = """\
exit codes: 0 all requests are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, or the
harness isn't installed, 4 data, or the dataset can't be loaded, 6 promptpress doesn't support the configuration,
130 interrupted, 143 terminated. With --dataset all or --model-abbr all: 1 if there is a difference, else the code of
an error, else 6.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser, "; 'all' compares every one")
    add = parser.add_argument
    samples = "the samples; default: the dataset that CONFIG names, as the harness loads it"
    add_files(parser, "--data", "--samples", help=samples)
    add_files(parser, "--examples", help="the rows that examples come from, with --data")
    add("--backend", action="store_true", help="don't compare: list the configurations that the bulk backend renders")
    add("--num-fewshot", type=natural, metavar="N", help="number of examples of a YAML task, instead of its own")
    add("--rows", "--limit", type=natural, metavar="N", help="only the first N samples")
    add("--dialect", choices=("opencompass", "aisbench"), help="the harness; default: by the class names in CONFIG")
    add_shared(parser, "--data-format", "--quiet", "--traceback")


COMMAND = Command(
    "verify",
    "compare with the harness's own prompts",
    _DESCRIPTION,
    _add_options,
    _EXIT_CODES,
    run="promptpress_workbench.cli.verify.verify:verify",
)
