"""Runs the command, and dies at one of its steps: `python interrupted.py [--kill N] [--full N] -- render ...`.

A step is anything that changes what is on the disk: a file that is made, written to, synced, renamed or deleted, a
folder that is made or deleted. With `--kill N` the process dies by SIGKILL at step N, a write when half of it is done;
with `--full N` the disk is full from step N on. Each batch of samples is a part of its own. How many steps there were
is the last line of standard error.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from promptpress_workbench.cli import prompt_stream as resume
from promptpress_workbench.cli.process import main
from promptpress_workbench.files.write.output_file import EarlyWrites

_NEEDS_SPACE = ("open", "write", "fsync", "mkdir")


class Steps:
    """Counts the steps, and ends the process or the disk at one."""

    def __init__(self, kill: int, full: int) -> None:
        self.count = 0
        self._kill = kill
        self._full = full

    def take(self, name: str, half: Callable[[], object] = int) -> None:
        """Do one more."""
        self.count += 1
        if self.count == self._kill:
            half()
            os.kill(os.getpid(), signal.SIGKILL)
        if self._full and self.count >= self._full and name in _NEEDS_SPACE:
            half()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def watch(self, module: Any, name: str) -> None:
        """Count the calls of a function."""
        function = getattr(module, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            self.take(name)
            return function(*arguments, **options)

        setattr(module, name, watched)


def _main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--full", type=int, default=0)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    steps = Steps(arguments.kill, arguments.full)
    for name in ("replace", "fsync", "unlink", "mkdir", "rmdir"):
        steps.watch(os, name)
    write, init = EarlyWrites.write, EarlyWrites.__init__

    def watched_write(self: EarlyWrites, data: Any) -> int:
        view = memoryview(data).cast("B")
        steps.take("write", lambda: write(self, view[: len(view) // 2]))
        return write(self, data)

    def watched_init(self: EarlyWrites, path: str) -> None:
        steps.take("open")
        init(self, path)

    EarlyWrites.write, EarlyWrites.__init__ = watched_write, watched_init  # type: ignore[method-assign]
    resume.PART_SECONDS = 0
    code = main(arguments.command)
    print(steps.count, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(_main())
