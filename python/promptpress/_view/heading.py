"""What stands above a prompt: which it is, and how large."""

from __future__ import annotations

from promptpress._view.prompt import Prompt

__all__ = ["heading"]


def heading(prompt: Prompt, *, tokens: int | None = None, between: str = " · ") -> str:
    """Say which prompt it is and how large.

    Args:
        prompt: The prompt.
        tokens: How many tokens it has, where they were counted.
        between: What stands between what is said.

    Returns:
        One line.

    >>> heading(Prompt(3, "é", ()), tokens=7)
    'row 3 · 0 bytes · 0 characters · 7 tokens'

    """
    said = [f"row {prompt.sample}"]
    if prompt.label is not None:
        said.append(f"label {prompt.label}")
    if prompt.turn is not None:
        said.append(f"turn {prompt.turn}")
    if prompt.request is None:
        return between.join([*said, "no prompt" if prompt.error is None else f"no prompt: {prompt.error}"])
    if prompt.messages is not None:
        said.append(_many(len(prompt.messages), "message"))
    said += [_many(prompt.bytes, "byte"), _many(prompt.characters, "character")]
    if tokens is not None:
        said.append(_many(tokens, "token"))
    return between.join(said)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
