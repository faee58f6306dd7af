"""Smaller cases that fail in the same way. Each is tried in a process of its own: it may crash or hang."""

from __future__ import annotations

import dataclasses
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from .configurations import Case
from .faults import kind_of

Check = Callable[[Case], object]

UNSHRUNK_KEYS = ("type", "ice_token", "sep_token", "substitution")
"""Keys whose values mean something else, or nothing that the models know, when they are cut."""


def fault(check: Check, case: Case, patience: float = 10.0) -> str | None:
    """Return what is wrong with a case, or None."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            check(case)
            what = ""
        except BaseException as error:  # a PanicException is no Exception
            what = kind_of(error)
        os.write(writer, b"." + what.encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], patience)
    answer = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ready:
        return "no answer"
    if not answer:
        return f"killed: {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else "killed"
    return answer[1:].decode() or None


def shrunk(check: Check, case: Case, seconds: float = 60.0) -> Case:
    """The smallest case that was found in the time."""
    what, end = fault(check, case), time.monotonic() + seconds
    progress = what is not None
    while progress:
        progress = False
        for smaller in candidates(case):
            if time.monotonic() > end:
                return case
            if fault(check, smaller) == what:
                case, progress = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are a step smaller, the largest steps first."""
    for name in ("samples", "train"):
        table = getattr(case, name)
        for part in smaller_tables(table) if table is not None else ():
            yield dataclasses.replace(case, **{name: part})
    for key in case.config:
        yield dataclasses.replace(case, config={k: v for k, v in case.config.items() if k != key})
    for config in smaller(case.config):
        yield dataclasses.replace(case, config=config)


def smaller_tables(table: pa.Table) -> Iterator[pa.Table]:
    rows = len(table)
    if rows > 1:
        yield table.slice(0, rows // 2)
        yield table.slice(rows // 2)
        yield table.slice(0, rows - 1)
        yield table.slice(1)
    for name in table.column_names if table.num_columns > 1 else ():
        yield table.drop_columns([name])
    for index, column in enumerate(table.columns):
        plain = pa.nulls(rows)
        if column.type != plain.type:
            yield table.set_column(index, table.column_names[index], plain)
        if column.num_chunks > 1:
            yield table.set_column(
                index, table.schema.field(index), pa.chunked_array([c for c in column.chunks if len(c)], column.type)
            )


def smaller(value: Any) -> Iterator[Any]:
    """Values with one item, one key or one half of a text less, at any depth."""
    if isinstance(value, str) and value:
        yield ""
        if len(value) > 3:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
        yield value[1:]
        yield value[:-1]
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, item in enumerate(value):
            for less in smaller(item):
                yield [*value[:index], less, *value[index + 1 :]]
    elif isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        for key, item in value.items():
            if key in UNSHRUNK_KEYS:
                continue
            for less in smaller(item):
                yield {**value, key: less}
