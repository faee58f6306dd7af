"""`promptpress view` in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import promptpress

PACKAGE = str(Path(promptpress.__file__).parent.parent)


@dataclass
class Served:
    """A running page.

    Attributes:
        process: the command.
        address: where it is, with its token.
        error_lines: what it has written to standard error.

    """

    process: subprocess.Popen[str]
    address: str = ""
    error_lines: list[str] = field(default_factory=list)


@contextmanager
def served(folder: Path, *arguments: str, is_open: bool = False, **environment: str) -> Iterator[Served]:
    """Run `promptpress view` with these arguments in a folder until the block ends; it opens a browser if `is_open`."""
    paths = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "promptpress", "view", *arguments, *([] if is_open else ["--no-open"])]
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment}, stderr=subprocess.PIPE, text=True
    )
    page = Served(process)
    is_ready = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            page.error_lines.append(line)
            if match := re.search(r"http://\S+", line):
                page.address = match.group()
                is_ready.set()
        is_ready.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        is_ready.wait(60)
        assert page.address, "".join(page.error_lines)
        yield page
    finally:
        process.terminate()
        process.wait(30)
        thread.join(10)
        assert process.stderr is not None
        process.stderr.close()
