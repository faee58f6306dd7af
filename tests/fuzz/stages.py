"""How far a case has come, for whoever finds its process dead."""

from __future__ import annotations

from collections.abc import Callable

listener: list[Callable[[str], None]] = []
"""What is told of each stage: a worker's parent."""


class Unbuildable(Exception):  # noqa: N818 - an outcome, not a fault
    """The case can't be made; pyarrow refuses it itself."""


def enter(stage: str) -> None:
    for tell in listener:
        tell(stage)
