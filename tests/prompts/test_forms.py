"""Small forms of prompts: escapes, cells, lines, descriptions of origins, headings, and requests as prompts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from promptpress_workbench.prompts.escapes import UNICODE, cells, encodable, one_line, printable, runs, visible
from promptpress_workbench.prompts.kinds import caption, described, families_of, kind_of, shown_kind, shown_legend
from promptpress_workbench.prompts.layout import (
    Fragment,
    fragments,
    pieces_html,
    plain,
    text_html,
    trailing,
    wrapped,
)
from promptpress_workbench.prompts.prompt import Piece, Prompt, as_request, heading, prompt_of
from promptpress_workbench.prompts.prompt_source import message_texts, parent_rows
from promptpress_workbench.prompts.stylesheet import stylesheet_under
from promptpress_workbench.prompts.token_cells import TokenCell

ACCENTED = Prompt(0, "Q: é", (Piece("Q: ", "prompt_template"), Piece("é", "field", "q")))
SPAN = {"message": 0, "part": None, "start": 0, "end": 2, "source": "field", "column": "q"}
LISTS = pa.ListArray.from_arrays(
    pa.array([0, 1, 2], pa.int32()), pa.array(["hidden", "shown"]), mask=pa.array([True, False])
)
COLUMNS = Piece("x", "field", "q"), Piece("y", "prompt_template"), Piece("z", "field", "a")


def lines(text: str, width: int) -> list[str]:
    return list(map(plain, wrapped([Fragment(text)], width)))


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (list(runs("a\x1b[1m")), [("a", 1, False), ("\\x1b", 1, True), ("[1m", 3, False)]),
        (
            list(runs("a b\n", UNICODE)),
            [("a", 1, False), ("·", 1, True), ("b", 1, False), ("↵", 0, True), ("\n", 1, False)],
        ),
        (one_line("a\n\x1b[1m"), "a\\n\\x1b[1m"),
        (visible("a\n\x1b[1m"), "a\n\\x1b[1m"),
        (printable("a\x1b[31m\u202e\u3164\n"), "a\\x1b[31m\\u202e\\u3164\\n"),
        (encodable("é 日", "latin-1"), "é \\u65e5"),
        (cells("a日é"), 4),
        (lines("one two three", 8), ["one two ", "three"]),
        (lines("日本語", 5), ["日本", "語"]),
        ([part.text for part in fragments([Piece("a b"), Piece("c")], marks=[(2, 4, "match")])], ["a ", "b", "c"]),
        (trailing([Piece("a "), Piece("\nb")]), [(1, 2, "trailing")]),
        (
            pieces_html([Piece("<b>", "field", "q")]),
            '<span class="pp-piece pp-column" title="column q" data-source="field" data-column="q">&lt;b&gt;</span>',
        ),
        (text_html("x")[-41:], ';text-align:left;word-break:normal">x</pre>'[-41:]),
        ("prefers-color-scheme" in stylesheet_under(".light", ".dark"), False),
        (families_of("</s>"), "Llama 2, Mistral, RoBERTa, ..."),
        (kind_of(Piece("x", "field", "q", 0)), "example_column"),
        (kind_of(Piece("x", "role.begin")), "meta"),
        (kind_of(Piece("x", "prompt_template")), "template"),
        (described(Piece("x", "field", "q", 0, "HUMAN")), "column q, example 0, role HUMAN"),
        (described(Piece("x", "role.begin", None, None, "BOT")), "meta template (role.begin), role BOT"),
        (described(Piece("42", "filled_field", "answer")), "filled in from within a value: column answer"),
        (shown_kind(Piece("Hi", speaker="user")), "user"),
        (shown_kind(Piece("Hi", "field", "q", speaker="user")), "column"),
        (caption(Piece("<|eot_id|>", "template", is_control=True)), "template, control token of Llama 3"),
        (shown_legend([Prompt(0, "xyz", COLUMNS)]), [("template", "template"), ("column", "column: q, a")]),
        (
            shown_legend([Prompt(0, "", (Piece("<s>"), Piece("[INST]Hi")))]),
            [("control", "control token"), ("user", "user")],
        ),
        ((ACCENTED.text, ACCENTED.characters, ACCENTED.bytes), ("Q: é", 4, 5)),
        (
            heading(Prompt(3, "é", (), cells=((TokenCell(5, "é", trained=True),),))),
            "row 3 · 0 bytes · 0 characters · 1 token, 1 trained",
        ),
        (as_request('[{"role": "user", "content": "Hi."}]', is_json=None), [{"role": "user", "content": "Hi."}]),
        (as_request("[1, 2]", is_json=None), "[1, 2]"),
        (prompt_of("é", 0, [SPAN]).pieces, (Piece("é", "field", "q"),)),
        ((LISTS.flatten().to_pylist(), parent_rows(LISTS).to_pylist()), (["shown"], [1])),
        ([texts.to_pylist() for texts, _ in message_texts(pa.array(["a"])) or ()], [["a"]]),
    ],
)
def test_a_form(result: Any, wanted: Any) -> None:
    assert result == wanted
