"""Cases in processes of their own, that are started again where a case kills one."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import IO, Any

HANG = 10.0
"""Seconds after which a case counts as one that hangs."""
MEMORY = 4 << 30
"""Bytes of address space that a worker may have."""
START = 60.0
"""Seconds that a worker may take until its first case."""
BUILDING = "building"
"""The stage in which what happens is no fault of promptpress."""


@dataclass
class Report:
    """What a run found: the kinds of failures, each with the first cases that show it."""

    cases: int = 0
    count: int = 0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, number: int, what: str, detail: str) -> bool:
        """Note a failure; whether it is the first of its kind."""
        self.failures[what] += 1
        cases = self.shown.setdefault(what, [])
        if len(cases) < 3:
            cases.append((number, detail))
        return self.failures[what] == 1


class Worker:
    """A process with a share of the cases."""

    def __init__(self, kind: str, seed: int, first: int, step: int, prefix: tuple[str, ...], memory: int) -> None:
        self.kind, self.seed, self.next, self.step, self.prefix, self.memory = kind, seed, first, step, prefix, memory
        self.errors: IO[bytes]
        self.process: subprocess.Popen[bytes]
        self.start()

    def start(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has died
        arguments = (self.kind, self.seed, self.next, self.step, self.memory)
        command = [*self.prefix, sys.executable, "-m", "fuzz.worker", *map(str, arguments)]
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.begun: int | None = None
        self.stage = ""
        self.since = time.monotonic()
        self.rest = b""

    def lines(self) -> list[dict[str, Any]] | None:
        """What it has said since; None where it has gone."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            return None
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in whole]

    def take(self, line: dict[str, Any]) -> None:
        self.since = time.monotonic()
        self.stage = line.get("stage", "")
        if "begun" in line:
            self.begun = self.next = line["begun"]
        elif "done" in line:
            self.next = line["done"] + self.step

    def end(self) -> tuple[str, str]:
        """Stop the process: how it ended, and the last that it wrote."""
        if self.process.poll() is None:
            try:
                self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                self.process.kill()
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.seek(max(0, self.errors.seek(0, 2) - 1500))
        said = self.errors.read().decode(errors="replace")
        self.errors.close()
        return (signal.Signals(-code).name if code < 0 else f"exit code {code}"), said


def run(
    kind: str,
    seed: int,
    *,
    seconds: float | None = None,
    count: int | None = None,
    first: int = 0,
    workers: int = 2,
    failures: int = 20,
    prefix: tuple[str, ...] = (),
    patience: float = 1.0,
    hang: float = HANG,
) -> Report:
    """Run cases from number `first` on, until `seconds` have passed, `count` is reached or enough kinds have failed."""
    report = Report()
    begin = time.monotonic()
    memory = 0 if prefix else MEMORY
    team = [Worker(kind, seed, first + n, workers, prefix, memory) for n in range(workers)]
    listener = selectors.DefaultSelector()

    def listen(worker: Worker) -> None:
        assert worker.process.stdout is not None
        listener.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def lost(worker: Worker, what: str | None = None) -> None:
        assert worker.process.stdout is not None
        listener.unregister(worker.process.stdout)
        ended, said = worker.end()
        if worker.begun is None:
            raise RuntimeError(f"a worker ended before its first case ({ended}):\n{said}")
        if worker.stage == BUILDING:
            report.cases += 1  # pyarrow's own fault
        else:
            within = f" in {worker.stage}" if worker.stage else ""
            note(worker.next, (what or f"killed: {ended}{last_words(said)}") + within, said)
        worker.next += worker.step
        worker.start()
        listen(worker)

    def note(number: int, what: str, detail: str) -> None:
        if report.add(number, what, detail):
            print(f"FAILED seed {seed} case {number}: {what}\n    {detail[:600]}", flush=True)

    for worker in team:
        listen(worker)
    try:
        while (seconds is None or time.monotonic() - begin < seconds) and (count is None or report.count < count):
            if len(report.failures) >= failures:
                break
            for key, _ in listener.select(timeout=0.5):
                worker = key.data
                lines = worker.lines()
                if lines is None:
                    lost(worker)
                    continue
                for line in lines:
                    worker.take(line)
                    if "done" in line:
                        report.cases += 1
                        report.count += line.get("count", 0)
                        if "failed" in line:
                            note(line["done"], line["failed"], line["detail"] + "\n" + line["where"])
            for worker in team:
                if time.monotonic() - worker.since > (hang if worker.begun is not None else START) * patience:
                    worker.process.kill()
                    lost(worker, f"no answer within {hang:.0f} seconds")
    finally:
        for worker in team:
            worker.process.kill()
            worker.end()
        listener.close()
    report.seconds = time.monotonic() - begin
    return report


def last_words(said: str) -> str:
    """The line by which a process says why it aborts, without numbers."""
    marks = ("Check failed", "panicked", "memory allocation", "Invalid read", "Invalid write")
    lines = [line for line in said.splitlines() if any(mark in line for mark in marks)]
    if not lines:
        return ""
    return ", " + "".join("N" if c.isdigit() else c for c in lines[-1])[:160]
