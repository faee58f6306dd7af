"""Switches bulk backends on in every process, as soon as the process imports their harness.

A wheel installs this module next to the package, with `promptpress_backend.pth`. Python reads that file when it starts,
and imports this module if PROMPTPRESS_BACKEND is set. A harness runs its tasks in processes of their own, which inherit
the variable. Before the harness is imported, nothing of promptpress is, so other programs in the same environment start
as fast as without it. Only the table of harnesses is read, as a file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any


class Startup(MetaPathFinder):
    """Finds no module, but switches a backend on when Python looks for the package of its harness."""

    def __init__(self, harnesses: dict[str, Any]) -> None:
        self._harnesses = harnesses

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        """Switch the backend on if the module is its harness."""
        harness = self._harnesses.pop(name, None)
        if harness is not None:
            try:
                importlib.import_module(harness.switch).enable()
            except ImportError as error:
                # The harness runs without the backend as well.
                print(f"PROMPTPRESS_BACKEND: {harness.backend} is not switched on: {error}", file=sys.stderr)


def read_table() -> dict[str, Any]:
    """Return the harnesses by the name of their backend, without importing the package."""
    package = importlib.util.find_spec("promptpress_harness")
    if package is None or not package.submodule_search_locations:
        raise ImportError("promptpress isn't installed")
    path = Path(package.submodule_search_locations[0], "registry.py")
    spec = importlib.util.spec_from_file_location("promptpress_registry", path)
    assert spec is not None
    assert spec.loader is not None
    registry = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(registry)
    return registry.HARNESSES  # type: ignore[no-any-return]


def main(backends: str) -> None:
    """Wait for the harnesses of some backends, whose names are separated by commas."""
    names = {name.strip() for name in backends.split(",")} - {""}
    try:
        table = read_table()
    except (ImportError, OSError) as error:
        print(f"PROMPTPRESS_BACKEND: no backend is switched on: {error}", file=sys.stderr)
        return
    unknown = names - set(table)
    if unknown:
        message = f"no backend {', '.join(sorted(unknown))}; there are {', '.join(table)}"
        print(f"PROMPTPRESS_BACKEND: {message}", file=sys.stderr)
    sys.meta_path.insert(0, Startup({table[name].package: table[name] for name in names - unknown}))


main(os.environ.get("PROMPTPRESS_BACKEND", ""))
