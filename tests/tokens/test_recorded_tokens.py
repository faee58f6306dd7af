"""The recorded token ids and masks of the real engines, where they are at hand.

They are no part of the project: see tests/rendering/test_recorded_cases.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from test_recorded_cases import SHARED

ONE_IN = 60


def check(*options: str) -> None:
    paths = [SHARED / "tools" / "token_cases.py", SHARED / "golden_tokens" / "cases.jsonl.gz"]
    for path in paths:
        if not path.exists():
            pytest.skip(f"recorded cases are not at hand: there is no {os.path.relpath(path)}")
    command = [sys.executable, *map(str, paths), "--max-refused", "2", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr


def test_some_recorded_tokens() -> None:
    check("--sample", str(ONE_IN))


@pytest.mark.full
def test_all_recorded_tokens() -> None:
    check()
