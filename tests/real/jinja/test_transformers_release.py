"""The installed release of transformers is one that all of this was run with."""

from __future__ import annotations

import importlib.metadata
import importlib.util

import pytest
from parts.run_with import TRANSFORMERS, first_unknown


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers isn't installed")
def test_the_installed_release_is_known() -> None:
    unknown = first_unknown(importlib.metadata.version("transformers"))
    assert unknown is None, unknown


def test_an_unknown_release_is_named() -> None:
    assert all(first_unknown(release) is None for release in TRANSFORMERS)
    assert (first_unknown("5.99.1") or "").startswith("transformers 5.99.1 is the first release that")
