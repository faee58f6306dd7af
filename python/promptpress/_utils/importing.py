"""Ctrl-C while the command's modules are imported: the process ends by the signal, as other programs do."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` takes longer to import than all of this
import os
import sys
from itertools import pairwise

_NAME = "promptpress"


def is_command() -> bool:
    """Return true if the package is imported to run its command: by `python -m promptpress`, or its script."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":
        return ("-m", _NAME) in pairwise(sys.orig_argv)
    return os.path.basename(program).partition(".")[0] == _NAME


def end_by_interrupt() -> None:
    """Let Ctrl-C end the process without a traceback, until `unwind_by_interrupt`."""
    if is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def unwind_by_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, for whom cleans up after it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.SIG_DFL:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
