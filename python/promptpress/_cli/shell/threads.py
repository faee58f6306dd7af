"""The number of threads: `--threads` and `PROMPTPRESS_THREADS`."""

from __future__ import annotations

import os
import re
import warnings

import pyarrow as pa

import promptpress
import promptpress._core as _core
from promptpress._errors.file_errors import UsageError, reason

_NUMBER = re.compile(r"\+?[0-9]{1,9}")
_MAX_THREADS = 1024


def set_threads(threads: int | None) -> None:
    """Set the number of threads of the core and of Arrow; None leaves it to `PROMPTPRESS_THREADS`, which is checked."""
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
