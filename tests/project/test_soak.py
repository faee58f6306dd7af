"""Many renders in one process: memory doesn't grow, and threads don't disturb each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from soak import agreement, growth

HERE = Path(__file__).resolve().parents[1]
MEGABYTE = 1 << 20
VERBS = [
    "audit",
    "render",
    "render-ppl",
    "call",
    "stream",
    "explain",
    "divergence",
    "construct",
    "refused",
    "jinja-template",
    "chat-template",
]

pytestmark = pytest.mark.skipif(not growth.STATM.exists(), reason="memory is read from /proc")


def grown(verb: str, first: int, last: int) -> int:
    """Bytes by which a process of its own has grown between two numbers of calls."""
    if verb not in growth.verbs():
        pytest.skip(f"no {verb} here")
    path = os.pathsep.join([str(HERE), str(HERE.parent / "python")])
    done = subprocess.run(
        [sys.executable, "-m", "soak.growth", verb, "1", str(first), str(last)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    after = json.loads(done.stdout)
    assert set(after) == {"1", str(first), str(last)}
    return int(after[str(last)] - after[str(first)])


@pytest.mark.parametrize("verb", ["render", "construct", "stream"])
def test_thousands_of_renders_take_no_more_memory(verb: str) -> None:
    assert grown(verb, 1_000, 6_000) < MEGABYTE


@pytest.mark.full
@pytest.mark.parametrize("verb", VERBS)
def test_a_million_renders_take_no_more_memory(verb: str) -> None:
    assert grown(verb, 1_000, 1_000_000) < 4 * MEGABYTE


def test_threads_get_what_one_gets_alone() -> None:
    agreed = agreement.compare(seed=1, renderers=12, threads=8, each=25)
    assert agreed.different == []
    assert (agreed.renders, agreed.threads) == (200, 8)
    assert agreed.rows > 1_000


@pytest.mark.full
def test_many_threads_get_what_one_gets_alone() -> None:
    agreed = agreement.compare(seed=2, renderers=60, threads=16, each=2_000)
    assert agreed.different == []
