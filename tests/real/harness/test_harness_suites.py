"""The harnesses' own tests of prompts, given the classes of promptpress: `PROMPTPRESS_SUITES` names their checkouts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SUITES = {
    "opencompass": (
        *("tests/prompt", "tests/openicl/test_prompt_template.py", "tests/openicl/test_raw_prompt_template.py"),
    ),
    "benchmark": ("tests/UT/openicl/icl_prompt_template", "tests/UT/utils/prompt"),
}
"""The names of the checkouts, as those of the repositories are, and the tests that are about prompts."""

_RESULT = re.compile(r"^(PASSED|FAILED|ERROR) \S*?(\w+\.py::\S+)", re.MULTILINE)


def results(harness: str, classes: str) -> dict[str, str]:
    """Run a harness's tests with its own classes, or with those of promptpress; return the result of each."""
    root = Path(os.environ["PROMPTPRESS_SUITES"], harness)
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "dropin_suite", "-p", "no:cacheprovider"]
    # The checkout's settings name plugins that aren't at hand.
    command += [f"--rootdir={root}", "-c", os.devnull, "--import-mode=importlib"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, *(str(root / path) for path in SUITES[harness])],
        env={
            **inherited,
            "SUITE_HARNESS": harness,
            "SUITE_CLASSES": classes,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    by_test = {name: result for result, name in _RESULT.findall(done.stdout)}
    assert by_test, done.stdout + done.stderr
    return by_test


@pytest.mark.parametrize("harness", SUITES)
def test_tests_that_pass_with_the_harness_pass_here(harness: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.environ.get("PROMPTPRESS_SUITES")
    if folder is None or not Path(folder, harness, "tests").exists():
        pytest.skip(f"PROMPTPRESS_SUITES names no folder with a checkout {harness}")
    theirs, ours = results(harness, "harness"), results(harness, "promptpress")
    assert theirs.keys() == ours.keys()
    counts = Counter((result, ours[name]) for name, result in theirs.items())
    with capsys.disabled():
        print(f"\n{harness}: {len(theirs)} tests; with the harness's classes, with promptpress's: {dict(counts)}")
    failed = [name for name, result in theirs.items() if result == "PASSED" and ours[name] != "PASSED"]
    assert not failed
