"""Random cases: the same ones in every CI run, others in every run by hand.

A case that a change didn't break must not stop it from landing; by hand new ones are looked for.
"""

from __future__ import annotations

import os

from faults import pytest_addoption, pytest_sessionfinish
from hypothesis import settings

__all__ = ["pytest_addoption", "pytest_sessionfinish"]

# No deadline: how long a case takes is the machine's affair.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("hand", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "hand")
