"""Options that say which tokens are seen: of which tokenizer, with what is trained of them."""

from __future__ import annotations

from argparse import Namespace

from promptpress.engine.errors import UsageError
from promptpress.engine.tokens import TokenSettings

from promptpress_workbench.cli.configurations import token_counter
from promptpress_workbench.cli.options import SEEN_TOKEN_OPTIONS, first_given
from promptpress_workbench.cli.settings import Settings, token_settings
from promptpress_workbench.prompts.tokenized import TokenView


def token_view(settings: Settings, arguments: Namespace) -> TokenView | None:
    """Return what gives prompts the tokens of `--tokenizer`, with what `--mask` trains; None without a tokenizer."""
    option = first_given(arguments, SEEN_TOKEN_OPTIONS) or ("--ids" if getattr(arguments, "ids", False) else None)
    if settings.tokenizer is None:
        if option is not None:
            raise UsageError(f"{option}: is of tokens; --tokenizer FILE|NAME names the tokenizer that they are of")
        return None
    return TokenView(token_counter(settings.tokenizer), TokenSettings(**token_settings(arguments)))


def trained_answer(settings: Settings, arguments: Namespace) -> str | None:
    """Return the column of the assistant's last messages, if a mask trains them."""
    return None if arguments.mask is None else settings.answer
