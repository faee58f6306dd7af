"""What each check of an audit costs by itself, in times of a render of the same samples, on one thread.

python benches/audit_costs.py [ROWS] [--rounds N]

Seconds of the processor, medians of the rounds, in which all ways take turns. A check by itself is an audit `only=`
its codes, so that what several checks share (which columns requests show, the render) counts for each of them; the line
"all" is the whole audit.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from statistics import median
from typing import Any

import promptpress
from peers.promptpress_peer import renderer_of
from promptpress._audit.checks import CHECKS
from workloads import BY_ID

WORKLOADS = ("zero", "five-text", "five-messages")


def seconds(call: Any) -> float:
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def costs(name: str, rows: int, rounds: int) -> dict[str, float]:
    """Return the costs of a workload by checks, in times of a render."""
    renderer, samples = renderer_of(BY_ID[name]), BY_ID[name].samples(rows)
    calls: dict[str, Any] = {
        "render": lambda: renderer.render(samples),
        "all": lambda: renderer.audit(samples),
        "no check": lambda: renderer.audit(samples, only=()),
    }
    for kind in CHECKS:
        calls[kind.__name__] = lambda codes=kind.codes: renderer.audit(samples, only=codes)
    times: dict[str, list[float]] = {way: [] for way in calls}
    for number in range(rounds + 1):
        for way, call in calls.items():
            spent = seconds(call)
            if number:
                times[way].append(spent)
    render = median(times.pop("render"))
    return {way: median(of_way) / render for way, of_way in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int, nargs="?", default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", promptpress.PromptWarning)
    promptpress.set_threads(1)
    columns = {name: costs(name, arguments.rows, arguments.rounds) for name in WORKLOADS}
    print(f"| check | findings | {' | '.join(columns)} |")
    print(f"|---|---|{'---:|' * len(columns)}")
    findings = {kind.__name__: ", ".join(f"`{code}`" for code in list(kind.codes)[:3]) for kind in CHECKS}
    for way in columns[WORKLOADS[0]]:
        print(f"| {way} | {findings.get(way, '')} | {' | '.join(f'{of[way]:.2f}' for of in columns.values())} |")


if __name__ == "__main__":
    main()
