"""Records how far a case has come, for the case that its process dies."""

from __future__ import annotations

from collections.abc import Callable

listener: list[Callable[[str], None]] = []
"""Functions that get the name of each stage; a worker sends it to its parent."""


class Unbuildable(Exception):  # noqa: N818 - an outcome, not a fault
    """The case can't be made; pyarrow refuses it itself."""


def enter(stage: str) -> None:
    for tell in listener:
        tell(stage)
