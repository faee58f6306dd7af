"""How many threads work."""

from __future__ import annotations

import os
import re
import warnings

import pyarrow as pa

import promptpress
from promptpress import _core
from promptpress._file_errors import UsageError, reason

_NUMBER = re.compile(r"\+?[0-9]{1,9}")
_MAX_THREADS = 1024


def set_threads(threads: int | None) -> None:
    """Let that many threads work, in the core and in Arrow.

    Args:
        threads: as `--threads` has it; None leaves it to `PROMPTPRESS_THREADS`, of which it is told if it is no number.

    Raises:
        UsageError: when the core can't have that many.

    """
    if threads is not None:
        try:
            promptpress.set_threads(threads)
        except ValueError as error:
            raise UsageError(f"--threads: {reason(error)}") from error
        pa.set_cpu_count(threads)
        return
    given = os.environ.get("PROMPTPRESS_THREADS", "").strip()
    number = int(given) if _NUMBER.fullmatch(given) else 0
    if given and not 1 <= number <= _MAX_THREADS:
        used = f"{_core.threads()} may be used"
        text = f"PROMPTPRESS_THREADS={given}: not a whole number from 1 to {_MAX_THREADS}; {used}"
        warnings.warn(text, UserWarning, stacklevel=2)
