"""Description and options of `promptpress tokenize`."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from typing import get_args

from promptpress._cli.commands.command import Command
from promptpress._cli.commands.render import EXIT_CODES, add_execution
from promptpress._cli.shell.option_values import natural
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
from promptpress._cli.sources.jinja_options import add_jinja
from promptpress.typing import ControlTokens, Mask, Truncation

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
    tokenizer = "a tokenizer.json, its folder, or a model in the local Hugging Face cache; nothing is downloaded"
    tokens.add_argument("--tokenizer", metavar="FILE|NAME", required=True, help=tokenizer)
    tokens.add_argument(
        "--mask",
        choices=get_args(Mask),
        help="add assistant_masks, which says what is trained: the {%% generation %%} blocks of a chat template, or"
        " what assistants say; and what ends the turn; and blanks after that",
    )
    tokens.add_argument("--token-labels", action="store_true", help="add labels: the ids of trained tokens, else -100")
    tokens.add_argument(
        "--control-tokens",
        choices=get_args(ControlTokens),
        default="parse",
        help="what data brings may be a control token (parse, default), or is text whatever it looks like (text)",
    )
    reasoning = "train the reasoning of assistants too, with the tags around it"
    tokens.add_argument("--reasoning", action="store_true", help=reasoning)
    tokens.add_argument("--last-turn", action="store_true", help="train only the last turn of an assistant")
    tokens.add_argument("--offsets", action="store_true", help="add offsets: where in its prompt each token stands")
    tokens.add_argument("--max-tokens", type=natural, metavar="N", help="how many tokens a request may have")
    truncation = "what becomes of a request with more: an error (refuse, default), or where tokens are left out"
    tokens.add_argument("--truncation", choices=get_args(Truncation), default="refuse", help=truncation)
    tokens.add_argument(
        "--special-tokens",
        action=BooleanOptionalAction,
        default=None,
        help="put the tokenizer's special tokens around prompts, or not (default: not around those of a chat template,"
        " nor before a prompt that begins with one)",
    )

    prompts = parser.add_argument_group(OVERRIDES)
    add_shared(prompts, "--keep")
    add_prompt_options(prompts)
    prompts.add_argument("--index", metavar="NAME", help="add a first column: the sample's number, from 0")
    add_budget(parser)
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
