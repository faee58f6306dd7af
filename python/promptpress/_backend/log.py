"""What the backend says in the log."""

from __future__ import annotations

import logging

logger = logging.getLogger("promptpress.backend")
_said: set[str] = set()


def fall_back(reason: str) -> None:
    """Say that the harness's own code is used, once for each reason.

    Args:
        reason: What isn't covered, as a clause: "the inferencer is a subclass".
    """
    if reason not in _said:
        _said.add(reason)
        logger.warning("promptpress leaves prompts to the harness: %s", reason)


def forget() -> None:
    """Say everything again, as when a backend is switched on anew."""
    _said.clear()
