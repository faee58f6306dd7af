"""`python -m fuzz.core`: the core's targets under libFuzzer with an address sanitizer, each for some time.

It goes on from what earlier runs have found (target/fuzz/corpus), the kept inputs and the recorded cases. The flags are
those of cargo-fuzz; `RUSTC_BOOTSTRAP` lets a stable compiler take them, so that neither it nor nightly is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from . import seeds

PROJECT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).parent / "corpus"
TARGETS = ("configurations", "render", "arrow", "conversations", "jinja")
OF_JSON = ("configurations", "render", "conversations")
FLAGS = (
    "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-pc-table "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-trace-compares "
    "-Zsanitizer=address --cfg fuzzing"
)
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
COVERED = re.compile(r"\bcov: (\d+)")
HANG = 20
MEGABYTES = 4096


def host() -> str:
    """The platform that the compiler makes programs for."""
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))


def built(target_folder: Path) -> Path:
    """The program of all targets."""
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": FLAGS, "CARGO_TARGET_DIR": str(target_folder)}
    platform = host()  # named: flags are for the targets then, and not for what builds them
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--target", platform]
    subprocess.run(command, cwd=PROJECT / "tests" / "rust" / "libfuzzer", env=environment, check=True)
    return target_folder / platform / "release" / "fuzz"


def run(program: Path, target: str, seconds: float, folder: Path, seeds_folder: Path) -> dict[str, object]:
    """Run a target; what it comes to."""
    corpus, artifacts = folder / "corpus" / target, folder / "found"
    for path in (corpus, artifacts):
        path.mkdir(parents=True, exist_ok=True)
    command = [
        str(program), f"-max_total_time={seconds:.0f}", f"-timeout={HANG}", f"-rss_limit_mb={MEGABYTES}",
        "-max_len=4096", "-detect_leaks=0", "-print_final_stats=1", "-use_value_profile=1",
        f"-artifact_prefix={artifacts}/{target}-",
    ]  # fmt: skip
    if target in OF_JSON:
        command.append(f"-dict={KEPT / 'words.dict'}")
    folders = [corpus, KEPT / target, seeds_folder / target]
    command += [str(path) for path in folders if path.exists()]
    done = subprocess.run(
        command, env={**os.environ, "FUZZ_TARGET": target}, capture_output=True, text=True, check=False
    )
    executed, covered = EXECUTED.search(done.stderr), COVERED.findall(done.stderr)
    failures = {} if done.returncode == 0 else {reason(done.stderr): 1}
    if failures:
        print(done.stderr[-4000:], file=sys.stderr)
    return {
        "kind": f"core: {target}",
        "counted": "inputs",
        "count": int(executed[1]) if executed else 0,
        "edges": int(covered[-1]) if covered else 0,
        "seconds": round(seconds),
        "failures": failures,
    }


def reason(output: str) -> str:
    """The line that says why a run ended."""
    marks = ("ERROR: ", "panicked at", "SUMMARY: ")
    return next((line.strip()[:160] for line in output.splitlines() if any(mark in line for mark in marks)), "it ended")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.core", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, each target (60)")
    parser.add_argument("--json", type=Path, help="add what was found to this file, for docs/reliability.md")
    options = parser.parse_args(argv)
    unknown = {*options.targets} - {*TARGETS}
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    folder = Path(os.environ.get("PROMPTPRESS_FUZZ_TARGET") or PROJECT / "target" / "fuzz")
    program = built(folder)
    failed = False
    with tempfile.TemporaryDirectory() as seeds_folder:
        seeds.main(seeds_folder)
        for target in options.targets or TARGETS:
            report = run(program, target, options.seconds, folder, Path(seeds_folder))
            failed = failed or bool(report["failures"])
            print(
                f"{report['kind']}: {report['count']:,} inputs, {report['edges']:,} edges, {report['seconds']} s, "
                f"{len(report['failures'])} failures {' '.join(report['failures'])}",  # type: ignore[call-overload,arg-type]
                flush=True,
            )
            if options.json is not None:
                runs = json.loads(options.json.read_text()) if options.json.exists() else []
                options.json.write_text(json.dumps([*runs, report], indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
