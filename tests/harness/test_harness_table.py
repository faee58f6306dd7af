"""The table of harnesses: each entry names modules that exist and versions that the tests run."""

import importlib
import re
from pathlib import Path

import pytest
from promptpress_harness.registry import HARNESSES, Harness

PINNED = (Path(__file__).resolve().parents[2] / "requirements" / "harness.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)
def test_the_switch_of_a_harness_is_public(harness: Harness) -> None:
    module = importlib.import_module(harness.switch)
    assert {"backend", "disable", "enable"} <= {*module.__all__}
    assert module.enable.__self__._harness == harness


@pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)
def test_the_versions_of_a_harness_are_those_of_the_tests(harness: Harness) -> None:
    root = re.escape(harness.package).replace("_", "[-_]")
    assert {*re.findall(rf"(?m)^{root}\S*==(\S+)$", PINNED)} == {*harness.versions}
