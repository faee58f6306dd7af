"""A process that runs cases one after another, and may die of one: `python -m fuzz.worker KIND SEED FIRST STEP MEMORY`.

It tells on standard output, a JSON object a line, which case it begins and what became of it.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from types import ModuleType
from typing import Any

from . import kinds, stages
from .faults import kind_of


def main(kind: str, seed: str, first: str, step: str, memory: str) -> None:
    if int(memory):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out, sys.stdout = sys.stdout, sys.stderr  # whatever else prints doesn't come between the lines
    stages.listener.append(lambda stage: print(json.dumps({"stage": stage}), file=out, flush=True))
    module = kinds.module(kind)
    if hasattr(module, "ready"):
        module.ready()
    number = int(first)
    while True:
        print(json.dumps({"begun": number}), file=out, flush=True)
        print(json.dumps(outcome(module, int(seed), number)), file=out, flush=True)
        number += int(step)


def outcome(module: ModuleType, seed: int, number: int) -> dict[str, Any]:
    """Run a case; whatever is raised is an outcome, a panic above all."""
    try:
        return {"done": number, "count": module.run(seed, number)}
    except stages.Unbuildable:
        return {"done": number, "count": 0}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a PanicException is no Exception
        where = traceback.extract_tb(error.__traceback__)
        lines = "".join(traceback.format_list(where[-2:]))
        return {"done": number, "failed": kind_of(error), "detail": str(error)[:2000], "where": lines}


if __name__ == "__main__":
    main(*sys.argv[1:])
