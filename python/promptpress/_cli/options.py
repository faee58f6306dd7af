"""Options that several commands share, and the values that options take."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any, Protocol, get_args

from promptpress.typing import Dialect, Mode, Output, StringLayout, Substitution

DATA_FORMATS = ("parquet", "arrow", "jsonl", "json", "csv", "tsv")
"""Formats that a file of samples may be said to have."""

OUT_FORMATS = ("parquet", "arrow", "jsonl", "csv")
"""Formats that prompts may be written in."""


class _Options(Protocol):
    """A parser, or a group of it."""

    def add_argument(self, *names: str, **keywords: Any) -> Any: ...


def add_config(parser: ArgumentParser, more: str = "") -> None:
    """Add the configuration, the model's, and which of several.

    Args:
        parser: the command's.
        more: what else may be said where a file holds several, for help.

    """
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="the prompt configuration")
    add_template(parser)
    add_model(parser, more)


def add_template(parser: ArgumentParser) -> None:
    """Add a template in the place of a configuration; `promptpress._cli.template_option` reads it.

    Args:
        parser: the command's.

    """
    add = parser.add_argument_group("instead of CONFIG").add_argument
    add("--template", metavar="TEXT", help="the prompt, with columns in braces: 'Q: {question}'")
    add("--system", metavar="TEXT", help="what the system says before it: prompts are messages then")
    add("--output-column", metavar="COL", help="the column of the answers: examples show it, the question itself never")
    add("--shots", type=positive, metavar="N", help="the first N rows of --examples stand before it, answers and all")


def add_model(parser: ArgumentParser, more: str = "") -> None:
    """Add the model's configuration, and which of several a file holds.

    Args:
        parser: the command's.
        more: what else may be said where a file holds several, for help.

    """
    parser.add_argument(
        "--model", metavar="CONFIG", help="a model configuration: its meta template and class; default: CONFIG's own"
    )
    pick = parser.add_argument_group("where a file holds several")
    pick.add_argument(
        "--dataset", metavar="NAME", help=f"which dataset, by its abbr or the variable that holds it{more}"
    )
    pick.add_argument("--model-abbr", metavar="NAME", help=f"which model, by its abbr{more}")


def add_data(parser: _Options, *, required: bool = True) -> None:
    """Add the files of samples and of examples.

    Args:
        parser: the command's.
        required: whether there must be samples.

    """
    parser.add_argument(
        "--data",
        metavar="FILE",
        nargs="+",
        action="extend",
        required=required,
        help="the samples: files in order, of one schema; or folders, 'part-*.csv', FOLDER:SPLIT, URLs, - (stdin)",
    )
    parser.add_argument(
        "--examples",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="the rows that few-shot examples come from (the train split)",
    )


def add_prompt_options(parser: _Options) -> None:
    """Add what is said of prompts over what the configuration says; `promptpress._cli.configured_renderer` reads it.

    Args:
        parser: the command's, or a group of it.

    """
    add = parser.add_argument
    add("--output", choices=get_args(Output))
    add("--roles", type=roles, metavar="A=B,C=D", help="openai: what roles are called, CRITIC=user; or a JSON object")
    add("--mode", choices=get_args(Mode))
    add("--labels", type=labels, metavar="A,B", help="labels to render in ppl; or a JSON list")
    add("--substitution", choices=get_args(Substitution))
    add("--dialect", choices=get_args(Dialect), help="whose rules decide where harnesses differ")
    add("--strings", choices=get_args(StringLayout), help="layout of prompts in Arrow")
    add("--limits", type=limits, metavar="A=N,B=N", help="how much may be asked for: prompt_bytes=4000000, labels=10")


def add_threads(parser: _Options) -> None:
    """Add how many threads work; `promptpress._cli.threads` obeys.

    Args:
        parser: the command's, or a group of it.

    """
    parser.add_argument("--threads", type=positive, metavar="N", help="default: all cores that the process may use")


def add_no_clobber(parser: _Options) -> None:
    """Add what becomes of an output that is there; `promptpress._cli.clobber` obeys.

    Args:
        parser: the command's, or a group of it.

    """
    parser.add_argument("--no-clobber", action="store_true", help="an output that is there already is an error")


def add_traceback(parser: _Options) -> None:
    """Add how much an error says.

    Args:
        parser: the command's, or a group of it.

    """
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error comes from")


def names(text: str) -> list[str]:
    """Read names between commas.

    Example:
        >>> names("id,answer")
        ['id', 'answer']

    """
    return text.split(",")


def labels(text: str) -> list[Any]:
    """Read labels: texts between commas, or a JSON list.

    Raises:
        argparse.ArgumentTypeError: when what begins as a JSON list is none.

    Example:
        >>> labels("A,B"), labels("[1, true]")
        (['A', 'B'], [1, True])

    """
    if not text.lstrip().startswith("["):
        return list(text.split(","))
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no JSON list: {error}") from None


def limits(text: str) -> dict[str, int]:
    """Read limits: pairs between commas, or a JSON object.

    Raises:
        argparse.ArgumentTypeError: when it is neither, names a limit twice, or one isn't a number.

    Example:
        >>> limits("prompt_bytes=4_000_000,labels=10")
        {'prompt_bytes': 4000000, 'labels': 10}

    """
    try:
        if text.lstrip().startswith("{"):
            entries = json.loads(text, object_pairs_hook=list)
        else:
            entries = [(name.strip(), int(number)) for name, number in (pair.split("=", 1) for pair in text.split(","))]
        if len(dict(entries)) == len(entries) and all(type(number) is int for _, number in entries):
            return dict(entries)
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(f"{text!r}: expected NAME=NUMBER,NAME=NUMBER, each name once, or a JSON object of them")


def roles(text: str) -> dict[str, str]:
    """Read names of roles: pairs between commas, or a JSON object.

    Raises:
        argparse.ArgumentTypeError: when it is neither, or names a role twice.

    Example:
        >>> roles("HUMAN=user,CRITIC=developer")
        {'HUMAN': 'user', 'CRITIC': 'developer'}

    """
    if text.lstrip().startswith("{"):
        try:
            entries = json.loads(text, object_pairs_hook=list)
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r} is no JSON object: {error}") from None
    else:
        entries = [tuple(map(str.strip, pair.split("=", 1))) for pair in text.split(",")]
    named: dict[str, str] = {}
    for entry in entries:
        if len(entry) != 2 or not all(isinstance(name, str) and name for name in entry):
            raise ArgumentTypeError(f"{text!r}: expected ROLE=NAME,ROLE=NAME or a JSON object of them")
        if named.setdefault(entry[0], entry[1]) != entry[1]:
            raise ArgumentTypeError(f"{text!r}: says twice what {entry[0]!r} is called")
    return named


def positive(text: str) -> int:
    """Read a whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: for anything else.

    Example:
        >>> positive("7")
        7

    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def natural(text: str) -> int:
    """Read a whole number from 0 on.

    Raises:
        argparse.ArgumentTypeError: for anything else.

    Example:
        >>> natural("0")
        0

    """
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)
