"""The entry point of the command `promptpress` and of `python -m promptpress`."""

import gc
import os
import sys
from typing import NoReturn

from promptpress_workbench import cli as _cli
from promptpress_workbench.threads import wait_for_calls

from promptpress._importing import unwind_by_interrupt

_FLUSH_FAILED = 120
"""Python's own exit code if standard output can't be flushed."""


def main() -> NoReturn:
    """Run the command as the whole process, and end the process with its exit code."""
    unwind_by_interrupt()
    gc.freeze()  # imported modules live to the end: collections needn't look through them
    code = _cli.main()
    # A thread of Arrow may still wait for standard input. The interpreter must not shut down around it, because the
    # thread would then end the process with a message of the C++ runtime.
    wait_for_calls()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            code = code or _FLUSH_FAILED
    os._exit(code)


if __name__ == "__main__":
    main()
