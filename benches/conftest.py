"""Options of the benches, and what the file of results has beside the times of pytest-benchmark: machine, all ways."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from in_turns import Sizes
from record import REPLAY, Record

# `make bench` runs these in another environment, because their peers are of other versions than the harnesses want.
JINJA = [f"test_{name}_rates.py" for name in ("jinja", "chat", "integration", "lm_eval", "token")]
JINJA.append("test_compile_corpus.py")
FILES = [file.name for file in Path(__file__).parent.glob("test_*.py")]
collect_ignore = [name for name in FILES if (name in JINJA) != bool(find_spec("transformers"))]
PACKAGES = ["transformers", "lm_eval", "jinja2", "minijinja", "tokenizers", "trl", "gigatoken", "datasets", "polars"]
PACKAGES.append("duckdb")
RECORD = pytest.StashKey[Record]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="little data, in a few minutes")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RECORD] = Record()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=REPLAY))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:  # with -k the other environment may have them all
        session.exitstatus = pytest.ExitCode.OK


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Add what report.py reads."""
    record = config.stash[RECORD]
    about = {"machine": machine(), "quick": config.getoption("--quick")}
    results = {**about, "absent": record.absent, "seconds": record.lasted(), "runs": record.runs}
    output_json["results"] = results


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    terminalreporter.section("figures, by the median of the rounds")
    for run in config.stash[RECORD].runs:
        name = f"{run['kind']:8} {run['workload']:18} "
        if "seconds" not in run:
            terminalreporter.write_line(f"{name}{run}")
            continue
        wall, cpu = (run["rows"] / median(run[clock]) for clock in ("seconds", "cpu"))
        name += f"{run['way']:30} {run['threads']}"
        terminalreporter.write_line(f"{name} {wall:14,.0f} rows/s {cpu:14,.0f} a CPU second, {run['rows']:,} rows")


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    record = request.config.stash[RECORD]
    record.request = request
    return record


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    return Sizes(request.config.getoption("--quick"))


def machine() -> dict[str, Any]:
    from peers import cores
    from texts import real_texts

    return {
        "cores": {"machine": os.cpu_count(), "process": cores()},
        "cpu_model": cpu_model() or platform.processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "texts": "real" if real_texts() else "generated",
        "huge_pages": huge_pages(),
        "versions": {package: its for package in PACKAGES if (its := version_of(package))},
    }


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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
