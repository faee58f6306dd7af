"""Description and options of `promptpress export`."""

from __future__ import annotations

from argparse import ArgumentParser
from textwrap import fill
from typing import Any, get_args

from promptpress_workbench.cli.commands.command import EXIT_CODES, Command
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.option_values import json_object, pairs, positive, size
from promptpress_workbench.cli.shell.token_options import TOKEN_OPTIONS as ENCODING
from promptpress_workbench.cli.sources.jinja_options import add_jinja
from promptpress_workbench.export.forms import EXPORTS, TOKEN_OPTIONS, MaskColumn
from promptpress_workbench.export.streams import Unknown

_INDENT = 21
_FORMS = "\n".join(
    fill(export.help, 110, initial_indent=f"  {name}".ljust(_INDENT), subsequent_indent=" " * _INDENT)
    for name, export in EXPORTS.items()
)
_DESCRIPTION = f"""\
Render all samples into requests, and write them in the format of another program.

{_FORMS}

CONFIG is a configuration as for render, or a file whose column of prompts is exported as it is: one that render wrote,
or conversations. --output's default is openai, and text for token ids.
"""


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("kind", metavar="FORM", choices=tuple(EXPORTS), help=f"one of {', '.join(EXPORTS)}")
    options.add_config(parser)
    add_jinja(parser)
    options.add_data(parser, required=False)
    out = "the file, or the folder for datasets; - writes JSON lines to stdout"
    parser.add_argument("--out", metavar="PATH", required=True, help=out)
    prompts = parser.add_argument_group(options.OVERRIDES)
    options.add_prompt_options(prompts)
    options.add_shared(prompts, "--prompt-column", "--keep", "--order")
    counting = (
        "encode the prompts of token ids, or count tokens for the budget: a tokenizer.json, its folder, or a model"
    )
    options.add_budget(parser, tokenizer=counting)
    options.add_rows(parser.add_argument_group(options.ROWS))

    add = parser.add_argument_group("requests (openai-batch, vllm-batch, litellm-batch)").add_argument
    add("--model-name", metavar="NAME", help="the model's name for the API")
    add("--body", type=json_object, metavar="JSON", help="parameters of all requests: '{\"temperature\": 0}'")
    columns = "parameters of each request: max_tokens=answer_length"
    add("--body-columns", type=pairs, metavar="A=COL,B=COL", help=columns)
    ids = "'{sample}-{label}', with any columns; default: the columns that identify a request"
    add("--custom-id", metavar="PATTERN", help=ids)
    add("--url", metavar="URL", help="/v1/chat/completions (default), or /v1/completions for texts")
    keys = "with --order: give prompts with equal beginnings one prompt_cache_key (openai-batch)"
    add("--cache-control", action="store_true", help=keys)
    add("--max-requests", type=positive, metavar="N", help="requests in a file")
    add("--max-bytes", type=size, metavar="N", help="bytes in a file: 100000000, 100MB")

    rows = parser.add_argument_group("training data and rows")
    answer = "the column that becomes the assistant's last message, the completion or the output"
    _add(rows, "--answer", metavar="COL", help=answer)
    _add(rows, "--input-column", metavar="COL", help="the column that becomes the input")
    _add(rows, "--chosen", metavar="COL", help="the column of the better answers")
    _add(rows, "--rejected", metavar="COL", help="the column of the worse answers")
    labels = "instead of both: the column with the right label; the rows of other labels are rejected"
    _add(rows, "--chosen-label", metavar="COL", help=labels)
    _add(rows, "--sampling-params", type=json_object, metavar="JSON", help="parameters of all rows")
    _add(rows, "--sampling-columns", type=pairs, metavar="A=COL,B=COL", help="parameters of each row")

    tokens = parser.add_argument_group("token ids")
    for name in TOKEN_OPTIONS:
        option = f"--{name.replace('_', '-')}"
        _add(tokens, option, **ENCODING[option])
    mask_column = "what the mask is called (assistant_masks)"
    _add(tokens, "--mask-column", choices=get_args(MaskColumn), help=mask_column)

    how = parser.add_argument_group("execution")
    options.add_shared(how, "--data-format", "--batch-size", "--threads", "--no-clobber")
    errors = "a row that can't be rendered ends the run (raise, default), or is left out (skip)"
    how.add_argument("--errors", choices=("raise", "skip"), help=errors)
    messages = parser.add_argument_group("messages")
    options.add_progress(messages)
    unknown = "keep: write prompts of a template that names a misspelt column, which is an error otherwise"
    messages.add_argument("--unknown", choices=get_args(Unknown), help=unknown)
    options.add_shared(messages, "--strict", "--traceback")


def _add(group: options.OptionGroup, option: str, **keywords: Any) -> None:
    """Add an option that only some forms have; its help names them."""
    name = option.removeprefix("--").replace("-", "_")
    forms = ", ".join(form for form, export in EXPORTS.items() if name in export.options)
    group.add_argument(option, **{**keywords, "help": f"{keywords['help']} ({forms})"})


COMMAND = Command(
    "export",
    "render files of samples for other programs",
    _DESCRIPTION,
    _add_options,
    f"{EXIT_CODES}Whatever goes wrong, either all files are there or none.\n",
    max_operands=2,
)
