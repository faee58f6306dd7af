"""The command line: its options, and what they are turned into."""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import re
import sys
from typing import Any, NoReturn, get_args

from promptpress.typing import Dialect, Mode, Output, StringLayout, Substitution

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
harness isn't installed, 4 data, or the dataset can't be loaded, 6 promptpress doesn't support it, 130 interrupted,
143 terminated. With --dataset all, or --model-abbr all: 1 if there is a difference, else an error's, else 6.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""

_FORMATS = ("parquet", "arrow", "jsonl")
_NUMBER = re.compile(r"-\d+(\.\d*)?$")


class _Parser(argparse.ArgumentParser):
    """A parser that tells its errors as the rest of the command does, and what was probably meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Look at the options first: one that is misspelt leaves another one missing, which isn't what is wrong."""
        given = sys.argv[1:] if args is None else list(args)
        leading = list(itertools.takewhile(lambda text: text[:1] != "-", given))
        if self._subparsers is None and len(leading) > 1:
            self.error(f"{leading[1]}: one CONFIG comes first; samples come with --data, examples with --examples")
        for text in given:
            if text == "--" or (self._subparsers is not None and text[:1] != "-"):
                break  # what follows are no options, or those of a command
            self._check_option(text)
        return super().parse_known_args(given, namespace)

    def _check_option(self, text: str) -> None:
        name = text.partition("=")[0]
        if name[:1] != "-" or name == "-" or " " in text or _NUMBER.match(text) or name in self._option_string_actions:
            return
        meant = f"--{name.lstrip('-')}"
        options = [meant] if meant in self._option_string_actions else list(self._option_string_actions)
        close = difflib.get_close_matches(meant, options, 2, 0.75)
        self.error(f"{name}: no such option" + (f"; did you mean {' or '.join(close)}?" if close else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            close = difflib.get_close_matches(str(value), list(map(str, action.choices or ())), 1)
            if close:
                error.message += f"; did you mean {close[0]!r}?"
            elif action.dest == "command" and "." in str(value):
                error.message += f"; did you mean: promptpress render {value} ...?"
            raise

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
    what.add_argument("--output", choices=get_args(Output))
    what.add_argument("--mode", choices=get_args(Mode))
    what.add_argument("--labels", type=_labels, metavar="A,B", help="labels to render in ppl; or a JSON list")
    what.add_argument("--substitution", choices=get_args(Substitution))
    what.add_argument("--dialect", choices=get_args(Dialect), help="whose rules decide where harnesses differ")
    what.add_argument("--strings", choices=get_args(StringLayout), help="layout of prompts in Arrow")
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
    _add_config(verify, "; all takes every one")
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
    add("--backend", action="store_true", help="don't compare: list what the bulk backend would render, and what not")
    add("--rows", "--limit", type=_natural, metavar="N", help="the first N samples only")
    add("--dialect", choices=("opencompass", "aisbench"), help="which harness, where CONFIG's class names don't tell")
    add("--data-format", choices=_FORMATS, help="of --data, whatever the suffix")
    add("--quiet", action="store_true", help="no notes")
    add("--traceback", action="store_true", help="show where in the code an error comes from")


def _add_config(command: argparse.ArgumentParser, more: str = "") -> None:
    add = command.add_argument
    add("config", metavar="CONFIG", help="the prompt configuration")
    add("--model", metavar="CONFIG", help="a model configuration: its meta template and class; default: CONFIG's own")
    pick = command.add_argument_group("where a file holds several")
    pick.add_argument(
        "--dataset", metavar="NAME", help=f"which dataset, by its abbr or the variable that holds it{more}"
    )
    pick.add_argument("--model-abbr", metavar="NAME", help=f"which model, by its abbr{more}")


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
