"""OpenCompass's parser for language models."""

from __future__ import annotations

from promptpress._single import lm_parser
from promptpress.opencompass._prompt_list import PromptList


class LMTemplateParser(lm_parser.LMTemplateParser):
    r"""Lays prompts over a meta template as text.

    Args:
        meta_template: The model's meta template; without one prompts become lines.
        documented: Follow the documents where the harness's code fails.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        NotImplementedError: For a `begin` or `end` that is a list, unless `documented`.

    Example:
        >>> parser = LMTemplateParser()
        >>> parser.parse_template(PromptList(["Q", {"role": "HUMAN", "prompt": "1?"}]), mode="gen")
        'Q\n1?'
    """

    _faults = {  # noqa: RUF012
        "no round": AssertionError,
        "meta type": AssertionError,
        "twice": AssertionError,
        "section": AssertionError,
        "pos": ValueError,
    }
    _list = PromptList
