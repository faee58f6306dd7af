"""The cost of each check of an audit by itself, in times of a render of the same samples, on one thread.

python benches/audit_costs.py [ROWS] [--rounds N]

Seconds of the processor, the least of the rounds, in which all ways take turns. A check by itself is an audit `only=`
its codes, so that what several checks share (which columns requests show, the render) counts for each of them; the line
"all" is the whole audit. Checks that cost no more than an audit without any are left out.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from typing import Any

import promptpress
from peers.promptpress_peer import renderer_of
from promptpress_workbench.audit.collect import CHECKS
from workloads import BY_ID

WORKLOADS = ("zero", "five-text", "five-messages")
NOTHING = 0.1
"""The most that an audit without checks takes, in times of a render: such checks aren't listed."""


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
    render = min(times.pop("render"))
    return {way: min(of_way) / render for way, of_way in times.items()}


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
    findings = {kind.__name__: ", ".join(f"`{code}`" for code in kind.codes) for kind in CHECKS}
    for way in columns[WORKLOADS[0]]:
        if way not in findings or max(of[way] - of["no check"] for of in columns.values()) > NOTHING:
            print(f"| {way} | {findings.get(way, '')} | {' | '.join(f'{of[way]:.2f}' for of in columns.values())} |")


if __name__ == "__main__":
    main()
