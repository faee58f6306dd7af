"""`python benches/fresh_build.py OLD NEW`: what `make demo` takes on a fresh machine, for two commits in turns.

Each commit is cloned into a folder of its own, without a virtual environment and with nothing compiled. Only what pip
and cargo have downloaded is kept, so that the first one to run doesn't pay for both: that isn't the machine's work.
Seconds of the processor count, of all processes; those on the clock say more only where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
# Where cargo is told to put what it compiles, and what would compile it differently: a fresh machine has neither.
NOT_FRESH = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTC_WRAPPER", "RUSTFLAGS", "VIRTUAL_ENV", "PYTHONPATH")


def processor_seconds() -> float:
    """Return the CPU time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh(commit: str, target: str) -> tuple[float, float]:
    """Seconds of the processor, and on the clock, of `make TARGET` in a fresh clone of a commit."""
    with tempfile.TemporaryDirectory(prefix="fresh-build-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", HERE.parent, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "--quiet", "--detach", commit], check=True)
        kept = {name: value for name, value in os.environ.items() if name not in NOT_FRESH and "MAKE" not in name}
        # Both may have to download: that is done before.
        subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=clone, env=kept, check=True)
        used, start = processor_seconds(), time.perf_counter()
        made = subprocess.run(["make", target], cwd=clone, env=kept, capture_output=True, text=True, check=False)
        if made.returncode:
            sys.exit(f"make {target} of {commit} failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
        return processor_seconds() - used, time.perf_counter() - start


def main() -> None:
    """Run both in turns, and print what each takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a commit, the state to compare with")
    parser.add_argument("new", nargs="?", default="HEAD", help="another one (default: HEAD)")
    parser.add_argument("--rounds", type=int, default=1, help="how often both are built (default: once)")
    parser.add_argument("--target", default="demo", help="what is made (default: demo)")
    args = parser.parse_args()
    seconds: dict[str, list[tuple[float, float]]] = {args.old: [], args.new: []}
    for _ in range(args.rounds):
        for commit, builds in seconds.items():
            builds.append(fresh(commit, args.target))
            print(f"{commit}: {builds[-1][0]:.0f} s of the processor, {builds[-1][1]:.0f} s on the clock", flush=True)
    old, new = (min(seconds[commit]) for commit in (args.old, args.new))
    print(f"new to old: {new[0] / old[0]:.2f} by the processor, {new[1] / old[1]:.2f} on the clock")


if __name__ == "__main__":
    main()
