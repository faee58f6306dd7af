"""`python -m fuzz`: random cases until a time or a number is reached; `--case` runs one alone. See CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

from . import kinds, runner


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    listed = "\n".join(f"  {name:14}{kind.about}" for name, kind in kinds.KINDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m fuzz",
        description=__doc__,
        epilog=f"kinds:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kind", nargs="?", choices=[*kinds.KINDS, "all"], default="all", help="one kind, or all in turn")
    add("--seconds", type=float, help="how long, all kinds together (60, where there is no --requests)")
    add("--requests", type=int, help="how many prompts are compared, or broken cases tried, of each kind")
    add("--seed", type=int, default=0, help="decides all cases, with their numbers (0)")
    add("--first", type=int, default=0, help="the number of the first case (0)")
    add("--case", type=int, help="run this case alone, in this process, and show it")
    add("--workers", type=int, default=os.cpu_count() or 2, help="processes (as many as there are cores)")
    add("--json", type=Path, help="add what was found to this file, for docs/reliability.md")
    add("--failures", type=int, default=20, help="stop after so many kinds of failures (20)")
    add("--valgrind", action="store_true", help="workers run under valgrind: slow, and invalid reads are failures")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    chosen = list(kinds.KINDS) if options.kind == "all" else [options.kind]
    if options.case is not None:
        from . import single

        return max(single.show(kind, options.seed, options.case) for kind in chosen)
    seconds = options.seconds
    if seconds is None and options.requests is None:
        seconds = 60.0
    prefix: tuple[str, ...] = ()
    if options.valgrind:
        from . import valgrind

        prefix = valgrind.command()
        if not prefix:
            return 0
    failed = False
    if "prompts" in chosen:
        from real.harness.installed import OPENCOMPASS

        missing = OPENCOMPASS.missing()
        print("beside the models and OpenCompass" if missing is None else f"beside the models alone: {missing}")
    for kind in chosen:
        hang = getattr(kinds.module(kind), "HANG", runner.HANG)
        job = runner.Job(kind, options.seed, options.workers, prefix, hang=hang)
        if prefix:
            job = dataclasses.replace(job, memory=0, hang=runner.HANG * 60)
        report = runner.run(
            job,
            seconds=None if seconds is None else seconds / len(chosen),
            count=options.requests,
            first=options.first,
            failures=options.failures,
        )
        tell(report, job)
        if options.json is not None:
            note(options.json, report, job, options.first)
        failed = failed or bool(report.failures)
    return int(failed)


def note(path: Path, report: runner.Report, job: runner.Job, first: int) -> None:
    """Add a run to the file that `make reliability` reads."""
    runs = json.loads(path.read_text()) if path.exists() else []
    runs.append(
        {
            "kind": job.kind,
            "counted": kinds.KINDS[job.kind].counted,
            "count": report.count,
            "cases": report.cases,
            "first": first,
            "seed": job.seed,
            "seconds": round(report.seconds),
            "valgrind": bool(job.prefix),
            "failures": dict(report.failures),
        }
    )
    path.write_text(json.dumps(runs, indent=1) + "\n")


def tell(report: runner.Report, job: runner.Job) -> None:
    """Sum up what a run found."""
    of = f"{report.count:,} {kinds.KINDS[job.kind].counted} in {report.cases:,} cases"
    print(f"{job.kind}: {of}, seed {job.seed}, {report.seconds:.0f} s, {len(report.failures)} kinds of failures")
    if job.kind == "cells":
        differ = sum(report.failures.values())
        print(f"{report.count:,} cells, {differ} differ; more of them: --seed {job.seed} --first {report.next}")
    for what, times in report.failures.most_common():
        numbers = ", ".join(str(number) for number, _ in report.examples[what])
        print(f"  {times} times: {what}")
        print(f"    cases {numbers}; again: python -m fuzz {job.kind} --seed {job.seed} --case N")


if __name__ == "__main__":
    sys.exit(main())
