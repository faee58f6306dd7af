"""Marks that several files of tests put on."""

from __future__ import annotations

import pytest

UNWARNED = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
"""On what renders something odd on purpose: placeholders of no column, answers in prompts, random templates."""
