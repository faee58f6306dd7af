"""One case of configurations in Python: kept ones with some of their words changed, read as data.

A case passes by what the file binds or by a `ConfigError`. It fails by any other exception, by more time or memory than
a worker has, and by whatever reading it does beside reading: a file written, a process started, code executed.
"""

from __future__ import annotations

import contextlib
import encodings
import importlib
import pkgutil
import re
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import promptpress_harness.python_subset.statements  # noqa: F401 - else the first file imports it
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config

from . import stages
from .draw import Draw

CORPUS = Path(__file__).parent / "corpus" / "python_config"
WORDS = re.compile(r"\w+|\s+|[^\w\s]")
PIECES = (
    "(", ")", "[", "]", "{", "}", ":", ",", "=", "*", "**", "+", "%", "//", ".", "\n", "    ", "#", "'", "\"\"\"",
    "f'{", "0", "-1", "10**9", "None", "lambda: 0", "for x in range(3)", "if 1 else 2", "not ", "'x' * 10**9",
    "[0] * 10**8", "[1, 2]", "{'a': 1}", "dict(a=1)", "__import__('os')", "open('out', 'w')", "exec('1')",
    ".__class__", "with read_base():", "from .base import *", "import os", "os.system('true')", "len",
    "range(10**12)", "'%s'", ".format(1)", "del ", "while True:", "break", "def f(x): return f(x)", "f(1)",
    "f'{1:{1000000}}'", "1 << 99999", "'a'.join", "sorted", "eval", "é", "\\x00", "async ", "match x:",
    "class A: pass", "try:", "raise ", "global x", "yield", "await ", "@", "->", ":=", "...",
)  # fmt: skip
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.", "os.remove", "os.rename",
             "os.mkdir", "os.rmdir", "shutil.", "ctypes.", "exec")  # fmt: skip


@dataclass
class Case:
    """The bytes of a configuration, and of the one that it may build on."""

    source: bytes
    base: bytes


@cache
def kept() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CORPUS.iterdir())]


def make(seed: int, number: int) -> Case:
    draw = Draw.of(seed, number, "configs")
    if draw.chance(200):
        deep = draw.pick("(", "[", "{0:", "-", "not ", "f(", "a.", "x if 1 else ", "lambda: ", "'' + ")
        return Case(("x = " + deep * draw.pick(50, 500, 5000, 90_000)).encode(), b"")
    source = changed(draw, draw.choice(kept()))
    data = source.encode()
    for _ in range(draw.pick(0, 0, 0, 0, 1, 4)):
        position = draw.randrange(len(data) + 1)
        data = data[:position] + bytes([draw.randrange(256)]) + data[position + draw.randrange(2) :]
    return Case(data, changed(draw, draw.choice(kept())).encode())


def changed(draw: Draw, source: str) -> str:
    """Some words left out, doubled, swapped with others, or new ones put between."""
    words = WORDS.findall(source)
    for _ in range(draw.pick(0, 1, 1, 2, 3, 8)):
        position = draw.randrange(len(words) + 1)
        what = draw.randrange(5)
        if what == 0:
            del words[position : position + draw.pick(1, 1, 2, 9)]
        elif what == 1:
            words[position:position] = [draw.choice(PIECES)]
        elif what == 2:
            words[position : position + 1] = [draw.choice(PIECES)]
        elif what == 3:
            other = WORDS.findall(draw.choice(kept()))
            start = draw.randrange(len(other) + 1)
            words[position:position] = other[start : start + draw.randint(1, 30)]
        else:
            words[position:position] = words[position : position + draw.pick(1, 3, 20)] * draw.pick(1, 2, 40)
    return "".join(words)[:200_000]


class Watch:
    """Watches what the interpreter does while a configuration is read. An audit hook stays, so there is one."""

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: Any) -> None:
        if self.seen is None:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        # Its own modules may be imported meanwhile.
        is_module = event == "exec" and "promptpress" in getattr(arguments[0], "co_filename", "")
        is_module = is_module or (
            event == "exec" and "frozen" in getattr(arguments[0], "co_filename", "") + repr(arguments[0])
        )
        if writes or (event.startswith(FORBIDDEN) and not is_module):
            self.seen.append(f"{event} {arguments!r}"[:300])


@cache
def watch() -> Watch:
    # A source may name its encoding in a comment, and Python imports its own module for it.
    for module in pkgutil.iter_modules(encodings.__path__, "encodings."):
        with contextlib.suppress(ImportError):  # some are of other systems
            importlib.import_module(module.name)
    return Watch()


def check(_seed: int, _number: int, case: Case) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.py")
        path.write_bytes(case.source)
        Path(folder, "base.py").write_bytes(case.base)
        modules = set(sys.modules)
        stages.enter("reading")
        watch().seen = seen = []
        try:
            read_config(str(path))
        except ConfigError as error:
            if not str(error):
                raise AssertionError("a refusal without a message") from error
        finally:
            watch().seen = None
        files = {path.name for path in Path(folder).iterdir()}
    assert files == {"config.py", "base.py"}, f"files were written: {files}"
    assert not seen, f"reading a configuration does more: {seen}"
    assert not {"config", "base"} & (set(sys.modules) - modules), "a configuration was imported"
    return 1


def run(seed: int, number: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's parser
        return check(seed, number, make(seed, number))
