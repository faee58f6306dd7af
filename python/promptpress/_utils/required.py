"""pyarrow, which everything needs: what to do where it can't be imported."""

from __future__ import annotations

import sys
from pathlib import PurePath

_COMMANDS = ("promptpress", "promptpress-run")
_EXIT_CODE = 3


def import_pyarrow() -> None:
    """Import pyarrow."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - it may be absent
    except ImportError as error:
        reason = " ".join(str(error).split())
        message = (
            f"pyarrow can't be imported: {reason}; beside OpenCompass and AISBench, which ask for numpy below 2, pip "
            "install 'promptpress[harness]' brings a pyarrow that works, and else pip install --upgrade pyarrow numpy"
        )
        if not _is_command() or "--traceback" in sys.argv:
            raise ImportError(message, name="pyarrow") from error
        print(f"promptpress: error: {message}", file=sys.stderr)
        raise SystemExit(_EXIT_CODE) from None


def _is_command() -> bool:
    """Return true if this process was started as one of the package's commands."""
    if sys.argv[:1] == ["-m"]:  # while the module that is run is looked for
        words = iter(sys.orig_argv)
        module = next((next(words, "") for word in words if word == "-m"), "")
        return module.split(".")[0] == "promptpress"
    return PurePath(sys.argv[0] if sys.argv else "").stem in _COMMANDS
