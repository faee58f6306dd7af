"""Tokens on the terminal, in HTML and in previews: cells, what is trained, counts, and prepared data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TALK = [{"role": "user", "content": "é 🙂"}, {"role": "assistant", "content": "2.\n"}]
SHOW = ("--chat-template", "chat.jinja", "--data", "chats.jsonl", "--tokenizer", "tokenizer.json")
CELLS = """\
<|im_start|> user ↵
é · \\xf0 \\x9f \\x99 \\x82 <|im_end|> ↵
<|im_start|> as sistan t ↵
⟦ 2 . ↵
<|im_end|> ⟧ ↵
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.jinja").write_text(CHATML, encoding="utf-8")
    Path("chats.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in (TALK, TALK[:1])))
    small_tokenizer().save("tokenizer.json")


def out_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main([*words]) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_the_terminal_draws_cells(capsys: pytest.CaptureFixture[str]) -> None:
    out = out_of(capsys, "show", *SHOW, "--mask", "assistant+end", "--row", "0,1")
    assert CELLS in out
    assert "26 tokens, 4 trained\n" not in out
    assert "tokens by message: 0 user 6; 1 assistant 4 (4 trained); template 11\n" in out
    assert "⟦ trained ⟧" in out.splitlines()[-1]
    coloured = out_of(capsys, "show", *SHOW, "--mask", "assistant", "--color", "always", "--ids")
    assert "48;5;157m2\x1b" in coloured
    assert "⟦" not in coloured
    assert "#1\x1b" in coloured  # the id of <|im_end|>
    assert "⟦" not in out_of(capsys, "show", *SHOW)


def test_text_like_a_bracket_is_escaped() -> None:
    tokenizer = small_tokenizer()
    tokenizer.add_tokens(["⟦"])
    texts = str(
        pp.ChatTemplate("{{ messages[0].content }}").preview([{"messages": [{"role": "user", "content": "⟦a"}]}])
    )
    assert "⟦a" in texts
    text = pp.JinjaTemplate("{{ q }}").preview([{"q": "a ⟦"}], tokenizer=tokenizer)
    assert "a · \\u27e6" in str(text)
    tokenizer.add_tokens(list("·→↵∅"))
    signs = str(pp.JinjaTemplate("{{ q }}").preview([{"q": "a· →↵∅"}], tokenizer=tokenizer))
    assert "a \\u00b7 · \\u2192 \\u21b5 \\u2205\n" in signs


def test_questions_with_answers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("qa.jsonl").write_text('{"q": "1+1?", "a": "2"}\n')
    chat = ("--chat-template", "chat.jinja", "--tokenizer", "tokenizer.json", "--mask", "assistant+end")
    out = out_of(capsys, "show", "--template", "{q}", "--answer", "a", "--data", "qa.jsonl", *chat)
    assert "\n⟦ 2 <|im_end|> ⟧ ↵\n" in out


def test_what_has_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--mask: is of tokens; --tokenizer" in out_of(capsys, "show", *SHOW[:-2], "--mask", "assistant", code=2)
    plain = ("show", "--template", "{messages}", *SHOW[2:], "--mask", "assistant")
    assert "nobody has a role here" in out_of(capsys, *plain, code=3)
    Path("texts.jsonl").write_text('{"prompt": "Hi."}\n')
    text = ("texts.jsonl", "--tokenizer", "tokenizer.json", "--control-tokens", "text")
    for words in (("show", *text), ("tokenize", *text, "--out", "ids.parquet")):
        assert "don't say where their bytes come from" in out_of(capsys, *words, code=3)
    with pytest.raises(TypeError, match="tokenizer= names the tokenizer"):
        pp.ChatTemplate(CHATML).preview([{"messages": TALK}], mask="assistant")


def test_each_message_has_cells(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--template", "{q}", "--system", "Hi", "--data", "q.jsonl", "--tokenizer", "tokenizer.json")
    Path("q.jsonl").write_text('{"q": "1+1"}\n')
    assert "[user]\n1 + 1\ntokens by message: 0 system 2; 1 user 3\n" in out_of(capsys, "show", *words)


def test_previews_and_html_have_the_same_cells(capsys: pytest.CaptureFixture[str]) -> None:
    preview = pp.ChatTemplate(CHATML).preview([{"messages": TALK}], tokenizer=small_tokenizer(), mask="assistant+end")
    assert CELLS in str(preview)
    html = preview._repr_html_()
    assert html.count('class="pp-cell ') == 21
    assert html.count('pp-trained" title="id') == 4
    assert '<span class="pp-escape">\\xf0</span></span>' in html
    assert out_of(capsys, "view", *SHOW, "--mask", "assistant+end", "--html", "page.html", "--ids") == ""
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count('pp-trained" title="id') == 4
    assert ">&lt;|im_end|&gt;<sub>1</sub></span>" in page


def prepared(**columns: Any) -> pa.Table:
    return pa.table({"input_ids": [[0, 22, 1], [0, 23]], **columns})


@pytest.mark.parametrize(
    ("columns", "texts"),
    [
        ({"labels": [[-100, 22, 1], [-100, -100]]}, ["<|im_start|> ⟦ 1 <|im_end|> ⟧", "<|im_start|> 2"]),
        ({"assistant_masks": [[0, 1, 1], [0, 0]]}, ["<|im_start|> ⟦ 1 <|im_end|> ⟧", "<|im_start|> 2"]),
        ({"completion_mask": [[False, True, False], [False] * 2]}, ["<|im_start|> ⟦ 1 ⟧ <|im_end|>", "<|im_start|> 2"]),
        ({"loss_mask": [[0, 1, 0], [0, 0]]}, ["<|im_start|> ⟦ 1 ⟧ <|im_end|>", "<|im_start|> 2"]),
        ({"loss_mask": [[0.0, 0.5, 0.0], [0.0, 0.0]]}, ["<|im_start|> ⟦ 1 ⟧ <|im_end|>", "<|im_start|> 2"]),
        ({"attention_mask": [[1, 1, 1], [1, 0]]}, ["<|im_start|> 1 <|im_end|>", "1 padding\n<|im_start|> 2"]),
        (
            {"labels": [[-100, 22, 1], [-100] * 2], "assistant_masks": [[1, 1, 0], [1, 1]]},
            ["⟦ 1 ⟧ <|im_end|>", "2 tokens, 0 trained"],
        ),
        ({"labels": [[-100, 40, 1], [-100]]}, ["⟦ 1 (trained as 40) <|im_end|> ⟧", "labels: it doesn't have a value"]),
        ({}, ["<|im_start|> 1 <|im_end|>", "<|im_start|> 2"]),
    ],
)
def test_prepared_data_sets(columns: dict[str, Any], texts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    table = prepared(**columns)
    pq.write_table(table, "set.parquet")
    Path("set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    with pa.ipc.new_stream("data.arrow", table.schema) as stream:
        stream.write_table(table)
    saved = Path("saved")
    saved.mkdir()
    Path("data.arrow").rename(saved / "data.arrow")
    (saved / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    for path in ("set.parquet", "set.jsonl", "saved"):
        out = out_of(capsys, "show", path, "--tokenizer", "tokenizer.json", "--row", "0,1")
        assert all(text in out for text in texts), out
    assert out_of(capsys, "view", "set.parquet", "--tokenizer", "tokenizer.json", "--html", "page.html") == ""
    assert "holds token ids; --tokenizer" in out_of(capsys, "show", "set.parquet", code=2)
    assert "holds token ids; --tokenizer" in out_of(capsys, "view", "set.parquet", "--html", "x.html", code=2)


def test_ids_that_are_no_tokens_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"ids": pa.array([[0, 10**6, -100]], pa.large_list(pa.int64()))}), "set.parquet")
    words = ("show", "set.parquet", "--tokenizer", "tokenizer.json", "--column", "ids")
    assert "<|im_start|> (no token 1000000) (no token -100)\n" in out_of(capsys, *words)


def test_statistics_of_prepared_data_sets(capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"labels": [[-100, 22, 1], [-100, -100]], "attention_mask": [[1, 1, 1], [1, 0]]}
    pq.write_table(prepared(**columns), "set.parquet")
    figures = json.loads(out_of(capsys, "stats", "set.parquet", "--json"))
    assert (figures["rows"], figures["untrained"], figures["first_untrained"]) == (2, 1, [1])
    assert (figures["tokens"]["sum"], figures["tokens"]["percentiles"]["50"], figures["trained"]["max"]) == (4, 1, 2)
    assert "2 rows; in 1 nothing is trained, first in row 1\n" in out_of(capsys, "stats", "set.parquet")
    pq.write_table(prepared(labels=[[-100, 22, 1], [1]]).slice(1), "set.parquet")
    figures = json.loads(out_of(capsys, "stats", "set.parquet", "--json"))
    assert [(kind["rows"], kind["first_rows"]) for kind in figures["errors"]] == [(1, [0])]


def test_ids_beyond_all_vocabularies(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"input_ids": pa.array([[0, 2**64 - 1]], pa.list_(pa.uint64()))}), "set.parquet")
    assert main(["show", "set.parquet", "--tokenizer", "tokenizer.json"]) == 0
    assert "(no token" in capsys.readouterr().out
