"""`promptpress tokenize`: renders files of samples into a file of token ids."""

from __future__ import annotations

from argparse import Namespace

from promptpress._cli.render.render import render
from promptpress._cli.shell.errors import ExitCode
from promptpress._cli.shell.option_words import in_options
from promptpress._cli.sources.token_counter import token_counter
from promptpress._errors.file_errors import UsageError
from promptpress._tokens.settings import TokenSettings


def tokenize(arguments: Namespace) -> ExitCode:
    """Render the samples of a command line, and encode the prompts."""
    arguments.hashes = arguments.print_first = arguments.shared = False
    arguments.order = None
    settings = {
        "mask": arguments.mask,
        "labels": arguments.token_labels,
        "control_tokens": arguments.control_tokens,
        "reasoning": arguments.reasoning,
        "last_turn": arguments.last_turn,
        "offsets": arguments.offsets,
        "max_tokens": arguments.max_tokens,
        "truncation": arguments.truncation,
        "add_special_tokens": arguments.special_tokens,
    }
    try:
        TokenSettings(**settings)
    except ValueError as error:
        raise UsageError(in_options(str(error))) from error
    return render(arguments, {"tokenizer": token_counter(arguments.tokenizer), **settings})
