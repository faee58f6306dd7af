"""Description and options of `promptpress tokenize`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.commands.render import EXIT_CODES, add_execution
from promptpress_workbench.cli.shell import options
from promptpress_workbench.cli.shell.errors import ExitCode
from promptpress_workbench.cli.shell.token_options import TOKEN_OPTIONS, token_settings
from promptpress_workbench.cli.sources.jinja_options import add_jinja

_DESCRIPTION = """\
Render all rows of some files, and write the token ids of the prompts: input_ids and n_tokens, and on request which
tokens are trained. The ids are those of the library tokenizers with the same tokenizer.json.

CONFIG is a configuration as for render; --template, --jinja and --chat-template take its place.
"""


def _add_options(parser: ArgumentParser) -> None:
    options.add_config(parser)
    add_jinja(parser)
    options.add_data(parser)
    out = "the tokens: .parquet, .arrow, or .jsonl, also with .gz or .zst"
    parser.add_argument("--out", metavar="FILE", required=True, help=out)

    tokens = parser.add_argument_group("tokens")
    for option, keywords in TOKEN_OPTIONS.items():
        tokens.add_argument(option, **keywords, required=option == "--tokenizer")

    prompts = parser.add_argument_group(options.OVERRIDES)
    options.add_shared(prompts, "--keep")
    options.add_prompt_options(prompts)
    prompts.add_argument("--index", metavar="NAME", help="add a first column: the sample's number, from 0")
    options.add_budget(parser, tokenizer=None)
    options.add_rows(parser.add_argument_group(options.ROWS))
    add_execution(parser)

    messages = parser.add_argument_group("messages")
    options.add_progress(messages)
    options.add_shared(messages, "--strict", "--traceback")


def run(arguments: Namespace) -> ExitCode:
    """Render the samples of a command line, and encode the prompts."""
    from promptpress_workbench.cli.render.render import render  # noqa: PLC0415 - --help needn't import what renders
    from promptpress_workbench.cli.sources.configured_renderer import token_counter  # noqa: PLC0415

    arguments.hashes = arguments.print_first = arguments.shared = False
    arguments.order = None
    settings = token_settings(arguments)
    return render(arguments, {"tokenizer": token_counter(arguments.tokenizer), **settings})


COMMAND = Command(
    "tokenize",
    "render files of samples into token ids",
    _DESCRIPTION,
    _add_options,
    EXIT_CODES,
    run="promptpress_workbench.cli.commands.tokenize:run",
)
