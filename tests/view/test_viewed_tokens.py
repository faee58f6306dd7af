"""Tokens in the viewer: cells of a row, rows that have a token, and rows in which nothing is trained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress import DataError
from promptpress.engine.tokens import TokenSettings, load_tokenizer
from promptpress_workbench.cli.option_values import row_numbers
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.prompts.tokenized import TokenView
from promptpress_workbench.viewer.search import Wanted
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources
from promptpress_workbench.viewer.view import View

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TALKS = [
    [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}],
    [{"role": "user", "content": "the answer"}],
    [{"role": "user", "content": "1"}],
]


def view_of(kind: str, folder: Path) -> View:
    chat = pp.ChatTemplate(CHATML)
    samples: Any = pa.table({"messages": [json.dumps(talk) for talk in TALKS]})
    if kind == "prepared":
        samples = chat.tokenize(samples, small_tokenizer(), mask="assistant+end", keep="all").drop(["n_tokens"])
    path = str(folder / "data.arrow")
    with pa.ipc.new_file(path, samples.schema) as file:
        file.write_table(samples)
    store = SampleStore(Samples([path]))
    tokens = TokenView(load_tokenizer(small_tokenizer()), TokenSettings(mask="assistant+end"))
    if kind == "prepared":
        return View(store, Sources(store, None, tokens=tokens, ids_column="input_ids"), Choice(""))
    return View(store, Sources(store, Catalogue([], [], template=("chat", chat)), tokens=tokens), Choice("chat"))


@pytest.fixture(params=["prepared", "chats"])
def view(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[View]:
    viewed = view_of(request.param, tmp_path)
    yield viewed
    viewed.store.close()


def rows_of(view: View, **wanted: str) -> list[int]:
    view.wanted = Wanted(**wanted)
    view.start_search(row_numbers)
    assert view.finder is not None
    assert view.finder.wait(20)
    assert view.finder.error is None
    return list(view.finder.rows)


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_rows_are_found_by_their_tokens(view: View) -> None:
    (prompt,) = view.prompts(0)
    assert sum(bool(cell.trained) for cell in prompt.cells[0]) == 2
    assert rows_of(view, untrained="yes") == [1, 2]
    assert rows_of(view, token="1") == [0, 1, 2]  # <|im_end|>
    number = small_tokenizer().token_to_id("2")
    assert rows_of(view, token="2") == []  # an id, and not a text
    assert rows_of(view, token=str(number)) == [0]
    assert rows_of(view, token=" answer") == [1]
    assert rows_of(view, untrained="yes", search="answer") == [1]
    assert rows_of(view, untrained="yes", rows="0,2") == [2]
    with pytest.raises(DataError, match="no such token"):
        rows_of(view, token="neither of them")
    view.follow({"untrained": "yes", "token": "x"}, None)
    assert view.wanted == Wanted(untrained="yes", token="x")
    view.sources.tokens = None
    with pytest.raises(DataError, match="--tokenizer names it"):
        rows_of(view, token="1")


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_lines_and_columns(view: View) -> None:
    lines, _ = view.window(0, 3)
    assert [line["row"] for line in lines] == [0, 1, 2]
    assert "answer" in lines[1]["text"]
    assert "input_ids" not in view.columns(0)
