"""Numbers with nouns in messages: one row, and two rows."""

from __future__ import annotations

import re
from pathlib import Path

import promptpress

PACKAGE = Path(promptpress.__file__).parent
NOUNS = (
    *("bytes", "characters", "columns", "conversations", "datasets", "errors", "examples", "fields", "files"),
    *("findings", "labels", "messages", "parts", "prompts", "requests", "rows", "samples", "tokens", "turns"),
)
COUNT = re.compile(rf"\{{(?P<number>[^{{}}]*):,\}} (?:{'|'.join(NOUNS)})\b")
"""A number of any size that a text gives a plural."""

ALWAYS_SEVERAL = {
    "MAX_TOKENS": "a constant",
    "MAX_CONSTANTS": "a constant",
    "BUDGET.text": "a constant",
    "size": "larger than a limit",
    "len(source)": "larger than a limit",
    "_MAX_SHOTS": "a constant",
    "_MAX_ROWS": "a constant",
    "ROWS": "a constant",
    "columns.rows": "one has a sentence of its own",
    "figures.requests": "of prompts that differ, or repeat others",
    "requests": "of prompts that are the same",
}
"""Numbers that are never one, with the reasons."""


def test_a_number_that_may_be_one_is_counted() -> None:
    uncounted = [
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for match in COUNT.finditer(path.read_text(encoding="utf-8"))
        if match["number"] not in ALWAYS_SEVERAL and not match["number"].endswith("repeated")
    ]
    assert uncounted == [], "counted(number, noun) gives each its form"
