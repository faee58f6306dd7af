"""Options of the benches, and what a figure needs to be told with it: machine, cores, versions."""

from __future__ import annotations

import os
import platform
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a tenth of the samples, in a minute or so")
    parser.addoption("--without-ours", action="store_true", help="time the peers alone, without promptpress")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-ours"):
        items[:] = [item for item in items if not item.callspec.params["peer"].id.startswith("promptpress")]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("rates, by the median of the rounds")
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "rate":
                terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--quick")


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    from peers.promptpress_peer import cores
    from workloads import real_texts

    machine_info.pop("node", None)  # the host's name is nobody's business
    machine_info["cores"] = {"machine": os.cpu_count(), "process": cores()}
    machine_info["cpu_model"] = cpu_model() or machine_info.get("cpu", {}).get("brand_raw") or platform.processor()
    machine_info["texts"] = "real" if real_texts() else "generated"
    machine_info["quick"] = config.getoption("--quick")


def cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    except OSError:
        return None
