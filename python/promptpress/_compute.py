"""`pyarrow.compute`, imported when something of it is first used.

It makes a Python function of every one of Arrow's kernels, which takes longer than importing all of promptpress. Worker
processes and short commands that repeat no rows never need it.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("pyarrow.compute"), name)
