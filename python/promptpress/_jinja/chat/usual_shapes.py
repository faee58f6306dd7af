"""Conversations as most are: what a template is tried with before it is used."""

from __future__ import annotations

from typing import Any

__all__ = ["usual_conversations"]

_ROLES = {"s": "system", "u": "user", "a": "assistant"}
_SHAPES = ("u", "su", "ua", "uau", "suau", "sua", "uauau")


def usual_conversations(content: str = "Hi.") -> dict[str, list[Any]]:
    """Conversations of the usual shapes, by what they are called.

    Args:
        content: What is said in each message.

    >>> list(usual_conversations())[:2]
    ['user', 'system, user']

    """
    return {
        ", ".join(_ROLES[one] for one in shape): [{"role": _ROLES[one], "content": content} for one in shape]
        for shape in _SHAPES
    }
