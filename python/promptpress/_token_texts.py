"""Texts of token ids in a meta template."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from promptpress._errors import template_error
from promptpress._settings import plain
from promptpress.typing import Tokens

__all__ = ["token_texts"]


def token_texts(tokens: Tokens) -> Callable[[int], str | None]:
    """Make the function that gives a token's text: checked when it is asked for, as vocabularies have many more.

    Args:
        tokens: A dict or a function.

    Returns:
        The function; None for an id without text. It raises a TemplateError for a text that is no str.

    >>> token_texts({7: "<s>"})(7)
    '<s>'

    """
    find = tokens.get if isinstance(tokens, Mapping) else tokens

    def text(token: int) -> str | None:
        found = plain(find(token), f"tokens[{token}]")
        if found is not None and not isinstance(found, str):
            message = f"expected the token's text or None, found {type(found).__name__}"
            raise template_error("wrong_type", f"tokens[{token}]", message)
        return found

    return text
