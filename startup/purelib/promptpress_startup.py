"""Switches bulk backends on where the environment says so, as soon as their harness is imported.

Installed beside the package with `promptpress_backend.pth`, which Python reads when it starts. It imports this where
PROMPTPRESS_BACKEND is set. A harness runs its tasks in processes of their own; the variable goes with them. Until the
harness is imported nothing else is, so other programs in the same environment start as fast as before.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.abc import MetaPathFinder

PACKAGES = {"opencompass": "opencompass", "ais_bench": "aisbench", "lm_eval": "lm_eval"}


class Startup(MetaPathFinder):
    """Finds nothing; sees which packages are looked for."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        """Switch on what was asked for, if this is its harness; nothing is found."""
        backend = PACKAGES.get(name)
        if backend in self._wanted:
            self._wanted.discard(backend)
            try:
                importlib.import_module(f"promptpress.{backend}").enable()
            except ImportError as error:
                # The harness runs without it as well.
                print(f"PROMPTPRESS_BACKEND: {backend} is not switched on: {error}", file=sys.stderr)


def main(asked: str) -> None:
    """Wait for the harnesses that were asked for, separated by commas."""
    names = {name.strip() for name in asked.split(",")} - {""}
    unknown = names - set(PACKAGES.values())
    if unknown:
        known = ", ".join(PACKAGES.values())
        print(f"PROMPTPRESS_BACKEND: no backend {', '.join(sorted(unknown))}; there are {known}", file=sys.stderr)
    sys.meta_path.insert(0, Startup(names - unknown))


main(os.environ.get("PROMPTPRESS_BACKEND", ""))
