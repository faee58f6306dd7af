"""The wheels that `make test-wheel` has built; without them these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

collect_ignore = ["smoke.py"]  # it imports what is installed where it runs


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder with one wheel and one source distribution."""
    folder = os.environ.get("PROMPTPRESS_WHEELS")
    if not folder:
        pytest.skip("PROMPTPRESS_WHEELS names no folder: `make test-wheel` does")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The wheel that users get."""
    (path,) = built.glob("promptpress-*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    """The source distribution; a sample does without, since building it takes minutes."""
    paths = list(built.glob("promptpress-*.tar.gz"))
    if not paths:
        pytest.skip("no source distribution was built")
    (path,) = paths
    return path
