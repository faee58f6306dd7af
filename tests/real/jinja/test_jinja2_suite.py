"""Templates of Jinja2's own tests, rendered here too; `make test-jinja` fetches its source distribution."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

SUITE = Path(os.environ.get("PROMPTPRESS_SUITES", ""), "jinja2", "tests")

pytestmark = pytest.mark.skipif(
    "PROMPTPRESS_SUITES" not in os.environ or not SUITE.exists(),
    reason="PROMPTPRESS_SUITES names no folder with jinja2/tests: `make test-jinja` does",
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """All calls of `render` in the suite, each once."""
    file = tmp_path_factory.mktemp("jinja2") / "records.jsonl"
    folder = str(Path(__file__).parent)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "jinja2_recorder", "-p", "no:cacheprovider", str(SUITE)]
    # Those of rendering in coroutines need a package more, and promptpress renders no templates so.
    command += ["--ignore-glob=*test_async*.py"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, f"--rootdir={SUITE.parent}"],
        cwd=SUITE.parent,
        env={**inherited, "JINJA2_RECORDS": str(file), "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert " passed" in done.stdout, done.stdout + done.stderr
    return [json.loads(line) for line in dict.fromkeys(file.read_text(encoding="utf-8").splitlines())]


def table_of(variables: dict[str, Any]) -> pa.Table | None:
    """Return a table of one row; None if no table holds these values."""
    if not variables:
        return pa.table({"a column that no template reads": [None]})
    try:
        table = pa.Table.from_pylist([variables])
    except (pa.ArrowException, TypeError, OverflowError):
        return None
    return table if table.to_pylist() == [variables] and "self" not in variables else None


def outcome(record: dict[str, Any]) -> str:
    """Render what a test rendered, and say what came of it."""
    if "incomparable" in record:
        return f"not comparable: {record['incomparable']}"
    table = table_of(record["variables"])
    if table is None:
        return "not comparable: variables that no Arrow table holds"
    try:
        text = pp.JinjaTemplate(record["source"], **record["options"]).render(table)["prompt"][0].as_py()
    except (pp.TemplateError, pp.RenderError) as error:
        if "error" in record:
            return "both raise"
        is_unsafe = "SecurityError: access to attribute" in str(error)
        return "refused: an attribute that begins with an underscore" if is_unsafe else f"differs: {error}"
    if "error" in record:
        return f"differs: {text!r} where Jinja2 raises {record['error']}"
    return "equal" if text == record["text"] else f"differs: {text!r}, not {record['text']!r}"


def test_the_suite_of_jinja2(records: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)
        outcomes = [outcome(record) for record in records]
    counts = Counter("differs" if text.startswith("differs") else text for text in outcomes)
    with capsys.disabled():
        print(f"\nthe suite of Jinja2: {len(records)} different calls of render")
        for text, count in counts.most_common():
            print(f"{count:6} {text}")
    different = [(text, record) for text, record in zip(outcomes, records, strict=True) if text.startswith("differs")]
    assert not different, json.dumps(different, indent=1)
    assert counts["equal"] > 300
