"""The real harnesses as fixtures. Where one can't be had its tests are skipped, with the reason."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from promptpress_harness.bulk.call_renderer import CallRenderer
from real.harness.installed import AISBENCH, OPENCOMPASS, OPENICL, Harness

# Programs for other processes.
collect_ignore_glob = ["command/*.py"]

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            # The harnesses warn when they are imported and when they run; that is their own affair.
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@cache
def _loaded(harness: Harness) -> ModuleType | str:
    """The harness, or why it can't be had."""
    why = harness.missing()
    if why is not None:
        return why
    try:
        return harness.load()
    except ImportError as error:
        return f"{harness.distribution} can't be imported here: {error}"


def _had(harness: Harness) -> ModuleType:
    loaded = _loaded(harness)
    if isinstance(loaded, str):
        pytest.skip(loaded)
    return loaded


@pytest.fixture(scope="session")
def opencompass() -> ModuleType:
    """The real OpenCompass, with its registries filled."""
    return _had(OPENCOMPASS)


@pytest.fixture(scope="session")
def aisbench() -> Iterator[ModuleType]:
    """The real AISBench, with its registries filled."""
    loaded = _had(AISBENCH)
    # It tells of every retriever and every exception that it makes.
    logging.disable(logging.CRITICAL)
    yield loaded
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session")
def openicl() -> ModuleType:
    """The real OpenICL."""
    return _had(OPENICL)


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """The real torch, for what does calculate; stand-ins never count."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch isn't installed (make test-harness takes a CPU wheel or the system's, or says why not)")
    import torch as module

    if not getattr(module, "__file__", None):
        pytest.skip("torch is a stand-in: pip finds no CPU wheel and the system has no torch for this Python")
    return module


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what a backend leaves to its harness and why, whatever the harness has done to logging."""
    texts: list[str] = []
    logger = logging.getLogger("promptpress.backend")
    monkeypatch.setattr(logger, "warning", lambda text, *parts: texts.append(text % parts))
    return texts


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the number of prompts of each rendering of a backend."""
    counts: list[int] = []
    render = CallRenderer.render

    def counted(self: CallRenderer, *arguments: Any) -> Any:
        prompts = render(self, *arguments)
        counts.append(len(prompts))
        return prompts

    monkeypatch.setattr(CallRenderer, "render", counted)
    return counts
