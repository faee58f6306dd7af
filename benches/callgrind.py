"""Calls counted by valgrind's callgrind: how a counted process says when to count, and what its dumps say.

A process under valgrind talks to it by an instruction sequence that does nothing elsewhere (valgrind.h); it is put into
executable memory here, because Python has no other way to give it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROCESSOR = "x86_64"
"""The processor that `_ASK` is written for."""

# f(question): rax = question; rdx = 0; rol rdi, 3, 13, 61, 51; xchg rbx, rbx; return rdx
_ASK = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_TOOL = ord("C") << 24 | ord("T") << 16
_ZERO, _DUMP, _START, _STOP = (_TOOL + number for number in (1, 3, 4, 5))
# One seed for the hashes of strings, and no threads of anybody else's.
_STEADY = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Counter:
    """Counts the instructions of calls in a process that runs under callgrind."""

    def __init__(self) -> None:
        """Put the instruction sequence into memory."""
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(_ASK)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)

    def _ask(self, request: int, name: str = "") -> None:
        text = ctypes.create_string_buffer(name.encode())
        question = (ctypes.c_uint64 * 6)(request, ctypes.addressof(text))
        self._function(ctypes.addressof(question))

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Have instructions counted within the block; what is outside runs ten times as fast."""
        self._ask(_START)
        try:
            yield
        finally:
            self._ask(_STOP)

    def count(self, name: str, call: Callable[[], object]) -> None:
        """Run the call, and have the number of its instructions dumped under the name."""
        self._ask(_ZERO)
        call()
        self._ask(_DUMP, name)


def command(folder: Path, script: Path, *arguments: str) -> list[str]:
    """Return the command line of a counted process, whose dumps go into the folder."""
    options = ["--instr-atstart=no", "--dump-line=no", f"--callgrind-out-file={folder / 'dump'}"]
    return ["valgrind", "--tool=callgrind", *options, sys.executable, str(script), *arguments]


def start(folder: Path, packages: Path, script: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a counted process that imports the package from `packages`."""
    environment = {**os.environ, **_STEADY, "PYTHONPATH": str(packages)}
    line = command(folder, script, *arguments)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def counts(folder: Path) -> dict[str, int]:
    """Return the numbers of a process that has ended, by the names that `Counter.count` was given."""
    totals = {}
    for file in folder.glob("dump*"):
        text = file.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
        if name and total:
            totals[name.group(1)] = int(total.group(1))
    return totals
