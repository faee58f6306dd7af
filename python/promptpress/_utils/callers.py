"""The stack level of the caller outside the package, for warnings that name the user's line."""

from __future__ import annotations

import inspect
import os

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PACKAGES = tuple(
    os.path.join(_FOLDER, name, "") for name in ("promptpress", "promptpress_workbench", "promptpress_harness")
)


def callers_level() -> int:
    """Return the `stacklevel` with which a warning names the first caller outside the packages."""
    here = inspect.currentframe()
    frame = None if here is None else here.f_back
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame = frame.f_back
        level += 1
    return level - 1 if frame is None else level
