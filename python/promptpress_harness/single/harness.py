"""The harness that a class stands in for: its loaded modules, its registries and its exceptions.

Nothing here imports a harness.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Fault = Callable[[str], Exception]
"""Makes the exception that has a message."""

Faults = Mapping[str, Fault]
"""The exceptions that a harness raises, keyed by a word for the mistake."""


def loaded(module: str, name: str) -> Any:
    """Return a name of a harness's module, or None if the process hasn't imported the module."""
    return getattr(sys.modules.get(module), name, None)


def register(registry: Any, classes: Iterable[type]) -> None:
    """Enter classes into a harness's registry under their dotted names, as configurations write them."""
    for kind in classes:
        registry.register_module(name=f"{kind.__module__}.{kind.__name__}", module=kind, force=True)
