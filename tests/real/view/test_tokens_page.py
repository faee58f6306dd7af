"""Tokens in the page: a prepared data set as cells, trained ones filled, and rows found by what is trained of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tokenizers")
from parts.small_tokenizers import small_tokenizer

if TYPE_CHECKING:
    from real.view.browser import Browser

TEXT = "<|im_start|>the answer <script>window.harmed = 1</script> 🙂<|im_end|>"
ROWS = 3000
SILENT = [7, 2048, 2999]


def test_cells_and_what_is_trained(serve: Callable[..., str], chromium: Browser, files: Path) -> None:
    tokenizer = small_tokenizer()
    tokenizer.save(str(files / "tokenizer.json"))
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
    trained = [-100] * 3 + ids[3:]
    labels = [[-100] * len(ids) if row in SILENT else trained for row in range(ROWS)]
    table = pa.table(
        {"input_ids": [[*ids, 5 + row % 2] for row in range(ROWS)], "labels": [[*of, -100] for of in labels]}
    )
    pq.write_table(table, files / "prepared.parquet")
    chromium.open(serve("prepared.parquet", "--tokenizer", "tokenizer.json"))
    assert f"{len(ids) + 1} tokens, {len(ids) - 3} trained" in chromium.prompt()
    cells = chromium.texts("#pp-place .pp-cell")
    assert len(cells) == len(ids) + 1
    assert cells[0] == "<|im_start|>"
    assert r"\xf0" in cells  # a character that several tokens share
    assert len(chromium.texts("#pp-place .pp-cell.pp-trained")) == len(ids) - 3
    colour = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
    filled, plain = (chromium.run(colour, f"#pp-place .pp-cell{kind}") for kind in (".pp-trained", ":not(.pp-trained)"))
    assert filled != plain
    title = chromium.run("return document.querySelector('#pp-place .pp-cell').title")
    assert title.startswith(f"id {ids[0]} · control token")
    assert chromium.run("return window.harmed ?? null") is None

    chromium.click(".pp-filtering")
    chromium.click_text(".q-checkbox", "Nothing trained")
    chromium.until(lambda: chromium.text(".pp-says").startswith(f"3 found in {ROWS:,} rows"))
    chromium.until(lambda: [line.split("\n")[0] for line in chromium.lines()] == list(map(str, SILENT)))
    chromium.until(lambda: "row 7 " in chromium.prompt() and ", 0 trained" in chromium.prompt())
    assert not chromium.texts("#pp-place .pp-cell.pp-trained")
    chromium.click(".pp-all")
    chromium.until(lambda: len(chromium.lines()) > len(SILENT))
    chromium.type(".pp-filter input[aria-label='Token: text or id']", "6")
    chromium.until(lambda: chromium.text(".pp-says").startswith(f"{ROWS // 2:,} found in {ROWS:,} rows"))
    assert chromium.log() == []
