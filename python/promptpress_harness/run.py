"""The command `promptpress-run`, and the environment by which processes switch bulk backends on when they start."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import MutableMapping
from pathlib import Path

from promptpress_harness.registry import HARNESSES, VARIABLE

STARTUP = str(Path(__file__).parent / "startup")
"""The folder whose `sitecustomize` Python imports when it starts, if PYTHONPATH begins with the folder."""
_PATH = "PYTHONPATH"
_BACKENDS = ",".join(HARNESSES)
_FILE = "promptpress_backend.pth"
_LINE = (
    f'import os; os.environ.get("{VARIABLE}") and __import__("promptpress_harness.startup.sitecustomize", '
    'fromlist=["wait_for_harnesses"]).wait_for_harnesses()\n'
)
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""The exit codes of a shell whose command isn't there, or can't be executed."""
_USAGE = "usage: python -m promptpress.run COMMAND [ARGUMENT...]"
_HELP = f"""\
{_USAGE.replace("python -m promptpress.run", "promptpress-run")}

Run a command, such as a harness's, with promptpress's bulk backends on. For it and every process that it starts
{VARIABLE}={_BACKENDS} is set, unless the variable is set already, and
{_PATH} begins with a folder of promptpress, whose sitecustomize.py reads the variable.

  promptpress-run opencompass configs/eval.py
  promptpress-run ais_bench --models my_model --datasets my_dataset

python -m promptpress.run is the same.

  promptpress-run --install      writes a file of one line into this environment's site-packages, {_FILE},
                                 with which the variable alone switches the backends on
  promptpress-run --uninstall    deletes that file
"""


def main() -> None:
    """Replace this process by the command in its arguments, or do what its option says."""
    options = {"-h": _print_help, "--help": _print_help, "--install": _install, "--uninstall": _uninstall}
    command = sys.argv[1:]
    if not command:
        raise SystemExit(_USAGE)
    if command[0] in options:
        if len(command) > 1:
            raise SystemExit(f"{command[0]} stands alone\n{_USAGE}")
        options[command[0]]()
        return
    if command[0].startswith("-"):
        raise SystemExit(f"{command[0]}: no such option; a command comes first\n{_USAGE}")
    environment = {VARIABLE: _BACKENDS, **os.environ}
    add_startup(environment)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        is_absent = isinstance(error, (FileNotFoundError, NotADirectoryError))
        raise SystemExit(_NOT_FOUND if is_absent else _NOT_EXECUTABLE) from None


def add_startup(environment: MutableMapping[str, str]) -> bool:
    """Put the folder of our `sitecustomize` at the beginning of PYTHONPATH; return true if it wasn't there."""
    folders = environment.get(_PATH, "").split(os.pathsep) if environment.get(_PATH) else []
    is_added = STARTUP not in folders
    if is_added:
        environment[_PATH] = os.pathsep.join([STARTUP, *folders])
    return is_added


def remove_startup(environment: MutableMapping[str, str]) -> None:
    """Take the folder out of PYTHONPATH again; a variable without a folder goes."""
    folders = [folder for folder in environment.get(_PATH, "").split(os.pathsep) if folder != STARTUP]
    if any(folders):
        environment[_PATH] = os.pathsep.join(folders)
    else:
        environment.pop(_PATH, None)


def _print_help() -> None:
    print(_HELP, end="")


def _install() -> None:
    path = Path(sysconfig.get_path("purelib"), _FILE)
    try:
        path.write_text(_LINE, encoding="utf-8")
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
    print(f"wrote {path}; {VARIABLE}={_BACKENDS} now switches the backends on")


def _uninstall() -> None:
    path = Path(sysconfig.get_path("purelib"), _FILE)
    try:
        path.unlink()
    except FileNotFoundError:
        print(f"{path} isn't there")
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
    else:
        print(f"deleted {path}")
