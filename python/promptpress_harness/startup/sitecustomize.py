"""Switches bulk backends on in a process that Python starts, as soon as the process imports their harness.

Python imports a module of this name when it starts. `promptpress-run` and `enable()` put this folder at the beginning
of PYTHONPATH, which processes inherit, as they inherit PROMPTPRESS_BACKEND. Before a harness is imported, nothing of
promptpress is: only the table of harnesses is read, as a file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from typing import Any

_VARIABLE = "PROMPTPRESS_BACKEND"
_NAME = "sitecustomize"
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class HarnessFinder(MetaPathFinder):
    """Finds no module, but switches a backend on when Python looks for the package of its harness."""

    def __init__(self, harnesses: dict[str, Any]) -> None:
        self._harnesses = harnesses

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        harness = self._harnesses.pop(name, None)
        if harness is not None:
            try:
                importlib.import_module(harness.switch).enable()
            except ImportError as error:
                # The harness runs without the backend as well.
                print(f"{_VARIABLE}: {harness.backend} is not switched on: {error}", file=sys.stderr)


def wait_for_harnesses() -> None:
    """Switch each backend that the environment variable names on, once its harness is imported."""
    names = {name.strip() for name in os.environ.get(_VARIABLE, "").split(",")} - {""}
    is_waiting = any(type(finder).__name__ == HarnessFinder.__name__ for finder in sys.meta_path)
    if not names or is_waiting:
        return
    spec = importlib.util.spec_from_file_location("promptpress_registry", f"{os.path.dirname(_FOLDER)}/registry.py")
    assert spec is not None
    assert spec.loader is not None
    registry = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(registry)
    table = registry.HARNESSES
    if unknown := names - set(table):
        there = f"no backend {', '.join(sorted(unknown))}; there are {', '.join(table)}"
        print(f"{_VARIABLE}: {there}", file=sys.stderr)
    sys.meta_path.insert(0, HarnessFinder({table[name].package: table[name] for name in names - unknown}))


def run_next() -> None:
    """Run the module of this name that Python would have imported without this folder, if there is one."""
    others = [folder for folder in sys.path if os.path.realpath(folder) != os.path.realpath(_FOLDER)]
    spec = PathFinder.find_spec(_NAME, others)
    if spec is not None and spec.loader is not None:
        module = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == _NAME:
    wait_for_harnesses()
    run_next()
