"""The comparison of counted instructions with the kept ones, by which `make instructions` refuses a change."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]
KEPT = {"zero": 100.0, "five": 2000.0}


@pytest.fixture
def kept_counts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benches"))
    monkeypatch.delitem(sys.modules, "kept_counts", raising=False)
    import kept_counts

    return kept_counts


def test_what_is_within_the_tolerance_passes(kept_counts: ModuleType) -> None:
    comparison = kept_counts.compare(KEPT, {"zero": 102.9, "five": 1941.0})
    assert comparison.passes
    assert comparison.text() == "2 compared, 0 worse, 0 better"


def test_what_takes_more_fails_with_its_figures(kept_counts: ModuleType) -> None:
    comparison = kept_counts.compare(KEPT, {"zero": 103.2, "five": 2500.0})
    assert not comparison.passes
    lines = [line.split() for line in comparison.text().splitlines()]
    assert lines[1:4] == [
        ["workload", "kept", "found", "ratio"],
        ["five", "2,000.0", "2,500.0", "1.250"],
        ["zero", "100.0", "103.2", "1.032"],
    ]
    assert comparison.text().endswith("2 compared, 2 worse, 0 better")


def test_unsteady_workloads_have_a_wider_tolerance(kept_counts: ModuleType) -> None:
    for name, tolerance in kept_counts.WIDER.items():
        assert kept_counts.compare({name: 100.0}, {name: 99.9 + 100 * tolerance}).passes
        assert not kept_counts.compare({name: 100.0}, {name: 100.1 + 100 * tolerance}).passes
        assert name in kept_counts.read()["instructions_a_row"]


def test_each_workload_has_a_figure_and_each_figure_a_workload(kept_counts: ModuleType) -> None:
    comparison = kept_counts.compare(KEPT, {"zero": 100.0, "seven": 7.0})
    assert not comparison.passes
    assert "seven: no figure is kept" in comparison.text()
    assert "five: a figure is kept, and there is no such workload" in comparison.text()


def test_the_kept_file_is_what_is_written(kept_counts: ModuleType, tmp_path: Path) -> None:
    content = kept_counts.read()
    assert content["counted_with"].keys() == {"rustc", "CPython", "pyarrow", "libc", "valgrind", "processor"}
    kept_counts.write(content["counted_with"], content["instructions_a_row"], tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("utf-8") == kept_counts.FILE.read_text("utf-8")
