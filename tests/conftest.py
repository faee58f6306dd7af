"""Random cases: the same ones in every CI run, others in every run by hand.

A case that a change didn't break must not stop it from landing; by hand new ones are looked for.
"""

from __future__ import annotations

import os

import amounts
import pytest
from faults import pytest_addoption, pytest_sessionfinish
from hypothesis import settings

__all__ = ["pytest_addoption", "pytest_sessionfinish"]


def pytest_configure(config: pytest.Config) -> None:
    amounts.WITH_HEAVY = config.option.markexpr != "not full"
    # No deadline: how long a case takes is the machine's affair.
    given = {"max_examples": amounts.part_of(100), "deadline": None, "print_blob": True}
    settings.register_profile("ci", derandomize=True, **given)
    settings.register_profile("hand", **given)
    settings.load_profile("ci" if os.environ.get("CI") else "hand")
