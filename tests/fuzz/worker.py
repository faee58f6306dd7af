"""A process that runs cases one after another, and may die of one: `python -m fuzz.worker KIND SEED FIRST STEP MEMORY`.

It tells on standard output, a JSON object a line, which case it begins and what became of it.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import traceback
from types import ModuleType
from typing import Any

from . import kinds


def main(kind: str, seed: str, first: str, step: str, memory: str) -> None:
    if int(memory):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out, sys.stdout = sys.stdout, sys.stderr  # whatever else prints doesn't come between the lines
    module = kinds.module(kind)
    number = int(first)
    while True:
        print(json.dumps({"begun": number}), file=out, flush=True)
        print(json.dumps(outcome(module, int(seed), number)), file=out, flush=True)
        number += int(step)


def outcome(module: ModuleType, seed: int, number: int) -> dict[str, Any]:
    """Run a case; whatever is raised is an outcome, a panic above all."""
    try:
        return {"done": number, "count": module.run(seed, number)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a PanicException is no Exception
        where = traceback.extract_tb(error.__traceback__)
        what = getattr(error, "what", None) or f"{type(error).__name__}: {general(str(error))}"
        return {"done": number, "failed": what, "detail": str(error)[:2000], "where": "".join(traceback.format_list(where[-2:]))}


def general(message: str) -> str:
    """A message without what differs from case to case, to count each kind of fault once."""
    return re.sub(r"\d+", "N", re.sub(r"\"[^\"]*\"|'[^']*'", "'…'", message))[:120]


if __name__ == "__main__":
    main(*sys.argv[1:])
