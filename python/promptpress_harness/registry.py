"""The harnesses: the table of their bulk backends, their loaded modules, their registries and their exceptions.

One more harness with a backend is one more entry of `HARNESSES`. `startup/sitecustomize.py` loads this file alone,
before anything of promptpress is imported, so only the standard library is imported here, and no harness.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

VARIABLE = "PROMPTPRESS_BACKEND"
"""The environment variable that lists backends, separated by commas."""


class Harness(NamedTuple):
    """One harness and its bulk backend."""

    name: str
    """The harness's name in messages."""
    package: str
    """The Python package of the harness: when it is imported, the backend is switched on."""
    backend: str
    """The backend's name in the environment variable."""
    switch: str
    """The module with `enable`, `disable` and `backend`."""
    versions: tuple[str, ...] = ()
    """The versions of the harness that the tests run."""
    has_screen: bool = False
    """True if the harness's console is redrawn, so that lines of other processes don't fit in."""


HARNESSES = {
    harness.backend: harness
    for harness in (
        Harness("OpenCompass", "opencompass", "opencompass", "promptpress.opencompass", ("0.5.4",)),
        Harness("AISBench", "ais_bench", "aisbench", "promptpress.aisbench", ("3.1.20260630",), has_screen=True),
        Harness("lm-evaluation-harness", "lm_eval", "lm_eval", "promptpress.lm_eval", ("0.4.13",)),
    )
}
"""The harnesses by the name of their backend."""


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
