"""Messages of failures, without what differs from case to case, to count each kind of fault once."""

from __future__ import annotations

import re

QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def general(message: str) -> str:
    """The start of a message, without its numbers and what it quotes."""
    return re.sub(r"\d+", "N", QUOTED.sub("'…'", message))[:120]


def kind_of(error: BaseException) -> str:
    """Return the kind of fault that an exception shows."""
    return getattr(error, "what", None) or f"{type(error).__name__}: {general(str(error))}"
