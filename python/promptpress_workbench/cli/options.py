"""The table of all options and operands of the command line, from which every list of them is taken."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Iterable
from typing import Any, TypeAlias, get_args

from promptpress import typing as names_of

from promptpress_workbench.audit.codes import LIMITS
from promptpress_workbench.cli import option_values as values
from promptpress_workbench.export.forms import EXPORTS, MaskColumn
from promptpress_workbench.export.streams import Unknown
from promptpress_workbench.files.read.formats import FORMATS
from promptpress_workbench.files.write.formats import OUT_FORMATS

Keywords: TypeAlias = dict[str, Any]
"""The keywords of `add_argument`."""


def _value(metavar: str, text: str, kind: Any = None, **more: Any) -> Keywords:
    return {"metavar": metavar, "help": text, "type": kind, **more}


def _flag(text: str, **more: Any) -> Keywords:
    return {"action": "store_true", "help": text, **more}


def _choice(choices: Iterable[str], text: str, **more: Any) -> Keywords:
    return {"choices": tuple(choices), "help": text, **more}


def _files(text: str, metavar: str = "FILE") -> Keywords:
    return {"nargs": "+", "action": "extend", "metavar": metavar, "help": text}


def _list(metavar: str, text: str) -> Keywords:
    return {"type": values.names, "action": "extend", "metavar": metavar, "help": text}


def _named_values(text: str) -> Keywords:
    return {"type": values.named_value, "nargs": "+", "action": "extend", "metavar": "NAME=VALUE", "help": text}


OPERANDS: dict[str, Keywords] = {
    "config": _value("CONFIG", "the prompt configuration", nargs="?"),
    "other": _value("B", "a second one; default: A, with the options for B", nargs="?"),
    "kind": _choice(EXPORTS, f"one of {', '.join(EXPORTS)}", metavar="FORM"),
    "results": _value(
        "RESULTS", "files of results, JSON lines; also compressed files, patterns, folders and -", nargs="+"
    ),
}

_TEMPLATE: dict[str, Keywords] = {
    "template": _value("TEXT", "the prompt, with columns in braces: 'Q: {question}'"),
    "system": _value("TEXT", "a system message before the prompt; prompts are then messages"),
    "output_column": _value("COL", "the answer column. Examples show it; the question doesn't"),
    "shots": _value("N", "put the first N rows of --examples before each prompt", values.positive),
    "shots_seed": _value("N", "draw each prompt's examples with this seed instead", values.natural),
}
_MODEL: dict[str, Keywords] = {
    "model": _value("CONFIG", "a model configuration: meta template and class; default: CONFIG's own model"),
    "dataset": _value("NAME", "the dataset's abbr, or the variable that holds it"),
    "model_abbr": _value("NAME", "the model's abbr"),
}
_OVERRIDES: dict[str, Keywords] = {
    "output": _choice(get_args(names_of.Output), "the output form"),
    "roles": _value("A=B,C=D", "openai: names of roles, as in CRITIC=user; or a JSON object", values.roles),
    "mode": _choice(get_args(names_of.Mode), "gen: a prompt for each sample; ppl: a prompt for each label"),
    "labels": _value("A,B", "ppl: the labels to render; or a JSON list", values.labels),
    "substitution": _choice(get_args(names_of.Substitution), "single_pass leaves braces in the data alone"),
    "dialect": _choice(get_args(names_of.Dialect), "the harness whose rules apply where harnesses differ"),
    "strings": _choice(get_args(names_of.StringLayout), "the Arrow type of prompts"),
    "limits": _value("A=N,B=N", "upper limits: prompt_bytes=4000000, labels=10", values.limits),
}
_BUDGET: dict[str, Keywords] = {
    "max_seq_len": _value(
        "N",
        "leave out examples until a prompt has at most N tokens; default: the configuration's max_seq_len",
        values.natural,
    ),
    "fit": _choice(
        get_args(names_of.FitRule),
        "the examples that are left out: by the harness's rule (harness, default), or from that end of the examples",
    ),
    "reserve": _value("N", "keep N of the tokens free for the answer; with --fit first, last", values.natural),
    "fit_labels": _choice(
        get_args(names_of.FitLabels),
        "ppl, with --fit first, last: all labels of a sample get the same examples (jointly), or not (each)",
    ),
}
_JINJA: dict[str, Keywords] = {
    "jinja": _value("FILE|TEXT", "a Jinja template over the columns: 'Q: {{ question.strip() }}'"),
    "chat_template": _value(
        "FILE|FOLDER",
        "a model's folder, tokenizer_config.json or chat_template.jinja. Without CONFIG, --data contains"
        " conversations; with CONFIG, the template renders its messages",
    ),
    "column": _value("NAME", "the column of conversations (messages)"),
    "add_generation_prompt": _flag("end the text where the assistant's answer begins", default=None),
    "chat_argument": _named_values(
        "another argument of the chat template, as JSON or text: enable_thinking=false, tools=[...]"
    ),
    "environment": _choice(
        ("jinja2", "transformers", "lm_eval"),
        "the rules to render by; default: jinja2, or transformers for a chat template",
    ),
    "jinja_option": _named_values(
        "an option of Jinja2's environment, as JSON or text: trim_blocks=true, undefined=strict"
    ),
    "fallback": _choice(
        ("jinja2", "refuse"),
        "rows that no program renders exactly: jinja2 (default) renders them, refuse makes them errors",
    ),
    "now": _value("TIME", "the clock of strftime_now: 2026-01-31T09:00; default: the time now", values.time),
}
_LM_EVAL: dict[str, Keywords] = {
    "num_fewshot": _value("N", "number of examples from --examples, instead of the task's", values.natural),
    "fewshot_as_multiturn": _flag("with --chat-template: write each example as messages of its own", default=None),
    "system_instruction": _value("TEXT", "a text before the description"),
    "processed_docs": _flag("--data contains what the task's process_docs returns", default=None),
}
_FORMAT: dict[str, Keywords] = {
    "data_format": _choice(FORMATS, "the format of --data; default: by suffix"),
    "delimiter": _value("CHAR", "what is between the fields of CSV; or: tab", values.delimiter),
    "encoding": _value("NAME", "of text files: gbk, cp1252, utf-16 (utf-8)", values.encoding),
    "records": _value("KEY", "the key under which a .json file has its array of rows"),
}
_TOKENS: dict[str, Keywords] = {
    "mask": _choice(
        get_args(names_of.Mask),
        "add assistant_masks, which says what is trained: the {%% generation %%} blocks of a chat template, or"
        " what assistants say; and what ends the turn; and blanks after that",
    ),
    "token_labels": _flag("add labels: the ids of trained tokens, else -100"),
    "control_tokens": _choice(
        get_args(names_of.ControlTokens),
        "what data brings may be a control token (parse, default), or is text whatever it looks like (text)",
    ),
    "reasoning": _flag("train the reasoning of assistants too, with the tags around it", default=None),
    "last_turn": _flag("train only the last turn of an assistant", default=None),
    "offsets": _flag("add offsets: where in its prompt each token stands"),
    "max_tokens": _value("N", "how many tokens a request may have", values.natural),
    "truncation": _choice(
        get_args(names_of.Truncation),
        "what becomes of a request with more: an error (refuse, default), or where tokens are left out",
    ),
    "special_tokens": {
        "action": BooleanOptionalAction,
        "help": "put the tokenizer's special tokens around prompts, or not (default: not around those of a chat"
        " template, nor before a prompt that begins with one)",
    },
}
_TRAINING: dict[str, Keywords] = {
    "answer": _value("COL", "the column that becomes the assistant's last message, the completion or the output"),
    "input_column": _value("COL", "the column that becomes the input"),
    "chosen": _value("COL", "the column of the better answers"),
    "rejected": _value("COL", "the column of the worse answers"),
    "chosen_label": _value(
        "COL", "instead of both: the column with the right label; the rows of other labels are rejected"
    ),
    "sampling_params": _value("JSON", "parameters of all rows", values.json_object),
    "sampling_columns": _value("A=COL,B=COL", "parameters of each row", values.pairs),
}
OPTIONS: dict[str, Keywords] = {
    **_TEMPLATE,
    **_MODEL,
    **_OVERRIDES,
    "tokenizer": _value(
        "FILE|NAME", "count tokens with a Hugging Face tokenizer.json, its folder, or a model in the local cache"
    ),
    **_BUDGET,
    "examples": _files("the rows that few-shot examples come from (the train split)"),
    **_JINJA,
    **_LM_EVAL,
    **_FORMAT,
    **_TOKENS,
    **_TRAINING,
    "mask_column": _choice(get_args(MaskColumn), "what the mask is called (assistant_masks)"),
    "data": _files(
        "the samples: files of one schema, in order; also folders, 'part-*.csv', FOLDER:SPLIT, URLs, - (stdin)"
    ),
    "where": _value("SQL", "only the samples for which a condition holds: \"level > 3 AND topic = 'sums'\""),
    "limit": _value("N", "only the first N samples", values.natural),
    "sample": _value("N", "only N random samples", values.positive),
    "seed": _value("N", "the seed of --sample (0)", values.natural),
    "prompt_column": _value("NAME", "the column of prompts in a rendered file (prompt)"),
    "batch_size": _value("N", "samples in a batch (65536)", values.positive, default=65536),
    "skip_corrupt": _flag("leave out row groups of Parquet that can't be read, and report them"),
    "errors": _choice(
        get_args(names_of.RowPolicy),
        "a row that can't be rendered ends the run (raise, default), fills a column of errors, or is left out (skip)",
    ),
    "out": _value("FILE", "", required=True),
    "out_format": _choice(OUT_FORMATS, "the format of --out; default: by suffix"),
    "compression": _value("NAME", "Parquet: zstd (default), snappy, none, ...; Arrow: zstd, lz4"),
    "no_clobber": _flag("refuse to overwrite an output that exists"),
    "resume": _flag("continue where an interrupted run stopped; finished parts are kept next to --out"),
    "keep": _list("COL,COL", "columns to keep; or: all"),
    "index": _value("NAME", "add a first column: the sample's number, from 0"),
    "order": _choice(get_args(names_of.RequestOrder), "prefix: put prompts with equal beginnings together"),
    "shared": _flag(
        "with --order: add columns of each prompt's group and of the bytes that it shares with the one before it",
        default=None,
    ),
    "hashes": _flag("add a last column, hash: the first 16 bytes of each prompt's BLAKE3", default=None),
    "threads": _value("N", "default: all cores that the process may use", values.positive),
    "quiet": _flag("no notes"),
    "progress": _flag("show a progress bar even if stderr is no terminal"),
    "print_first": _flag("print the first prompt as the model gets it"),
    "strict": _flag("treat notes on probable mistakes as errors (exit code 3)"),
    "traceback": _flag("print the Python traceback of an error"),
    "json": _flag("print one JSON object, for programs"),
    "color": _choice(("auto", "always", "never"), "auto: colours on a terminal", default="auto"),
    "whitespace": _flag("mark spaces, tabs, line feeds and other spaces"),
    # show and diff
    "row": _value("N,N-N", "rows by number, from 0: 3,17,100-105", values.row_numbers),
    "grep": _value("REGEX", "prompts that a regular expression matches", values.pattern),
    "longest": _value("N", "the N longest prompts, by bytes", values.positive),
    "shortest": _value("N", "the N shortest prompts, by bytes", values.positive),
    "failed": _flag("the rows that can't be rendered, with their errors"),
    "max": _value("N", "the most prompts of --grep and --failed to show (10)", values.positive, default=10),
    "label": _value("LABEL", "only the prompt of this label (ppl)"),
    "turn": _value("N", "only the prompt of this turn", values.natural),
    "origins": _flag("list the pieces with their origins"),
    # view
    "no_open": _flag("print the address, and open no browser"),
    "port": _value("N", "default: any free port", values.natural, default=0),
    "html": _value("FILE", "write some rows into one self-contained file"),
    "rows": _value("3,17,100-105", "the rows to write; default: the first ten", values.row_numbers),
    # audit
    "allow": _list("CODE,CODE", "findings to leave out"),
    "only": _list("CODE,CODE", "findings to look for (all)"),
    "format": _choice(("table", "json", "jsonl"), "default: by suffix of --out, else table"),
    "fail_on": _choice(
        ("error", "warning", "info", "never"),
        "exit code 1 for findings of this or a higher severity (error)",
        default="error",
    ),
    # export and join
    "model_name": _value("NAME", "the model's name for the API"),
    "body": _value("JSON", "parameters of all requests: '{\"temperature\": 0}'", values.json_object),
    "body_columns": _value("A=COL,B=COL", "parameters of each request: max_tokens=answer_length", values.pairs),
    "custom_id": _value(
        "PATTERN", "'{sample}-{label}', with any columns; default: the columns that identify a request"
    ),
    "url": _value("URL", "/v1/chat/completions (default), or /v1/completions for texts", values.url),
    "cache_control": _flag("with --order: give prompts with equal beginnings one prompt_cache_key (openai-batch)"),
    "max_requests": _value("N", "requests in a file", values.positive),
    "max_bytes": _value("N", "bytes in a file: 100000000, 100MB", values.size),
    "unknown": _choice(
        get_args(Unknown), "keep: write prompts of a template that names a misspelt column, which is an error otherwise"
    ),
    "table": _value("FILE", "rendered rows, or the samples; with --data, the configuration", required=True),
    "choices": _flag("a list of all choices instead of the first one"),
    "raw": _flag("add each result as JSON, as it was received"),
    "prefix": _value("TEXT", "the beginning of the new columns' names", default=""),
    "retry": _value(
        "FILE",
        "a file for the requests that failed or have no result, as they were sent; both results are joined later",
    ),
    "requests": _files("the batch files that were sent, from which --retry takes them"),
    # verify
    "backend": _flag("don't compare: list the configurations that the bulk backend renders"),
}
"""All options by their attributes, each with the keywords of `add_argument`; a command may replace some keywords."""

TEMPLATE_OPTIONS = tuple(_TEMPLATE)
OVERRIDES = tuple(_OVERRIDES)
"""Options that override settings of a configuration; they are arguments of `Renderer`, as those of a budget are."""

BUDGET_OPTIONS = tuple(_BUDGET)
JINJA_OPTIONS = tuple(_JINJA)
LM_EVAL_OPTIONS = tuple(_LM_EVAL)
FORMAT_OPTIONS = tuple(_FORMAT)
"""Options that say how files are read."""

TOKEN_OPTIONS = tuple(_TOKENS)
TRAINING_OPTIONS = tuple(_TRAINING)
LIMIT_OPTIONS = {f"max_{name}": _value("N", limit.help, values.natural) for name, limit in LIMITS.items()}
"""The limits of an audit, of which some have the names of other options."""

CONFIGURATION_OPTIONS = (*_TEMPLATE, *_MODEL, *_OVERRIDES, "tokenizer", *_BUDGET, "examples")
"""All options that decide how a configuration is rendered, with its examples."""

PROMPT_OPTIONS = (*CONFIGURATION_OPTIONS, *_JINJA)
"""All options that decide the prompts, such as `--substitution`."""


def option_name(name: str) -> str:
    """Return the option of an attribute of the parsed arguments: `--batch-size` of `batch_size`."""
    return f"--{name.replace('_', '-')}"


def first_given(settings: object, names: Iterable[str]) -> str | None:
    """Return the first of some options that the command line contains; None if it contains none of them."""
    return next((option_name(name) for name in names if getattr(settings, name, None) is not None), None)
