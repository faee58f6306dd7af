"""The tab of findings: what is wrong in all prompts, and a click that leads to the row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from real.view.browser import Browser

SAMPLES = pa.table(
    {"q": [f"question {n}" for n in range(40)] + ["see {a}", "<script>window.harmed = 1</script>\x07"], "a": ["x"] * 42}
)


def test_a_finding_leads_to_its_row(serve: Callable[..., str], chromium: Browser, files: Path) -> None:
    pq.write_table(SAMPLES, files / "odd.parquet")
    chromium.open(serve("--template", "Q: {q}", "--substitution", "harness", "--data", "odd.parquet"))
    chromium.click_text(".q-tab", "Audit")
    chromium.until(lambda: "placeholder_filled" in chromium.text(".pp-plots"))
    plots = chromium.text(".pp-plots")
    assert "error: placeholder_filled" in plots
    assert "warning: control_character" in plots
    assert "(1 row)" in plots
    chromium.click(".pp-of-error .pp-row")
    chromium.until(lambda: "row 40 " in chromium.prompt())
    assert "see x" in chromium.prompt()
    assert chromium.log() == []
