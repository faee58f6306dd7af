"""Description and options of `promptpress tokenize`."""

from __future__ import annotations

from argparse import ArgumentParser

from promptpress._cli.commands.command import Command
from promptpress._cli.commands.render import EXIT_CODES, add_execution
from promptpress._cli.shell.options import (
    OVERRIDES,
    ROWS,
    add_budget,
    add_config,
    add_data,
    add_progress,
    add_prompt_options,
    add_rows,
    add_shared,
)
from promptpress._cli.shell.token_options import TOKEN_OPTIONS
from promptpress._cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Render all rows of some files, and write the token ids of the prompts: input_ids and n_tokens, and on request which
tokens are trained. The ids are those of the library tokenizers with the same tokenizer.json.

CONFIG is a configuration as for render; --template, --jinja and --chat-template take its place.
"""


def _add_options(parser: ArgumentParser) -> None:
    add_config(parser)
    add_jinja(parser)
    add_data(parser)
    out = "the tokens: .parquet, .arrow, or .jsonl, also with .gz or .zst"
    parser.add_argument("--out", metavar="FILE", required=True, help=out)

    tokens = parser.add_argument_group("tokens")
    for option, keywords in TOKEN_OPTIONS.items():
        tokens.add_argument(option, **keywords, required=option == "--tokenizer")

    prompts = parser.add_argument_group(OVERRIDES)
    add_shared(prompts, "--keep")
    add_prompt_options(prompts)
    prompts.add_argument("--index", metavar="NAME", help="add a first column: the sample's number, from 0")
    add_budget(parser, tokenizer=None)
    add_rows(parser.add_argument_group(ROWS))
    add_execution(parser)

    messages = parser.add_argument_group("messages")
    add_progress(messages)
    add_shared(messages, "--strict", "--traceback")


COMMAND = Command(
    "tokenize",
    "render files of samples into token ids",
    _DESCRIPTION,
    _add_options,
    "promptpress._cli.render.tokenize:tokenize",
    EXIT_CODES,
)
