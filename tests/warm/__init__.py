"""The command for tests, forked of an interpreter that has imported it: what a process does, without its start.

The client is a process like any other, with its arguments, folder, environment, pipes and terminal. It hands them to
the server, which forks, and ends as the forked command ends. What else a process has (limits, signals that are sent to
it, a stream that is closed, modules of its folder, its imports) needs a process of its own: `PROCESS`.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import promptpress

__all__ = ["PROCESS", "command"]

HERE = Path(__file__).parent
COMMAND = Path(promptpress.__file__).with_name("__main__.py")
PROCESS = [sys.executable, "-m", "promptpress"]


def command(*arguments: str, program: str | Path = COMMAND) -> list[str]:
    """Return a command line for `subprocess` or a shell; the first call starts the server.

    Args:
        arguments: The arguments of the command.
        program: Another program that is to be run so, which imports what the command does.

    """
    return [*_client(), str(program), *arguments]


@cache
def _client() -> list[str]:
    if not hasattr(os, "fork"):
        return [sys.executable]
    folder = tempfile.TemporaryDirectory(prefix="warm")
    address = os.path.join(folder.name, "socket")
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    def end(owner: int = os.getpid()) -> None:
        # A process that a test has forked is not the one to end it.
        if os.getpid() == owner:
            server.communicate()
            folder.cleanup()

    atexit.register(end)
    # Without `site`: the client needs nothing but the standard library.
    return [sys.executable, "-S", str(HERE / "client.py"), address]
