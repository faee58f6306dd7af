"""The recorded cases of the real harnesses, where they are at hand.

They are no part of the project. `PROMPTPRESS_SHARED` says where they are; else they are looked for in the folder
`shared` beside the project. Where they are absent these tests count as skipped, never as passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[2] / "shared")


@pytest.mark.parametrize("name", ["opencompass_configs", "opencompass_fuzz"])
def test_recorded_cases(name: str) -> None:
    runner, cases = SHARED / "tools" / "cases.py", SHARED / "golden" / f"{name}.jsonl.gz"
    for path in (runner, cases):
        if not path.exists():
            pytest.skip(f"recorded cases are not at hand: there is no {os.path.relpath(path)}")
    done = subprocess.run([sys.executable, runner, cases], capture_output=True, text=True, check=False)
    print(f"\n{name}:\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr
