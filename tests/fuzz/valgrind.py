"""Workers under valgrind: invalid reads and writes of the extension are failures, whatever comes of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

SUPPRESSIONS = Path(__file__).with_name("valgrind.supp")


def command() -> tuple[str, ...]:
    """What stands before a worker's command; nothing, and a word about it, where valgrind isn't installed."""
    found = shutil.which("valgrind")
    if found is None:
        print(
            "SKIPPED: valgrind isn't installed here, so nothing was looked at (Debian: apt-get install valgrind)",
            file=sys.stderr,
        )
        return ()
    # Python's own allocator hides what is read beyond a block, and pyarrow's pools as well.
    os.environ |= {"PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return (
        found,
        "--quiet",
        "--error-exitcode=99",
        "--exit-on-first-error=yes",
        "--undef-value-errors=no",
        "--leak-check=no",
        "--num-callers=30",
        f"--suppressions={SUPPRESSIONS}",
    )
