"""OpenCompass's prompt list."""

from __future__ import annotations

from promptpress._single import prompt_list


class PromptList(prompt_list.PromptList):
    r"""The items of a prompt: strings, turns and section markers.

    Args:
        items: The items, as for `list`.
        documented: Whether `list + PromptList` is their sum. In the harness it has no end.

    Example:
        >>> prompt = PromptList(["Q: {q}"]) + "\n" + PromptList([{"role": "BOT", "prompt": "{q}!"}])
        >>> prompt.format(q=1)
        ['Q: 1', '\n', {'role': 'BOT', 'prompt': '1!'}]
        >>> str(prompt)
        'Q: {q}\n{q}!'
    """

    _faults = {"list in turn": TypeError, "item": TypeError}  # noqa: RUF012
    _harness = ("opencompass.utils.prompt", "PromptList")
