"""The harness that a class stands in for, as far as the process has it. Nothing here imports it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def loaded(module: str, name: str) -> Any:
    """A name of the harness, or None where the process hasn't imported its module."""
    return getattr(sys.modules.get(module), name, None)


def register(registry: Any, classes: Iterable[type]) -> None:
    """Enter classes into a harness's registry under their dotted names, as configurations write them."""
    for one in classes:
        registry.register_module(name=f"{one.__module__}.{one.__name__}", module=one, force=True)
