"""`--no-clobber`: refuses outputs that exist, before anything is read."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable

from promptpress._errors.file_errors import OutputError

__all__ = ["refuse_clobber", "refuse_existing"]

_ALL = "all"
_STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def refuse_clobber(arguments: Namespace) -> None:
    """Refuse the outputs of a command line if they exist and `--no-clobber` is given."""
    if _ALL in (getattr(arguments, "dataset", None), getattr(arguments, "model_abbr", None)):
        return  # the output is a folder; its files are checked when their names are known
    refuse_existing(arguments, [getattr(arguments, name, None) for name in ("out", "html", "retry")])


def refuse_existing(arguments: Namespace, paths: Iterable[str | None]) -> None:
    """Refuse the first of some paths that exists, if `--no-clobber` is given."""
    if not getattr(arguments, "no_clobber", False):
        return
    for path in paths:
        if path is not None and path not in _STDOUT and os.path.lexists(path):
            raise OutputError(f"{path}: is there already, and --no-clobber keeps it")
