"""Commands that run in a terminal: a pseudo-terminal of a given width."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

import pytest

WITHOUT = ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR")


def in_terminal(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, columns: int = 80, code: int = 0
) -> str:
    """Return what a command writes to a terminal; its lines end with a line feed alone."""
    pty, fcntl, termios, struct = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios", "struct"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
        env={**kept, "TERM": "xterm-256color", **(environment or {})},
    )  # fmt: skip
    os.close(theirs)
    out = b""
    try:
        while block := os.read(ours, 65536):
            out += block
    except OSError:  # what Linux says at the end
        pass
    finally:
        os.close(ours)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors.decode()
    return out.decode().replace("\r\n", "\n")
