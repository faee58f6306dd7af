"""OpenCompass's prompt list, and its template for strings, dialogues and label maps."""

from __future__ import annotations

from typing import TypeVar

from promptpress_harness.single import prompt_list
from promptpress_harness.single.prompt_template import FilledTemplate

T = TypeVar("T")


class PromptList(prompt_list.PromptList):
    r"""The items of a prompt: strings, turns and section markers.

    Args:
        items: The items, as for `list`.
        documented: True if `list + PromptList` is their sum. In the harness it doesn't end.

    Example:
        >>> prompt = PromptList(["Q: {q}"]) + "\n" + PromptList([{"role": "BOT", "prompt": "{q}!"}])
        >>> prompt.format(q=1)
        ['Q: 1', '\n', {'role': 'BOT', 'prompt': '1!'}]
        >>> str(prompt)
        'Q: {q}\n{q}!'
    """

    _faults = {"list in turn": TypeError, "item": TypeError}  # noqa: RUF012
    _harness = ("opencompass.utils.prompt", "PromptList")


class PromptTemplate(FilledTemplate):
    """A template of strings, dialogues or labels.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: The text that stands for the examples.
        sep_token: The text that is removed from prompts.
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
        """Return the object if it is a template; the harness calls this on the class."""
        if not isinstance(self, PromptTemplate):
            raise TypeError(f"a PromptTemplate is needed, not {self}")
        return self
