"""Jinja templates and chat templates in the viewer: the list, a prompt, a file, and no settings to choose."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from promptpress import ChatTemplate, JinjaTemplate
from promptpress_workbench.cli import main
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources
from promptpress_workbench.viewer.view import View

CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def view_of(template: JinjaTemplate | ChatTemplate, table: pa.Table, folder: Path) -> View:
    path = folder / "data.parquet"
    pq.write_table(table, path)
    store = SampleStore(Samples([str(path)], None, 100, None))
    store.wait_all()
    catalogue = Catalogue([], [], template=("t.jinja", template))
    assert not catalogue.has_settings
    assert list(catalogue.prompts) == ["t.jinja"]
    return View(store, Sources(store, catalogue), Choice("t.jinja"))


def test_lines_and_prompts(tmp_path: Path) -> None:
    view = view_of(JinjaTemplate("Q: {{ q | upper }}"), pa.table({"q": [f"q{n}" for n in range(250)]}), tmp_path)
    assert [line["text"] for line in view.window(99, 102)[0]] == ["Q: Q99", "Q: Q100", "Q: Q101"]
    (prompt,) = view.prompts(200)
    assert [(piece.text, piece.source) for piece in prompt.pieces] == [("Q: ", "template"), ("Q200", "field")]
    assert view.labels_of(view.choice) == []
    assert view.total() == 250


@UNWARNED
def test_a_bad_row_leaves_the_others(tmp_path: Path) -> None:
    view = view_of(JinjaTemplate("{{ 6 // a }}"), pa.table({"a": [1, 0, 3]}), tmp_path)
    texts = [line["text"] for line in view.window(0, 3)[0]]
    assert texts[0] == "6"
    assert "ZeroDivisionError" in texts[1]
    assert texts[2] == "2"
    (prompt,) = view.prompts(1)
    assert (prompt.request, prompt.error) == (None, texts[1])


def test_chats(tmp_path: Path) -> None:
    talks = [[{"role": "user", "content": "Hi."}], [{"role": "user", "content": "Yo."}]]
    view = view_of(ChatTemplate(CHAT), pa.table({"messages": talks}), tmp_path)
    assert [line["text"] for line in view.window(0, 2)[0]] == ["<user>Hi.", "<user>Yo."]


def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"q": ["one", "two"]}), "data.parquet")
    assert main(["view", "--jinja", "Q: {{ q }}", "--data", "data.parquet", "--html", "out.html", "--quiet"]) == 0
    page = Path("out.html").read_text(encoding="utf-8")
    assert 'title="column q"' in page
    assert "two" in page
    assert main(["view", "--jinja", "{{ q }}", "--mode", "ppl", "--data", "data.parquet", "--html", "o.html"]) == 2
