"""The table of harnesses that have a bulk backend: one more harness is one more entry of `HARNESSES`.

`promptpress.run`, the harnesses' switches and `startup/sitecustomize.py` read the table. The latter loads this file
alone, before anything of promptpress is imported, so only the standard library is imported here.
"""

from __future__ import annotations

from typing import NamedTuple

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
