"""OpenCompass's template for strings, dialogues and label maps."""

from __future__ import annotations

from typing import TypeVar

from promptpress._single.prompt_template import FilledTemplate
from promptpress.opencompass._prompt_list import PromptList

T = TypeVar("T")


class PromptTemplate(FilledTemplate):
    """A template of strings, dialogues or labels.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: What stands for the examples.
        sep_token: What is taken away from prompts.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue has a marker of its own.

    Raises:
        AssertionError: For a template that is neither a string nor a dict.
        TypeError: For values of a dict that are neither str, list nor dict, and for tokens that are no str.
        LookupError: For a string without the ice_token.

    Example:
        >>> template = PromptTemplate({"round": [{"role": "HUMAN", "prompt": "{q}?"}]})
        >>> template.prompt_type
        'meta'
        >>> template.generate_item({"q": 1})[1]
        {'role': 'HUMAN', 'prompt': '1?'}
    """

    _faults = {  # noqa: RUF012
        "template": AssertionError,
        "token": TypeError,
        "value": TypeError,
        "no ice token": LookupError,
    }
    _list = PromptList

    def _check_prompt_template(self: T) -> T:
        """Whatever is given, if it is a template; called on the class."""
        if not isinstance(self, PromptTemplate):
            raise TypeError(f"a PromptTemplate is needed, not {self}")
        return self
