"""One case of configurations as programs: read as data, and executed by Python beside it.

A program's names must have the values that Python gives them: of the same types, with the same objects in several
places, and dicts in the same order. A program may be refused, and must be where Python raises.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections import Counter
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset import Opaque, Symbol, values

from . import stages
from .draw import Draw
from .grammar import Writer

HANG = 120.0
"""A program may ask for more than is allowed, and that is only known after a million steps."""
HIDDEN = (Iterator, io.IOBase, KeysView, ValuesView, ItemsView)
TEXTS = (b"l1\x0cx\r\nl2\n", b"", b"\xef\xbb\xbfa\rb\r\n\r\nc", "é\u2028ü\n\n\nz".encode(), b"\x0b1\x1c2\n", b"a\xff")


@dataclass
class Case:
    """A program, the bytes of a text file beside it, and the rules of the grammar that it comes from."""

    source: str
    text: bytes
    used: Counter[str] = field(default_factory=Counter)


class DifferentError(AssertionError):
    """A value that isn't Python's."""


def make(seed: int, number: int) -> Case:
    draw = Draw.of(seed, number, "programs")
    writer = Writer(draw)
    source = writer.program()
    return Case(source, draw.choice(TEXTS), writer.used)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of all cases of this process."""
    return tempfile.TemporaryDirectory()


def outcome(case: Case) -> str:
    """Compare both: `equal`, `in part` for names without a value, `refused`, or `broken`, where Python is said to fail.

    A program that is refused isn't executed: it may never end.
    """
    path = Path(folder().name, "config.py")
    path.write_text(case.source, encoding="utf-8")
    path.with_name("t.txt").write_bytes(case.text)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of Python's parser
        patch.setattr(values, "MAX_STEPS", 50_000)
        stages.enter("reading")
        try:
            names = read_config(str(path)).value
        except ConfigError as error:
            return "refused" if "would have to be executed" in str(error) else "broken"
        stages.enter("executing")
        expected: dict[str, Any] = {"__file__": str(path)}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(case.source, str(path), "exec", dont_inherit=True), expected)
        except Exception as error:
            if any(isinstance(value, Opaque) and "in every run" in str(value.refusal) for value in names.values()):
                return "in part"  # what comes of a value that differs from run to run isn't known
            raise DifferentError(f"read, and Python raises {type(error).__name__}: {error}") from error
    expected = {name: value for name, value in expected.items() if not name.startswith("__")}
    if [*names] != [*expected]:
        raise DifferentError(f"the names {[*names]}, and Python binds {[*expected]}")
    comparison = Comparison()
    for name, value in expected.items():
        comparison.compare(name, names[name], value)
    return "in part" if comparison.opaque else "equal"


class Comparison:
    """Compares two values with all that they hold, and which of it is the same object."""

    def __init__(self) -> None:
        self.opaque = 0
        self.pairs: dict[int, int] = {}
        self.kept: list[Any] = []

    def compare(self, path: str, value: Any, wanted: Any) -> None:
        if isinstance(value, Symbol):
            if not callable(wanted) and type(wanted).__name__ not in ("module", "staticmethod"):
                raise DifferentError(f"{path}: the name {value.dotted}, and in Python {wanted!r}")
        elif isinstance(value, Opaque):
            self.opaque += not isinstance(wanted, HIDDEN) and not callable(wanted)
        elif type(value) is not type(wanted):
            raise DifferentError(f"{path}: {value!r}, and in Python {wanted!r}")
        elif isinstance(value, (list, dict, tuple)):
            self.contained(path, value, wanted)
        elif isinstance(value, (set, frozenset)):
            self.same_object(path, value, wanted)
            if sorted(map(repr, value)) != sorted(map(repr, wanted)):
                raise DifferentError(f"{path}: {value!r}, and in Python {wanted!r}")
        elif not isinstance(value, HIDDEN) and repr(value) != repr(wanted):
            raise DifferentError(f"{path}: {value!r}, and in Python {wanted!r}")

    def same_object(self, path: str, value: Any, wanted: Any) -> bool:
        """Note a pair of objects; true if it was compared before."""
        if isinstance(value, (tuple, frozenset)):
            return False
        is_paired = id(value) in self.pairs
        if self.pairs.setdefault(id(value), id(wanted)) != id(wanted) or (
            self.pairs.setdefault(-id(wanted), id(value)) != id(value)
        ):
            raise DifferentError(f"{path}: {value!r} is another object than in Python")
        self.kept += [value, wanted]  # or another object could get its number
        return is_paired

    def contained(self, path: str, value: Any, wanted: Any) -> None:
        if self.same_object(path, value, wanted):
            return
        if len(value) != len(wanted):
            raise DifferentError(f"{path}: {value!r}, and in Python {wanted!r}")
        if isinstance(value, dict):
            for (key, item), (other, expected) in zip(value.items(), wanted.items(), strict=True):
                self.compare(f"{path}'s key", key, other)
                self.compare(f"{path}[{key!r}]", item, expected)
        else:
            for position, (item, expected) in enumerate(zip(value, wanted, strict=True)):
                self.compare(f"{path}[{position}]", item, expected)


def check(_seed: int, _number: int, case: Case) -> int:
    outcome(case)
    return 1


def run(seed: int, number: int) -> int:
    return check(seed, number, make(seed, number))
