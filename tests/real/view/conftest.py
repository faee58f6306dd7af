"""The page's tests: files to look at, `promptpress view` in a process of its own, and a browser.

What needs NiceGUI or a browser is skipped where that isn't installed; `make test-view` brings both.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

HERE = Path(__file__).parent

collect_ignore_glob = ["browser.py", "served.py", "view_files.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip before any file is written."""
    absent = [name for name in ("nicegui", "selenium") if importlib.util.find_spec(name) is None]
    if absent:
        mark = pytest.mark.skip(reason=f"not installed here: {', '.join(absent)}; make test-view")
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with configurations and samples, the million among them."""
    from real.view.view_files import write_files

    return write_files(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="session")
def serve(files: Path) -> Iterator[Callable[..., str]]:
    """Start `promptpress view` once for each command line, and give its address."""
    from real.view.served import served

    addresses: dict[tuple[str, ...], str] = {}
    with ExitStack() as stack:

        def start(*arguments: str) -> str:
            if arguments not in addresses:
                addresses[arguments] = stack.enter_context(served(files, *arguments)).address
            return addresses[arguments]

        yield start


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """A browser for all tests: Debian's Chromium, headless, that can reach nothing but this machine."""
    from real.view.browser import open_browser

    with open_browser() as browser:
        yield browser
