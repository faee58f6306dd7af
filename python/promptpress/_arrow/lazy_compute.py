"""`pyarrow.compute`, imported at the first use of one of its functions.

The import makes a Python function for each of Arrow's kernels, which takes longer than importing all of promptpress.
Worker processes and short commands without repeated rows never need it.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("pyarrow.compute"), name)
