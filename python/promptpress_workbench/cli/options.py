"""The table of all options and operands of the command line by stage, from which every list of them is taken."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Iterable
from typing import Any, TypeAlias, get_args

from promptpress import typing as names_of

from promptpress_workbench.audit.codes import LIMITS
from promptpress_workbench.cli import option_values as values
from promptpress_workbench.export.forms import EXPORTS, MaskColumn
from promptpress_workbench.files.read.formats import FORMATS
from promptpress_workbench.files.write.formats import OUT_FORMATS

Keywords: TypeAlias = dict[str, Any]
"""The keywords of `add_argument`."""


def _value(metavar: str, text: str, kind: Any = None, **more: Any) -> Keywords:
    return {"metavar": metavar, "help": text, "type": kind, **more}


def _flag(text: str, **more: Any) -> Keywords:
    return {"action": "store_true", "help": text, **more}


def _choice(choices: Iterable[str], text: str, **more: Any) -> Keywords:
    return {"choices": tuple(choices), "metavar": "|".join(choices), "help": text, **more}


def _files(text: str, metavar: str = "FILE") -> Keywords:
    return {"nargs": "+", "action": "extend", "metavar": metavar, "help": text}


def _list(metavar: str, text: str) -> Keywords:
    return {"type": values.names, "action": "extend", "metavar": metavar, "help": text}


def _named_values(text: str) -> Keywords:
    return {"type": values.named_value, "nargs": "+", "action": "extend", "metavar": "NAME=VALUE", "help": text}


OPERANDS: dict[str, Keywords] = {
    "kind": _choice(EXPORTS, f"one of {', '.join(EXPORTS)}", metavar="FORM"),
    "config": _value("CONFIG", "a configuration: .yaml, .json, .toml, a harness's .py", nargs="?"),
    "other": _value("B", "a second one; default: A with the options for B", nargs="?"),
    "results": _value(
        "RESULTS", "files of results, JSON lines; also compressed files, patterns, folders, -", nargs="+"
    ),
    "paths": _value("DIR|FILE", "models' folders, tokenizer_config.json, .jinja files, folders of these", nargs="+"),
    "shell": _choice(("bash", "zsh", "fish"), "the shell", metavar="SHELL"),
}

GROUPS: dict[str, dict[str, Keywords]] = {
    "samples": {
        "data": _files("samples: files, folders, patterns, URLs, - (stdin)"),
        "examples": _files("the rows of few-shot examples (the train split)"),
        "where": _value("SQL", "only rows for which a condition holds: 'level > 3'"),
        "limit": _value("N", "only the first N rows", values.natural),
        "sample": _value("N", "only N random rows", values.positive),
        "seed": _value("N", "the seed of --sample (0)", values.natural),
        "row": _value("N,N-N", "rows by number, from 0: 3,17,100-105", values.row_numbers),
        "grep": _value("REGEX", "prompts that match a regular expression", values.pattern),
        "longest": _value("N", "the N longest prompts: by bytes, or with --tokenizer by tokens", values.positive),
        "shortest": _value("N", "the N shortest prompts, in the same way", values.positive),
        "failed": _flag("rows that can't be rendered, with their errors"),
        "max": _value("N", "show at most N prompts of --grep and --failed (10)", values.positive, default=10),
        "label": _value("LABEL", "ppl: show only the prompt of this label"),
        "turn": _value("N", "show only the prompt of this turn", values.natural),
        "table": _value("FILE", "the exported table; with --data, the exported configuration", required=True),
        "requests": _files("the batch files that were sent; --retry copies requests from them"),
    },
    "samples (how files are read)": {
        "data_format": _choice(FORMATS, "the format of --data; default: by suffix"),
        "delimiter": _value("CHAR", "the character between the fields of CSV; or: tab", values.delimiter),
        "encoding": _value("NAME", "the encoding of text files: gbk, cp1252, utf-16 (utf-8)", values.encoding),
        "records": _value("KEY", "the key of a .json file that holds the array of rows"),
        "skip_corrupt": _flag("leave out row groups of Parquet that can't be read, and report them"),
        "batch_size": _value("N", "rows in a batch (as many as make 16 MB)", values.positive),
    },
    "template": {
        "template": _value("TEXT|@FILE", "the prompt, with columns in braces: 'Q: {question}'", values.text),
        "system": _value("TEXT|@FILE", "a system message; prompts are then messages", values.text),
        "optional_system": _flag(
            "leave --system out of rows in which it is empty, or a column in it null", default=None
        ),
        "answer": _value("COL", "answer column. Examples show it; the question doesn't"),
        "shots": _value("N", "put the first N rows of --examples before the prompt", values.natural),
        "shots_seed": _value("N", "draw each prompt's examples at random, with this seed", values.natural),
        "unknown": _choice(
            get_args(names_of.Unknown),
            "a placeholder that is probably a misspelt column is an error (refuse, default), or text (keep)",
        ),
    },
    "template (Jinja)": {
        "jinja": _value("FILE|TEXT", "a Jinja template or its file: 'Q: {{ question }}'"),
        "jinja_option": _named_values(
            "an option of Jinja2's environment, as JSON or text: trim_blocks=true, undefined=strict"
        ),
        "constant": _named_values("a variable of --jinja, the same in all rows, as JSON or text: language=French"),
        "environment": _choice(
            ("jinja2", "transformers", "lm_eval"),
            "the rules to render by (jinja2; for a chat template: transformers)",
        ),
        "fallback": _choice(
            ("jinja2", "refuse"),
            "rows that can't be compiled exactly are rendered by Jinja2 (default), or are errors (refuse)",
        ),
    },
    "template (a harness's configuration)": {
        "dataset": _value("NAME", "the dataset, if CONFIG contains several: its abbr or its variable"),
        "model": _value("CONFIG", "a model configuration; default: CONFIG's own model"),
        "model_abbr": _value("NAME", "the model, if a configuration contains several: its abbr"),
        "mode": _choice(get_args(names_of.Mode), "gen: a prompt for each row; ppl: a prompt for each label"),
        "labels": _value("A,B", "ppl: the labels to render; or a JSON list", values.labels),
        "substitution": _choice(
            get_args(names_of.Substitution), "fill braces within values too (harness), or only the template's"
        ),
        "dialect": _choice(get_args(names_of.Dialect), "the harness whose rules apply where harnesses differ"),
        "limits": _value("A=N,B=N", "upper limits: prompt_bytes=4000000, labels=10", values.limits),
    },
    "template (a task of lm-evaluation-harness)": {
        "fewshot_as_multiturn": _flag(
            "make chats: messages, or --chat-template's texts, with each example in its own", default=None
        ),
        "processed_docs": _flag("--data contains the results of the task's process_docs", default=None),
    },
    "messages": {
        "output": _choice(get_args(names_of.Output), "the form of a prompt"),
        "roles": _value(
            "A=B,C=D",
            "openai, chat template: other names of roles, as in CRITIC=user; or a JSON object",
            values.roles,
        ),
        "column": _value("NAME", "the column of conversations (messages), or of a rendered file's prompts (prompt)"),
        "input_column": _value("COL", "the column that becomes the input"),
        "chosen": _value("COL", "the column of the better answers"),
        "rejected": _value("COL", "the column of the worse answers"),
        "chosen_label": _value(
            "COL", "the column of the right label: its row is chosen, rows of other labels are rejected"
        ),
    },
    "chat template": {
        "chat_template": _value("PATH", "a model's chat template: the model's folder or a file"),
        "chat_argument": _named_values(
            "another argument of the chat template, as JSON or text: enable_thinking=false, tools=[...]"
        ),
        "argument_column": {
            "type": values.argument_column,
            "nargs": "+",
            "action": "extend",
            "metavar": "NAME=COL",
            "help": "an argument that each row has in a column: tools=functions, *=chat_template_kwargs; default: tools"
            " and documents from columns of these names; none: from no column",
        },
        "add_generation_prompt": _flag("end the text where the assistant's answer begins", default=None),
        "system_merge": _flag(
            "put a system message into the user's message after it if the template has no system role", default=None
        ),
        "decode_arguments": _flag("decode arguments of tool calls that are JSON texts", default=None),
        "refuse_left_out": _list("CODE,CODE", "rows that lack this are errors: message_left_out, ..."),
        "now": _value("TIME", "the clock of strftime_now: 2026-01-31T09:00; default: the time now", values.time),
    },
    "tokens and masks": {
        "tokenizer": _value("FILE|NAME", "a tokenizer.json, its folder, or a cached model"),
        "special_tokens": {
            "action": BooleanOptionalAction,
            "help": "put special tokens around prompts, or not. Default: only if neither a chat template nor the prompt"
            " itself has them",
        },
        "control_tokens": _choice(
            get_args(names_of.ControlTokens),
            "control tokens spelt in the data are control tokens (parse, default), or text",
        ),
        "max_tokens": _value("N", "the most tokens of a prompt", values.natural),
        "truncation": _choice(
            get_args(names_of.Truncation),
            "a longer prompt is an error (refuse, default), or is cut at this place",
        ),
        "mask": _choice(
            get_args(names_of.Mask),
            "what is trained: the chat template's generation blocks, or the assistant's words; and the end of the turn"
            " (+end); and the blanks after that (+turn)",
        ),
        "reasoning": _flag("train the assistant's reasoning too, with the tags around it", default=None),
        "last_turn": _flag("train only the last turn of the assistant", default=None),
        "turns": _choice(
            get_args(names_of.Turns),
            "a row for a conversation (all, default), or for each turn of the assistant with what asks for it",
        ),
        "token_labels": _flag("add labels: the ids of trained tokens, else -100"),
        "mask_column": _choice(get_args(MaskColumn), "the name of the mask (assistant_masks)"),
        "ids": _flag("show the id of each token"),
        "offsets": _flag("add offsets: the place of each token in its prompt"),
    },
    "tokens and masks (a budget, counted by --tokenizer)": {
        "max_seq_len": _value(
            "N",
            "leave out examples until a prompt has at most N tokens; default: the configuration's max_seq_len",
            values.natural,
        ),
        "fit": _choice(
            get_args(names_of.FitRule),
            "leave out examples by the harness's rule (harness, default), or from this end",
        ),
        "reserve": _value("N", "with --fit first, last: keep N tokens free for the answer", values.natural),
        "fit_labels": _choice(
            get_args(names_of.FitLabels),
            "ppl, with --fit first, last: the labels of a row get the same examples (jointly), or each its own",
        ),
    },
    "output": {
        "out": _value("FILE", "", required=True),
        "out_format": _choice(OUT_FORMATS, "the format of --out; default: by suffix"),
        "compression": _value("NAME", "Parquet: zstd (default), snappy, none, ...; Arrow: zstd, lz4"),
        "strings": _choice(get_args(names_of.StringLayout), "the Arrow type of prompts"),
        "keep": _list("COL,COL", "columns of the data to keep; or: all"),
        "index": _value("NAME", "add a first column: the number of the row, from 0"),
        "order": _choice(get_args(names_of.RequestOrder), "put prompts with equal beginnings together"),
        "shared": _flag(
            "with --order: add each prompt's group, and the bytes that it shares with the one before", default=None
        ),
        "hashes": _flag("add a last column, hash: 16 bytes of each prompt's BLAKE3", default=None),
        "errors": _choice(
            get_args(names_of.RowPolicy),
            "a row that can't be rendered ends the run (default), is null with its error in a column, or is left out",
        ),
        "no_clobber": _flag("refuse to overwrite a file that exists"),
        "resume": _flag("continue an interrupted run; finished parts are kept next to --out"),
        "threads": _value("N", "number of threads; default: all cores that the process may use", values.positive),
    },
    "output (requests and results)": {
        "model_name": _value("NAME", "the model's name for the API"),
        "params": _value("JSON", "parameters of all requests: '{\"temperature\": 0}'", values.json_object),
        "params_columns": _value("A=COL,B=COL", "parameters of each request: max_tokens=answer_length", values.pairs),
        "custom_id": _value(
            "PATTERN", "the id of a request, of columns; default: {sample} (the row's number), {label}, {turn}"
        ),
        "url": _value("URL", "/v1/chat/completions (default), or /v1/completions for texts", values.url),
        "cache_control": _choice(
            ("auto", "off"),
            "with --order: mark the beginnings that requests share for the service's cache, where it pays",
        ),
        "max_requests": _value("N", "the most requests in a file", values.positive),
        "max_file_size": _value("N", "the most bytes in a file: 100000000, 100MB", values.size),
        "prices": _value("FILE", "YAML with prices of models: say what the requests cost as a batch"),
        "expected_output": _value(
            "N|COLUMN",
            "with --prices: the tokens of an answer, or a column with them or with answers",
            values.count_or_name,
        ),
        "choices": _flag("join a list of all choices instead of the first one"),
        "raw": _flag("add each result as JSON, as it was received"),
        "prefix": _value("TEXT", "the beginning of the new columns' names", default=""),
        "predictions": _value("DIR", "write the answers as the harness's predictions into DIR, the folder of a run"),
        "unanswered": _value("TEXT", "the prediction of rows without an answer; default: an error that counts them"),
        "retry": _value("FILE", "write the requests that failed or have no result, to be sent again"),
    },
    "output (findings)": {
        "allow": _list("CODE,CODE", "known findings, which aren't reported"),
        "only": _list("CODE,CODE", "report these findings and no others"),
        "max_bytes": _value("N", LIMITS["bytes"].help, values.natural),
        "fail_on": _choice(
            ("error", "warning", "info", "never"),
            "exit code 1 for findings of this or a higher severity (error)",
            default="error",
        ),
    },
    "output (display)": {
        "json": _flag("print one JSON object, for programs"),
        "verbose": _flag("show the conversation of each fact, and its text"),
        "whitespace": _flag("mark spaces, tabs, line feeds and other spaces"),
        "origins": _flag("list the pieces with their origins"),
        "color": _choice(("auto", "always", "never"), "auto: colours on a terminal", default="auto"),
        "print_first": _flag("print the first prompt as the model gets it"),
        "html": _value("FILE", "write rows into one self-contained file instead of opening a page"),
        "no_open": _flag("print the address, and open no browser"),
        "port": _value("N", "the port of the page; default: any free port", values.natural, default=0),
        "backend": _flag("don't compare: list the configurations that the bulk backend renders"),
    },
    "output (notes and errors)": {
        "progress": _flag("show a progress bar even if stderr is no terminal"),
        "quiet": _flag("no notes"),
        "strict": _flag("treat notes on probable mistakes as errors (exit code 3)"),
        "traceback": _flag("print the Python traceback of an error"),
    },
}
"""All options by group of the help, each with the keywords of `add_argument`; a command may replace some keywords.

The title of a group begins with its stage: a prompt goes through the stages in this order. The groups of `--help-all`
and of the page of commands are those of this table.
"""

OPTIONS: dict[str, Keywords] = {name: keywords for group in GROUPS.values() for name, keywords in group.items()}
"""All options by their attributes."""

STAGES = tuple(dict.fromkeys(title.partition(" (")[0] for title in GROUPS))
"""The stages of a prompt on its way from the samples to the output."""

TEMPLATE_OPTIONS = ("template", "system", "optional_system", "answer", "shots", "shots_seed")
OVERRIDES = ("output", "roles", "mode", "labels", "substitution", "dialect", "strings", "limits", "unknown")
"""Options that override settings of a configuration; they are arguments of `Renderer`, as those of a budget are."""

BUDGET_OPTIONS = tuple(GROUPS["tokens and masks (a budget, counted by --tokenizer)"])
JINJA_OPTIONS = (*GROUPS["template (Jinja)"], *GROUPS["chat template"], "column")
LM_EVAL_OPTIONS = tuple(GROUPS["template (a task of lm-evaluation-harness)"])
FORMAT_OPTIONS = ("data_format", "delimiter", "encoding", "records")
"""Options that say how files are read."""

TOKEN_OPTIONS = (
    *("mask", "token_labels", "control_tokens", "reasoning", "last_turn"),
    *("offsets", "max_tokens", "truncation", "special_tokens"),
)
SEEN_TOKEN_OPTIONS = ("mask", "control_tokens", "reasoning", "last_turn", "special_tokens")
"""Those that decide which tokens a prompt has, and which of them are trained."""

MODEL_OPTIONS = ("model", "dataset", "model_abbr")
CONFIGURATION_OPTIONS = (*TEMPLATE_OPTIONS, *MODEL_OPTIONS, *OVERRIDES, "tokenizer", *BUDGET_OPTIONS, "examples")
"""All options that decide how a configuration is rendered, with its examples."""

PROMPT_OPTIONS = (*CONFIGURATION_OPTIONS, *JINJA_OPTIONS)
"""All options that decide the prompts, such as `--substitution`."""

TWIN_OPTIONS = (*PROMPT_OPTIONS, *SEEN_TOKEN_OPTIONS)
"""The options that `diff` has once more for B."""


def option_name(name: str) -> str:
    """Return the option of an attribute of the parsed arguments: `--batch-size` of `batch_size`."""
    return f"--{name.replace('_', '-')}"


def first_given(settings: object, names: Iterable[str]) -> str | None:
    """Return the first of some options that the command line contains; None if it contains none of them."""
    return next((option_name(name) for name in names if getattr(settings, name, None) is not None), None)
