"""Options that say which tokens are seen: of which tokenizer, with what is trained of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from promptpress.engine.errors import UsageError
from promptpress.engine.tokens import TokenSettings

from promptpress_workbench.cli.configurations import token_counter
from promptpress_workbench.cli.options import SEEN_TOKEN_OPTIONS, first_given
from promptpress_workbench.cli.settings import Settings, token_settings
from promptpress_workbench.prompts.file_rows import ChosenSource
from promptpress_workbench.prompts.prepared_source import PreparedSource
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.tokenized import ShownSource, TokenSource, TokenView


def token_view(settings: Settings, arguments: Namespace) -> TokenView | None:
    """Return what gives prompts the tokens of `--tokenizer`, with what `--mask` trains; None without a tokenizer."""
    if settings.tokenizer is None:
        option = first_given(arguments, SEEN_TOKEN_OPTIONS) or ("--ids" if getattr(arguments, "ids", False) else None)
        if option is not None:
            raise UsageError(f"{option}: is of tokens; --tokenizer FILE|NAME names the tokenizer that they are of")
        return None
    return TokenView(token_counter(settings.tokenizer), TokenSettings(**token_settings(arguments)))


def draws_tokens(source: ShownSource, arguments: Namespace) -> bool:
    """Return true if tokens are shown; with a budget they are counted, unless an option is about tokens."""
    inner = source.source if isinstance(source, ChosenSource) else source
    has_budget = isinstance(inner, RendererSource) and inner.engine.fit is not None
    return not has_budget or getattr(arguments, "ids", False) or first_given(arguments, SEEN_TOKEN_OPTIONS) is not None


def trained_answer(settings: Settings, arguments: Namespace) -> str | None:
    """Return the column of the assistant's last messages, if a mask trains them."""
    return None if arguments.mask is None else settings.answer


def of_tokens(
    sources: Sequence[ShownSource], sides: Sequence[Settings], options: Sequence[Namespace]
) -> tuple[TokenSource, TokenSource] | None:
    """Return the tokens of both sides of a comparison; None if texts or messages are compared."""
    is_prepared = [isinstance(source, PreparedSource) for source in sources]
    draws = all(draws_tokens(*of_side) for of_side in zip(sources, options, strict=True))
    if not any(is_prepared) and (not draws or all(side.tokenizer is None for side in sides)):
        for of_side in options:
            token_view(replace(sides[0], tokenizer=None), of_side)  # raises an error if a mask is asked for
        return None
    tokenizer = sides[0].tokenizer or sides[1].tokenizer
    views = [
        token_view(side if side.tokenizer else replace(side, tokenizer=tokenizer), of_side)
        for side, of_side in zip(sides, options, strict=True)
    ]
    a, b = (TokenSource(source, view) for source, view in zip(sources, views, strict=True) if view is not None)
    if a.has_mask != b.has_mask and not any(is_prepared):
        raise UsageError(f"{'--mask-b' if b.has_mask else '--mask'}: the other side has no mask to compare with")
    a.has_mask = b.has_mask = a.has_mask and b.has_mask
    return a, b
