"""`--no-clobber`: an output that is there already is an error, before anything is read."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable

from promptpress._file_errors import OutputError

__all__ = ["refuse_clobber", "refuse_existing"]

_ALL = "all"
_OPTIONS = ("out", "html")
_STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def refuse_clobber(arguments: Namespace) -> None:
    """Refuse to write over what is there, where the command line says so.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        OutputError: naming the output.

    """
    if _ALL in (getattr(arguments, "dataset", None), getattr(arguments, "model_abbr", None)):
        return  # the output is a folder of many, each of which is looked for when their names are known
    refuse_existing(arguments, [getattr(arguments, name, None) for name in _OPTIONS])


def refuse_existing(arguments: Namespace, paths: Iterable[str | None]) -> None:
    """Refuse outputs that are there, where the command line says so.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        paths: the outputs.

    Raises:
        OutputError: naming the first that is there.

    """
    if not getattr(arguments, "no_clobber", False):
        return
    for path in paths:
        if path is not None and path not in _STDOUT and os.path.lexists(path):
            raise OutputError(f"{path}: is there already, and --no-clobber keeps it")
