"""The command line: its options, and what they are turned into."""

from __future__ import annotations

import argparse
import json
from typing import Any, NoReturn

from .errors import UsageError

_DESCRIPTION = """\
Render every row of some files into the prompt that an LLM-evaluation harness would have built for it.

CONFIG is JSON, YAML, TOML or a harness's Python file, which is read as data and never executed. It holds arguments of
promptpress.Renderer (prompt_template, retriever, ...), a dataset dict (reader_cfg, infer_cfg), or a list of those
(datasets, ..._datasets). Files are told apart by suffix: .parquet, .arrow/.feather/.ipc (Arrow IPC), .jsonl/.ndjson.
"""

_VERIFY = """\
Render the rows of a dataset with the harness that CONFIG is for, and with promptpress, and print the first difference.

CONFIG is a harness's dataset configuration, as for render. The harness (OpenCompass or AISBench) has to be installed;
it reads CONFIG itself, loads the dataset that CONFIG names, or takes the rows of --data and --examples, and goes from
its retriever to its model's parser. No model is loaded.
"""

_VERIFY_CODES = """\
exit codes: 0 all requests are equal, 1 a difference, or something unexpected, 2 command line, 3 configuration, or the
harness isn't installed, 4 data, or the dataset can't be loaded, 130 interrupted, 143 terminated.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""

_FORMATS = ("parquet", "arrow", "jsonl")


class _Parser(argparse.ArgumentParser):
    """A parser that tells its errors as the rest of the command does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line.

    Args:
        argv: the arguments; those of the process when None.

    Returns:
        The options, by name.

    Raises:
        UsageError: when they make no sense.
        SystemExit: after `--help` or `--version`.

    Example:
        >>> parse(["render", "job.json", "--data", "a.parquet", "--out", "b.jsonl", "--keep", "id,answer"]).keep
        ['id', 'answer']

    """
    parser = _Parser(prog="promptpress", description="Bulk prompt rendering for LLM evaluation.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_render(commands)
    _add_verify(commands)
    arguments = parser.parse_args(argv)
    if arguments.command is None and not arguments.version:
        parser.error("a command is needed: render or verify")
    return arguments


def _add_render(commands: argparse._SubParsersAction[Any]) -> None:
    render = commands.add_parser(
        "render",
        help="render files of samples into prompts",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = render.add_argument
    _add_config(render)
    add(
        "--data",
        metavar="FILE",
        nargs="+",
        action="extend",
        required=True,
        help="the samples; several files in order, of one schema",
    )
    add(
        "--examples",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="the rows that few-shot examples come from (the train split)",
    )
    add("--out", metavar="FILE", required=True, help="the prompts: .parquet, .arrow or .jsonl; - is JSONL on stdout")

    what = render.add_argument_group("what is rendered, over what the configuration says")
    what.add_argument("--keep", type=_names, action="extend", metavar="COL,COL", help="columns to keep, or: all")
    what.add_argument("--output", choices=("text", "messages", "prompt_list", "messages_json"))
    what.add_argument("--mode", choices=("gen", "ppl"))
    what.add_argument("--labels", type=_labels, metavar="A,B", help="labels to render in ppl; or a JSON list")
    what.add_argument("--substitution", choices=("harness", "single_pass"))
    what.add_argument("--dialect", help="whose rules decide where harnesses differ: opencompass, aisbench, openicl")
    what.add_argument("--strings", choices=("string", "large_string", "string_view"), help="layout of prompts in Arrow")
    what.add_argument("--limit", type=_natural, metavar="N", help="the first N samples only")

    how = render.add_argument_group("how")
    how.add_argument("--data-format", choices=_FORMATS, help="of --data, whatever the suffix")
    how.add_argument("--out-format", choices=_FORMATS, help="of --out, whatever the suffix")
    how.add_argument("--batch-size", type=_positive, default=65536, metavar="N", help="samples at a time (65536)")
    how.add_argument(
        "--compression", metavar="NAME", help="Parquet: zstd (default), snappy, none, ...; Arrow: zstd, lz4"
    )
    how.add_argument("--threads", type=_positive, metavar="N", help="default: all cores that the process may use")

    talk = render.add_argument_group("what is said")
    talk.add_argument("--print-first", action="store_true", help="print the first prompt as the model gets it")
    bar = talk.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="a progress bar even where stderr is no terminal")
    bar.add_argument("--quiet", action="store_true", help="neither a bar, nor notes, nor the summary")
    talk.add_argument("--strict", action="store_true", help="what is probably a mistake is an error (exit code 3)")
    talk.add_argument("--traceback", action="store_true", help="show where in the code an error comes from")


def _add_verify(commands: argparse._SubParsersAction[Any]) -> None:
    verify = commands.add_parser(
        "verify",
        help="compare with the harness's own prompts",
        description=_VERIFY,
        epilog=_VERIFY_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_config(verify)
    add = verify.add_argument
    add(
        "--data",
        "--samples",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="the samples; default: the dataset that CONFIG names, as the harness loads it",
    )
    add("--examples", metavar="FILE", nargs="+", action="extend", help="with --data: the rows that examples come from")
    add("--rows", "--limit", type=_natural, metavar="N", help="the first N samples only")
    add("--dialect", choices=("opencompass", "aisbench"), help="which harness, where CONFIG's class names don't tell")
    add("--data-format", choices=_FORMATS, help="of --data, whatever the suffix")
    add("--quiet", action="store_true", help="no notes")
    add("--traceback", action="store_true", help="show where in the code an error comes from")


def _add_config(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("config", metavar="CONFIG", help="the prompt configuration")
    add("--model", metavar="CONFIG", help="a model configuration: its meta template and class; default: CONFIG's own")
    pick = command.add_argument_group("where a file holds several")
    pick.add_argument("--dataset", metavar="NAME", help="which dataset, by its abbr or the variable that holds it")
    pick.add_argument("--model-abbr", metavar="NAME", help="which model, by its abbr")


def _names(text: str) -> list[str]:
    return text.split(",")


def _labels(text: str) -> list[Any]:
    if not text.lstrip().startswith("["):
        return list(text.split(","))
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON list: {error}") from None


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)
