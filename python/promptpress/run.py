"""A command, `python -m promptpress.run COMMAND...`, that runs a harness's command line with its bulk backend on.

    python -m promptpress.run opencompass configs/eval.py

sets PROMPTPRESS_BACKEND to all backends and runs `opencompass configs/eval.py`. The processes that the command starts
inherit the variable.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence

from promptpress_harness.registry import HARNESSES, STARTUP, VARIABLE

__all__ = ["main"]

BACKENDS = ",".join(HARNESSES)
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""The exit codes of a shell whose command isn't there, or can't be executed."""

_USAGE = "usage: python -m promptpress.run COMMAND [ARGUMENT...]"
_HELP = f"""\
{_USAGE.replace("python -m promptpress.run", "promptpress-run")}

Run a command, such as a harness's, with promptpress's bulk backends on. For it and every process that it starts
{VARIABLE}={BACKENDS} is set, unless the variable is set already.

  promptpress-run opencompass configs/eval.py
  promptpress-run ais_bench --models my_model --datasets my_dataset

python -m promptpress.run is the same. The variable is read by a file that the wheel puts next to the package,
promptpress_backend.pth. Without that file, call promptpress.opencompass.enable() in the harness's process.
"""


def prepared(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and its environment, in which a choice of backends stays as it is.

    Raises:
        SystemExit: If there is no command, or the package isn't installed as a wheel, whose `.pth` file is needed.

    Example:
        >>> prepared([], {})
        Traceback (most recent call last):
        ...
        SystemExit: usage: python -m promptpress.run COMMAND [ARGUMENT...]
    """
    if not arguments:
        raise SystemExit(_USAGE)
    if arguments[0].startswith("-"):
        raise SystemExit(f"{arguments[0]}: no such option; a command comes first\n{_USAGE}")
    if importlib.util.find_spec(STARTUP) is None:
        raise SystemExit(
            "promptpress.run needs promptpress to be installed in this environment: pip install promptpress"
        )
    return list(arguments), {VARIABLE: BACKENDS, **environment}


def main() -> None:
    """Replace this process by the command in its arguments, or print the help."""
    if sys.argv[1:2] and sys.argv[1] in ("-h", "--help"):
        print(_HELP, end="")
        return
    command, environment = prepared(sys.argv[1:], os.environ)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        is_absent = isinstance(error, (FileNotFoundError, NotADirectoryError))
        raise SystemExit(_NOT_FOUND if is_absent else _NOT_EXECUTABLE) from None


if __name__ == "__main__":
    main()
