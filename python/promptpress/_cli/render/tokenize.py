"""`promptpress tokenize`: renders files of samples into a file of token ids."""

from __future__ import annotations

from argparse import Namespace

from promptpress._cli.render.render import render
from promptpress._cli.shell.errors import ExitCode
from promptpress._cli.shell.token_options import token_settings
from promptpress._cli.sources.token_counter import token_counter


def tokenize(arguments: Namespace) -> ExitCode:
    """Render the samples of a command line, and encode the prompts."""
    arguments.hashes = arguments.print_first = arguments.shared = False
    arguments.order = None
    settings = token_settings(arguments)
    return render(arguments, {"tokenizer": token_counter(arguments.tokenizer), **settings})
