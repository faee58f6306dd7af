"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol, get_args

from promptpress._cli.shell.option_values import delimiter, encoding, labels, limits, names, natural, positive, roles
from promptpress._errors.file_errors import OutputError, UsageError
from promptpress._io.read.chosen_rows import RowChoice
from promptpress._io.read.formats import FORMATS, DataFormat
from promptpress._io.write.formats import OUT_FORMATS
from promptpress._io.write.output_file import STDOUT, STDOUT_DEVICES, is_stream
from promptpress.typing import Dialect, FitLabels, FitRule, Mode, Output, RequestOrder, StringLayout, Substitution

EXAMPLES = "the rows that few-shot examples come from (the train split)"
OVERRIDES = "prompts (these options override the configuration)"
"""The title of the group that `add_prompt_options` fills."""


_COUNTING = "count tokens for the budget with a tokenizer.json, its folder, or a model in the local cache"

BUDGET_OPTIONS = ("max_seq_len", "fit", "reserve", "fit_labels")
"""Options of `add_budget`, by their attributes, which are arguments of `Renderer` too."""

ROWS = "some of the samples"
"""The title of the group that `add_rows` fills."""

_SHARED: dict[str, dict[str, Any]] = {
    "--batch-size": {"type": positive, "default": 65536, "metavar": "N", "help": "samples in a batch (65536)"},
    "--color": {"choices": ("auto", "always", "never"), "default": "auto", "help": "auto: colours on a terminal"},
    "--compression": {"metavar": "NAME", "help": "Parquet: zstd (default), snappy, none, ...; Arrow: zstd, lz4"},
    "--data-format": {"choices": tuple(FORMATS), "help": "the format of --data; default: by suffix"},
    "--delimiter": {"type": delimiter, "metavar": "CHAR", "help": "what is between the fields of CSV; or: tab"},
    "--encoding": {"type": encoding, "metavar": "NAME", "help": "of text files: gbk, cp1252, utf-16 (utf-8)"},
    "--records": {"metavar": "KEY", "help": "the key under which a .json file has its array of rows"},
    "--json": {"action": "store_true", "help": "print one JSON object, for programs"},
    "--keep": {"type": names, "action": "extend", "metavar": "COL,COL", "help": "columns to keep; or: all"},
    "--limit": {"type": natural, "metavar": "N", "help": "only the first N samples"},
    "--sample": {"type": positive, "metavar": "N", "help": "only N random samples"},
    "--seed": {"type": natural, "metavar": "N", "help": "the seed of --sample (0)"},
    "--where": {
        "metavar": "SQL",
        "help": "only the samples for which a condition holds: \"level > 3 AND topic = 'sums'\"",
    },
    "--no-clobber": {"action": "store_true", "help": "refuse to overwrite an output that exists"},
    "--order": {"choices": get_args(RequestOrder), "help": "prefix: put prompts with equal beginnings together"},
    "--out-format": {"choices": tuple(OUT_FORMATS), "help": "the format of --out; default: by suffix"},
    "--prompt-column": {"metavar": "NAME", "help": "the column of prompts in a rendered file (prompt)"},
    "--quiet": {"action": "store_true", "help": "no notes"},
    "--strict": {"action": "store_true", "help": "treat notes on probable mistakes as errors (exit code 3)"},
    "--threads": {"type": positive, "metavar": "N", "help": "default: all cores that the process may use"},
    "--tokenizer": {
        "metavar": "FILE|NAME",
        "help": "count tokens with a Hugging Face tokenizer.json, its folder, or a model in the local cache",
    },
    "--traceback": {"action": "store_true", "help": "print the Python traceback of an error"},
    "--whitespace": {"action": "store_true", "help": "mark spaces, tabs, line feeds and other spaces"},
}
"""Options that several commands have, for `add_shared`."""


FORMAT_OPTIONS = ("data_format", "delimiter", "encoding", "records")
"""Options that say how files are read, by their attributes."""


class OptionGroup(Protocol):
    """An object that options are added to: a parser, or a group of its options."""

    def add_argument(self, *names: str, **keywords: Any) -> Any: ...


class OptionParser(OptionGroup, Protocol):
    """A parser, as far as options are added to it."""

    def add_argument_group(self, title: str, /) -> OptionGroup: ...


def add_shared(group: OptionGroup, *options: str, **keywords: Any) -> None:
    """Add some options of the table of shared options; `keywords` replace those of the table."""
    for option in options:
        group.add_argument(option, **{**_SHARED[option], **keywords})
        if option == "--data-format":
            add_shared(group, *(option_name(name) for name in FORMAT_OPTIONS if name != "data_format"))


def option_name(name: str) -> str:
    """Return the option of an attribute of the parsed arguments.

    >>> option_name("batch_size")
    '--batch-size'

    """
    return f"--{name.replace('_', '-')}"


def first_given(arguments: argparse.Namespace, names: Iterable[str]) -> str | None:
    """Return the first of some options that the command line contains; None if it contains none of them."""
    return next((option_name(name) for name in names if getattr(arguments, name, None) is not None), None)


def add_config(parser: OptionParser, all_hint: str = "") -> None:
    """Add the operand CONFIG, the template that can replace it, and the model's configuration."""
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="the prompt configuration")
    add_template(parser)
    add_model(parser, all_hint)


def add_template(parser: OptionParser) -> None:
    """Add the options of a template that replaces CONFIG."""
    add = parser.add_argument_group("instead of CONFIG").add_argument
    add("--template", metavar="TEXT", help="the prompt, with columns in braces: 'Q: {question}'")
    add("--system", metavar="TEXT", help="a system message before the prompt; prompts are then messages")
    add("--output-column", metavar="COL", help="the answer column. Examples show it; the question doesn't")
    add("--shots", type=positive, metavar="N", help="put the first N rows of --examples before each prompt")
    add("--shots-seed", type=natural, metavar="N", help="draw each prompt's examples with this seed instead")


def add_model(parser: OptionParser, all_hint: str = "") -> None:
    """Add the model and the choice of several; `all_hint` ends the helps, and says what the name `all` chooses."""
    add = parser.add_argument
    add("--model", metavar="CONFIG", help="a model configuration: meta template and class; default: CONFIG's own model")
    choose = parser.add_argument_group("if a file contains several").add_argument
    choose("--dataset", metavar="NAME", help=f"the dataset's abbr, or the variable that holds it{all_hint}")
    choose("--model-abbr", metavar="NAME", help=f"the model's abbr{all_hint}")


def add_data(parser: OptionGroup, *, required: bool = True) -> None:
    """Add the files of samples and of examples."""
    files = "the samples: files of one schema, in order; also folders, 'part-*.csv', FOLDER:SPLIT, URLs, - (stdin)"
    add_files(parser, "--data", required=required, help=files)
    add_files(parser, "--examples", help=EXAMPLES)


def add_files(parser: OptionGroup, *options: str, **keywords: Any) -> None:
    """Add an option that takes one or more files and can be repeated."""
    parser.add_argument(*options, nargs="+", action="extend", **{"metavar": "FILE", **keywords})


def add_prompt_options(parser: OptionGroup) -> None:
    """Add the options that override settings of a configuration."""
    add = parser.add_argument
    add("--output", choices=get_args(Output), help="the output form")
    add("--roles", type=roles, metavar="A=B,C=D", help="openai: names of roles, as in CRITIC=user; or a JSON object")
    add("--mode", choices=get_args(Mode), help="gen: a prompt for each sample; ppl: a prompt for each label")
    add("--labels", type=labels, metavar="A,B", help="ppl: the labels to render; or a JSON list")
    add("--substitution", choices=get_args(Substitution), help="single_pass leaves braces in the data alone")
    add("--dialect", choices=get_args(Dialect), help="the harness whose rules apply where harnesses differ")
    add("--strings", choices=get_args(StringLayout), help="the Arrow type of prompts")
    add("--limits", type=limits, metavar="A=N,B=N", help="upper limits: prompt_bytes=4000000, labels=10")


def add_budget(parser: OptionParser, *, tokenizer: str | None = _COUNTING) -> None:
    """Add the options of a budget of tokens; `tokenizer` is the help of `--tokenizer`, unless the command has it."""
    group = parser.add_argument_group("a budget of tokens, which --tokenizer counts")
    if tokenizer is not None:
        add_shared(group, "--tokenizer", help=tokenizer)
    add = group.add_argument
    most = "leave out examples until a prompt has at most N tokens; default: the configuration's max_seq_len"
    add("--max-seq-len", type=natural, metavar="N", help=most)
    rule = "the examples that are left out: by the harness's rule (harness, default), or from that end of the examples"
    add("--fit", choices=get_args(FitRule), help=rule)
    add("--reserve", type=natural, metavar="N", help="keep N of the tokens free for the answer; with --fit first, last")
    of_labels = "ppl, with --fit first, last: all labels of a sample get the same examples (jointly), or not (each)"
    add("--fit-labels", choices=get_args(FitLabels), help=of_labels)


class OptionList:
    """Records the options that are added to it, each with the keywords of the call."""

    def __init__(self) -> None:
        self.added: list[tuple[argparse.Action, dict[str, Any]]] = []
        self._parser = argparse.ArgumentParser(add_help=False)

    def add_argument(self, *names: str, **keywords: Any) -> None:
        action = self._parser.add_argument(*names, **keywords)
        if action.option_strings:
            self.added.append((action, keywords))

    def add_argument_group(self, _: str, /) -> OptionList:
        """Return the same list, because groups make no difference here."""
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The options by their attributes."""
        return tuple(action.dest for action, _ in self.added)


def add_configuration(options: OptionParser) -> None:
    """Add all options that decide how a configuration is rendered, with its examples."""
    add_config(options)
    add_prompt_options(options)
    add_budget(options)
    add_files(options, "--examples", help="the rows of examples")


@cache
def configuration_options(*without: str) -> tuple[str, ...]:
    """Return the options of `add_configuration` by their attributes, without some."""
    options = OptionList()
    add_configuration(options)
    return tuple(name for name in options.names if name not in without)


def add_rows(group: OptionGroup, *, seed: bool = True) -> None:
    """Add the options that choose some of the samples; `seed` is false if the command has another `--seed`."""
    add_shared(group, "--where", "--limit", "--sample")
    if seed:
        add_shared(group, "--seed")


def format_of(arguments: argparse.Namespace) -> DataFormat:
    """Return what a command line says of the format of files."""
    return DataFormat(*(getattr(arguments, name, None) for name in FORMAT_OPTIONS))


def row_choice(arguments: argparse.Namespace) -> RowChoice:
    """Return the rows that `--where` and `--sample` choose."""
    seed = getattr(arguments, "seed", None)
    if seed is not None and arguments.sample is None:
        raise UsageError("--seed: goes with --sample N, which draws rows at random")
    return RowChoice(arguments.where, arguments.sample, seed or 0)


def refuse_clobber(arguments: argparse.Namespace) -> None:
    """Refuse the outputs of a command line if they exist and `--no-clobber` is given."""
    if "all" in (getattr(arguments, "dataset", None), getattr(arguments, "model_abbr", None)):
        return  # the output is a folder; its files are checked when their names are known
    refuse_existing(arguments, [getattr(arguments, name, None) for name in ("out", "html", "retry")])


def refuse_existing(arguments: argparse.Namespace, paths: Iterable[str | None]) -> None:
    """Refuse the first of some paths that exists, if `--no-clobber` is given."""
    if not getattr(arguments, "no_clobber", False):
        return
    for path in paths:
        if path is None or path in (STDOUT, *STDOUT_DEVICES) or is_stream(path):
            continue
        if os.path.lexists(path):
            raise OutputError(f"{path}: is there already, and --no-clobber keeps it")


def add_progress(group: argparse._ArgumentGroup) -> None:
    """Add `--progress` and `--quiet`, which exclude each other."""
    bar = group.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="show a progress bar even if stderr is no terminal")
    add_shared(bar, "--quiet", help="no progress bar, no notes and no summary")
