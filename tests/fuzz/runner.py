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
TELL = 60.0
"""Seconds after which a run says how far it is."""
BUILDING = "building"
"""The stage in which what happens is no fault of promptpress."""


@dataclass
class Report:
    """The result of a run: the kinds of failures, each with the first cases that show it."""

    cases: int = 0
    count: int = 0
    seconds: float = 0.0
    next: int = 0
    """The number of the first case that wasn't tried."""
    failures: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, number: int, what: str, detail: str) -> bool:
        """Note a failure; whether it is the first of its kind."""
        self.failures[what] += 1
        cases = self.examples.setdefault(what, [])
        if len(cases) < 3:
            cases.append((number, detail))
        return self.failures[what] == 1


@dataclass(frozen=True)
class Job:
    """The common settings of a run's workers."""

    kind: str
    seed: int
    step: int
    prefix: tuple[str, ...] = ()
    """Words before a worker's command."""
    memory: int = MEMORY
    hang: float = HANG


class Worker:
    """A process with a share of the cases."""

    def __init__(self, job: Job, first: int) -> None:
        self.job, self.next = job, first
        self.errors: IO[bytes]
        self.process: subprocess.Popen[bytes]
        self.start()

    def start(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has died
        job = self.job
        arguments = (job.kind, job.seed, self.next, job.step, job.memory)
        command = [*job.prefix, sys.executable, "-m", "fuzz.worker", *map(str, arguments)]
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.begun: int | None = None
        self.stage = ""
        self.since = time.monotonic()
        self.rest = b""

    def lines(self) -> list[dict[str, Any]] | None:
        """Return what the worker has written since, or None if it has ended."""
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
            self.next = line["done"] + self.job.step

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
        errors = self.errors.read().decode(errors="replace")
        self.errors.close()
        return (signal.Signals(-code).name if code < 0 else f"exit code {code}"), errors


def run(job: Job, *, seconds: float | None, count: int | None = None, first: int = 0, failures: int = 20) -> Report:
    """Run cases from number `first` on, until `seconds` have passed, `count` is reached or enough kinds have failed."""
    begin = reported = time.monotonic()
    team = Team(job, first)
    report = team.report
    try:
        while (seconds is None or time.monotonic() - begin < seconds) and (count is None or report.count < count):
            if len(report.failures) >= failures:
                break
            team.go_on()
            if time.monotonic() - reported > TELL:
                reported = time.monotonic()
                print(f"{report.count:,} by case {team.next()}, {len(report.failures)} kinds of failures", flush=True)
    finally:
        report.next = team.next()
        team.stop()
    report.seconds = time.monotonic() - begin
    return report


class Team:
    """The workers of a run."""

    def __init__(self, job: Job, first: int) -> None:
        self.job, self.report = job, Report()
        self.listener = selectors.DefaultSelector()
        self.workers = [Worker(job, first + n) for n in range(job.step)]
        for worker in self.workers:
            self.listen(worker)

    def listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        self.listener.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def go_on(self) -> None:
        """Hear what the workers say, and start those again that have died or hang."""
        for key, _ in self.listener.select(timeout=0.5):
            lines = key.data.lines()
            if lines is None:
                self.lost(key.data)
                continue
            for line in lines:
                self.hear(key.data, line)
        for worker in self.workers:
            start = START * 20 if self.job.prefix else START
            if time.monotonic() - worker.since > (self.job.hang if worker.begun is not None else start):
                worker.process.kill()
                self.lost(worker, f"no answer within {self.job.hang:.0f} seconds")

    def next(self) -> int:
        """The first case that no worker has done."""
        return min(worker.next for worker in self.workers)

    def hear(self, worker: Worker, line: dict[str, Any]) -> None:
        worker.take(line)
        if "done" in line:
            self.report.cases += 1
            self.report.count += line.get("count", 0)
            if "failed" in line:
                self.note(line["done"], line["failed"], line["detail"] + "\n" + line["where"])

    def lost(self, worker: Worker, what: str | None = None) -> None:
        """Note the case that a worker died of, and go on after it."""
        assert worker.process.stdout is not None
        self.listener.unregister(worker.process.stdout)
        ended, errors = worker.end()
        if worker.begun is None:
            raise RuntimeError(f"a worker ended before its first case ({ended}):\n{errors}")
        if worker.stage == BUILDING:
            self.report.cases += 1  # pyarrow's own fault
        else:
            within = f" in {worker.stage}" if worker.stage else ""
            self.note(worker.next, (what or f"killed: {ended}{last_lines(errors)}") + within, errors)
        worker.next += self.job.step
        worker.start()
        self.listen(worker)

    def note(self, number: int, what: str, detail: str) -> None:
        if self.report.add(number, what, detail):
            print(f"FAILED seed {self.job.seed} case {number}: {what}\n    {detail[:600]}", flush=True)

    def stop(self) -> None:
        for worker in self.workers:
            if not worker.errors.closed:  # one that couldn't be started has ended
                worker.process.kill()
                worker.end()
        self.listener.close()


def last_lines(errors: str) -> str:
    """The line by which a process says why it aborts, without numbers."""
    marks = ("Check failed", "panicked", "memory allocation", "Invalid read", "Invalid write")
    lines = [line for line in errors.splitlines() if any(mark in line for mark in marks)]
    if not lines:
        return ""
    return ", " + "".join("N" if c.isdigit() else c for c in lines[-1])[:160]
