"""Variables that no chat template reads, and whose names are nearly those of what it does."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from jinja2 import TemplateError

from promptpress._jinja.bounded import undeclared_names
from promptpress._jinja.reference import Reference

__all__ = ["misspelt"]

_OWN = ("add_generation_prompt", "continue_final_message", "tools", "documents", "environment", "fallback", "column")
_NEARNESS = 0.85
"""Families of models have names in common (`thinking_budget`, `thinking_mode`), which are no slips of each other."""


def misspelt(template: Reference, variables: Iterable[str]) -> str:
    """Say which variables were probably meant to be others.

    A template may be given what it doesn't read: the same arguments serve many models. So only a name that is nearly
    another one is told.

    Args:
        template: The template.
        variables: The names that it is given.

    Returns:
        A line each; empty where nothing is probably wrong.

    >>> template = Reference("{{ bos_token if enable_thinking }}", "transformers")
    >>> misspelt(template, ["enable_thinkng", "eos_token", "style"])
    "enable_thinkng: the template doesn't read it; did you mean 'enable_thinking'?"
    >>> misspelt(template, ["enable_thinking", "style"])
    ''

    """
    # A special token comes from the tokenizer, whether it is read or not.
    unread = [name for name in variables if name not in template.source and not name.endswith("_token")]
    if not unread:
        return ""
    try:
        read = undeclared_names(template.environment.parse(template.source))
    except TemplateError:
        return ""
    known = [*_OWN, *sorted(read.difference(variables))]
    told = [(name, get_close_matches(name, known, 1, _NEARNESS)) for name in unread]
    return "\n".join(
        f"{name}: the template doesn't read it; did you mean {meant[0]!r}?" for name, meant in told if meant
    )
