"""Workers under valgrind: invalid reads and writes of the extension are failures, whatever comes of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

SUPPRESSIONS = Path(__file__).with_name("valgrind.supp")


def command() -> tuple[str, ...]:
    """Return the words before a worker's command; without valgrind print a note and return nothing."""
    program = shutil.which("valgrind")
    if program is None:
        print(
            "SKIPPED: valgrind isn't installed here, so nothing was looked at (Debian: apt-get install valgrind)",
            file=sys.stderr,
        )
        return ()
    # Python's own allocator hides what is read beyond a block, and pyarrow's pools as well.
    os.environ |= {"PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return (
        program,
        "--quiet",
        "--error-exitcode=99",
        "--exit-on-first-error=yes",
        "--undef-value-errors=no",
        "--leak-check=no",
        "--num-callers=30",
        f"--suppressions={SUPPRESSIONS}",
    )
