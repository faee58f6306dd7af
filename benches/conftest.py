"""Options of the benches, and what a figure needs to be told with it: machine, cores, versions."""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec
from typing import Any

import pytest

# `make bench-jinja` runs these: their peers are of other versions than the harnesses want.
collect_ignore = (
    []
    if find_spec("transformers")
    else ["test_jinja_rates.py", "test_chat_rates.py", "test_integration_rates.py", "test_lm_eval_rates.py"]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="little data, in a few minutes")
    parser.addoption("--long", action="store_true", help="what takes long, and nothing else")
    parser.addoption("--without-ours", action="store_true", help="time the peers alone, without promptpress")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        long = config.getoption("--long")
        items[:] = [item for item in items if (item.get_closest_marker("long") is not None) == long]
    if config.getoption("--without-ours"):
        items[:] = [item for item in items if role(item) == "peer"]


def role(item: pytest.Item) -> str:
    from peers.everyone import LIMITS, OURS

    peer = getattr(item, "callspec", None) and item.callspec.params.get("peer")
    return "limit" if peer in LIMITS else "peer" if peer and peer not in OURS else "ours"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("figures, by the median of the rounds")
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "figure":
                terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--quick")


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    from peers import cores
    from peers.everyone import OTHERS
    from texts import real_texts

    machine_info.pop("node", None)  # the host's name is nobody's business
    machine_info["cores"] = {"machine": os.cpu_count(), "process": cores()}
    machine_info["cpu_model"] = cpu_model() or machine_info.get("cpu", {}).get("brand_raw") or platform.processor()
    machine_info["texts"] = "real" if real_texts() else "generated"
    machine_info["huge_pages"] = huge_pages()
    machine_info["absent"] = {peer.name: why for peer in OTHERS if (why := peer.missing())}
    machine_info["quick"] = config.getoption("--quick")


def cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    except OSError:
        return None


def huge_pages() -> str:
    """When the system gives out huge pages: always, where they are advised (madvise), or never."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="utf-8") as file:
            return file.read().partition("[")[2].partition("]")[0]
    except OSError:
        return "unknown"
