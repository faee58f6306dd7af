"""The kinds of fuzzing by name: each is a module with `make(seed, number)` and `run(seed, number)`."""

from __future__ import annotations

import importlib
from types import ModuleType

KINDS = {
    "prompts": "requests",
    "cells": "cells",
    "row_errors": "tables",
    "arrow": "broken tables",
    "configs": "Python configurations",
}
"""Each kind, and what its cases count."""


def module(kind: str) -> ModuleType:
    """The module of a kind; any other name is a module's own."""
    return importlib.import_module(f"fuzz.{kind}" if kind in KINDS else kind)
