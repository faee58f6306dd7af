"""Rows that can't be rendered: every tab works, and a filter shows nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from real.view.browser import Browser

ROWS, BAD = 50, (0, 7, 49)


def write_samples(folder: Path) -> None:
    rows = [{"q": 5 if n in BAD else f"question {n % 40}"} for n in range(ROWS)]
    (folder / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    limited = {"prompt_template": "{q} and so on", "limits": {"prompt_bytes": 24}}
    (folder / "one.json").write_text(json.dumps(limited), encoding="utf-8")
    (folder / "two.json").write_text(json.dumps({"prompt_template": "{q} and so on"}), encoding="utf-8")
    rows = [{"q": "x" * 20 if n in BAD else f"question {n % 40}"} for n in range(ROWS)]
    (folder / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_every_tab_works(serve: Callable[..., str], chromium: Browser, files: Path) -> None:
    write_samples(files)
    chromium.open(serve("--jinja", "Q: {{ q + '' }}", "--data", "bad.jsonl"))
    chromium.until(lambda: "template_raised: " in chromium.prompt())
    assert "to do: mend the row" in chromium.prompt()
    chromium.click(".pp-filtering")
    chromium.choose(".pp-column-name", "error")
    chromium.until(lambda: len(chromium.lines()) == len(BAD))
    chromium.until(lambda: chromium.text(".pp-says") == f"{len(BAD)} found in {ROWS} rows \u00b7 with error")
    chromium.click(".pp-all")
    chromium.until(lambda: len(chromium.lines()) > len(BAD))
    chromium.type(".pp-search input", "question 1")
    chromium.until(lambda: f"found in {ROWS} rows, {len(BAD)} can't be rendered" in chromium.text(".pp-says"))
    chromium.click_text(".q-tab", "Lengths")
    chromium.until(lambda: f"{ROWS - len(BAD)} prompts" in chromium.text(".pp-plots"))
    assert f"{len(BAD)} rows can't be rendered, and no figure counts them" in chromium.text(".pp-plots")
    chromium.click_text(".q-tab", "Duplicates")
    chromium.until(lambda: "repeat an earlier one" in chromium.text(".pp-plots"))
    chromium.click_text(".q-tab", "Audit")
    chromium.until(lambda: "error: unrenderable_row" in chromium.text(".pp-plots"))
    chromium.click(".pp-of-error .pp-row")
    chromium.until(lambda: "template_raised: " in chromium.prompt())
    assert chromium.log() == []


def test_a_comparison(serve: Callable[..., str], chromium: Browser, files: Path) -> None:
    write_samples(files)
    chromium.open(serve("one.json", "two.json", "--data", "long.jsonl"))
    chromium.click_text(".q-tab", "Compare")
    chromium.until(lambda: f"{len(BAD)} differ in {ROWS} rows, {len(BAD)} can't" in chromium.text(".pp-says"))
    chromium.until(lambda: "A can't be rendered" in chromium.prompt())
    assert "limit_exceeded: " in chromium.prompt()
    assert chromium.log() == []
