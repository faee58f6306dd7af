"""Marks that several files of tests put on."""

from __future__ import annotations

from typing import Any

import pytest

UNWARNED = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
"""On what renders something odd on purpose: placeholders of no column, answers in prompts, random templates."""


def heavy(*values: Any) -> list[Any]:
    """Parameters that are tried in `make test-full` only, beside others of the same kind."""
    return [pytest.param(value, marks=pytest.mark.full) for value in values]
