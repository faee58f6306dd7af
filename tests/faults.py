"""Counts of the faults that tests tried, written by `pytest --faults-json FILE` for docs/reliability.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

TRIED: Counter[str] = Counter()
"""The number of tries of each fault that ended well; a failure stops the test before it is counted."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-json", metavar="FILE", help="write how many faults of each kind were tried")


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--faults-json")
    if path:
        counts = {"tried": dict(sorted(TRIED.items())), "failed tests": session.testsfailed}
        Path(path).write_text(json.dumps(counts, indent=1) + "\n")
