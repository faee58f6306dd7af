"""What the list of the viewer shows: rows that are wanted, in which order, and the address that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress import ChatTemplate, DataError, Renderer
from promptpress_workbench.cli.option_values import row_numbers
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.prompts.prompt import prompt_of
from promptpress_workbench.viewer.prompt_html import compared_html, copied_text, rows_html
from promptpress_workbench.viewer.search import Wanted
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources
from promptpress_workbench.viewer.view import View

pytestmark = UNWARNED

WHEN = pa.array([1 << 62 if n == 7 else n for n in range(20)], pa.int64()).cast(pa.timestamp("s"))
SAMPLES = pa.table({
    "q": ["x" * (n % 5) + f" <b>{n}</b>" for n in range(20)], "when": WHEN,
    "subject": ["arts", None, "\u202ebio", "arts"] * 5, "n": range(20), "tags": [[n % 2] for n in range(20)],
})  # fmt: skip
CHAT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def view_of(table: pa.Table, folder: Path, renderer: Any = None, **options: Any) -> View:
    with pa.OSFile(str(folder / "data.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)  # Parquet would refuse such a time
    store = SampleStore(Samples([str(folder / "data.arrow")], None, 6, None))
    store.wait_all()
    if renderer is None and not options:
        return View(store, Sources(store, None), Choice(""))
    catalogue = Catalogue([], [], lambda *_: renderer, **options)
    catalogue.prompts["p"] = None  # type: ignore[assignment]
    return View(store, Sources(store, catalogue), Choice("p"))


def matching_rows(view: View, **wanted: str) -> list[int]:
    view.wanted = Wanted(**wanted)
    view.start_search(row_numbers)
    assert view.finder is not None
    assert view.finder.wait(20)
    assert view.finder.error is None
    return list(view.finder.rows)


@pytest.fixture
def view(tmp_path: Path) -> View:
    return view_of(SAMPLES, tmp_path, Renderer("{q} {when}"))


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"column": "subject", "value": "arts", "rows": "0-9"}, [0, 3, 4, 7, 8]),
        ({"column": "subject", "rows": "0-4"}, [0, 2, 3, 4]),
        ({"column": "subject", "value": "null"}, [1, 5, 9, 13, 17]),
        ({"column": "n", "value": "12"}, [12]),
        ({"column": "tags", "value": "[1]", "rows": "17,3,1"}, [1, 3, 17]),
        ({"column": "error"}, [7]),
        ({"column": "error", "value": "unconvertible"}, [7]),
        ({"column": "error", "value": "other"}, []),
        ({"rows": "3,17,5-6,100-105"}, [3, 5, 6, 17]),
        ({"search": "<B>1", "rows": "0-11"}, [1, 10, 11]),
        ({"search": "<B>1", "case": "yes"}, []),
        ({"bytes": "29-29"}, [0, 5]),
        ({"order": "longest", "rows": "0-7"}, [4, 3, 2, 1, 6, 0, 5, 7]),
        ({"order": "shortest", "rows": "0-7"}, [0, 5, 1, 6, 2, 3, 4, 7]),
    ],
    ids=str,
)
def test_the_list_has_the_rows_that_are_wanted(view: View, wanted: dict[str, str], rows: list[int]) -> None:
    assert matching_rows(view, **wanted) == rows
    assert view.finder is not None
    assert [line["row"] for line in view.window(0, 100)[0]] == rows
    assert [view.line_of(row) for row in rows] == list(range(len(rows)))
    assert view.line_of(2000) is None


def test_impossible_conditions_are_errors(view: View) -> None:
    for wanted, message in ((Wanted(column="no"), "no: there is no such column"), (Wanted(rows="x"), "is no row")):
        view.wanted = wanted
        with pytest.raises(DataError, match=message):
            view.start_search(row_numbers)


def test_values_of_a_column_are_offered_as_texts(view: View) -> None:
    assert view.values_of("subject") == ["arts", "null", "\u202ebio"]
    assert view.values_of("tags") == ["[0]", "[1]"]
    assert view.values_of("error") == []


@pytest.mark.parametrize("shuffled", [False, True])
def test_columns_of_a_rendered_file(tmp_path: Path, shuffled: bool) -> None:
    samples = [2, 0, 1] if shuffled else [0, 1, 2]
    columns = {"sample": samples, "subject": [f"s{n}" for n in samples], "error": [None, "bad_row: no", None]}
    view = view_of(pa.table({"prompt": ["a", None, "c"], **columns}), tmp_path)
    assert matching_rows(view, column="subject", value="s1") == [1]
    assert matching_rows(view, column="error") == [samples[1]]


def test_an_address_says_the_state_of_the_page(tmp_path: Path, view: View) -> None:
    assert view.address() == "."
    view.tab, view.row, view.label = "lengths", 5, "A&b"
    view.wanted = Wanted("\u202e&x=1", "yes", "subject", "arts", "1-9", "3,17", "longest")
    view.other = view.other.changed(output="messages")
    query = dict(parse_qsl(view.address()[1:], keep_blank_values=True))
    other = view_of(SAMPLES, tmp_path, Renderer("{q}"))
    catalogue = Catalogue([], [], lambda *_: Renderer("{q}"))
    other.follow(query, catalogue)
    assert (other.address(), other.wanted, other.row, other.tab) == (view.address(), view.wanted, 5, "lengths")
    assert other.other.output == "messages"
    other.follow({"tab": "<b>", "row": "x", "bytes": "1", "order": "no", "model": "no", "with_mode": "no"}, catalogue)
    assert (other.tab, other.row, other.wanted, other.other.mode) == ("lengths", 0, Wanted(), None)


@pytest.mark.parametrize("form", ["texts", "messages"])
def test_the_line_of_a_chat_is_what_the_user_says_last(tmp_path: Path, form: str) -> None:
    chats = [
        [{"role": role, "content": f"{role} {number} {n}"} for number, role in enumerate(roles)]
        for n, roles in enumerate([["system", "user", "assistant", "user"], ["user", "assistant"], ["system"]])
    ]
    if form == "texts":
        template = ChatTemplate(CHAT)
        view = view_of(pa.table({"messages": chats}), tmp_path, template=("t", template))
        last = "<|im_start|>system\nsystem 0 2<|im_end|>\n"
    else:
        view, last = view_of(pa.table({"prompt": chats}), tmp_path), "system: system 0 2"
    assert [line["text"] for line in view.window(0, 3)[0]] == ["user 3 0", "user 0 1", last]
    assert matching_rows(view, search="SYSTEM 0") == [0, 2]
    assert "system 0 0" in view.window(0, 1)[0][0]["text"]


def test_what_is_copied_is_what_is_sent(view: View) -> None:
    chat = [{"role": "user", "content": "\u00e9 <b>"}]
    assert copied_text([prompt_of("a\n", 0, label="A"), prompt_of("b", 0, label="B")]) == "a\n\n\nb"
    assert copied_text([prompt_of(chat, 0)]) == '[\n  {\n    "role": "user",\n    "content": "\u00e9 <b>"\n  }\n]'
    assert "unconvertible_value" in copied_text(view.prompts(7))


def test_an_error_comes_first_with_the_values_of_its_row(view: View) -> None:
    html, _ = rows_html(view.prompts(7))
    assert html.startswith('<p class="pp-wrong">unconvertible_value: ')
    assert "row 7 \u00b7 can&#x27;t be rendered" in html
    assert "&lt;b&gt;7&lt;/b&gt;" in html
    html = compared_html(view.prompts(7), [prompt_of("fine", 7)])
    assert html.startswith('<p class="pp-differs">differs: A can&#x27;t be rendered</p>')
    assert html.count("unconvertible_value: ") == 1
    assert "fine" in html
