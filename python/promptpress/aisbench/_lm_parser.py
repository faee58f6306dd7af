"""AISBench's parser for language models."""

from __future__ import annotations

from promptpress._single import lm_parser
from promptpress.aisbench._exceptions import fault
from promptpress.aisbench._prompt_list import PromptList


class LMTemplateParser(lm_parser.LMTemplateParser):
    """Lays prompts over a meta template as text.

    Args:
        meta_template: The model's meta template; without one prompts become lines.
        documented: Follow the documents where the harness's code fails.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        NotImplementedError: For a `begin` or `end` that is a list, unless `documented`.

    Example:
        >>> parser = LMTemplateParser({"round": [{"role": "HUMAN", "begin": "<H>"}]})
        >>> markers = [{"section": "round", "pos": pos} for pos in ("begin", "end")]
        >>> parser.parse_template(PromptList(markers), mode="gen")
        '<H>'
    """

    _faults = {  # noqa: RUF012
        "no round": AssertionError,
        "meta type": AssertionError,
        "twice": AssertionError,
        "section": AssertionError,
        "pos": fault("AISBenchValueError", "MODEL-UNK-001"),
    }
    _list = PromptList
