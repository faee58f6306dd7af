"""Prompts of Jinja templates and chat templates as `show`, `preview` and `diff` take them: with their origins."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress import ChatTemplate, JinjaTemplate, Renderer, RenderError, diff
from promptpress_workbench.prompts.kinds import described, legend
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import source_of

SAMPLES = pa.table({"q": [" one ", "é", "{a}"], "a": ["1", "2", "3"]})
TALKS = pa.table({"messages": [[{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Yes?"}]] * 2})
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}"


def test_pieces_are_the_spans_of_rendering():
    template = JinjaTemplate("Q: {{ q | trim }}\nA: {{ a }}", names={"prompt": "text"})
    source = source_of(template, TableRows(SAMPLES))
    assert source.num_samples == 3
    rendered = template.render(SAMPLES, spans="detailed").to_pylist()
    for row, expected in enumerate(rendered):
        (prompt,) = source.prompts(row)
        assert prompt.request == prompt.text == expected["text"]
        data = prompt.text.encode()
        spans = [
            (data[span["start"] : span["end"]].decode(), span["source"], span["column"]) for span in expected["spans"]
        ]
        assert [(piece.text, piece.source, piece.column) for piece in prompt.pieces] == spans
    (batch,) = source.requests()
    assert batch.prompts.to_pylist() == [row["text"] for row in rendered]
    assert batch.samples.to_pylist() == [0, 1, 2]


def test_pieces_of_a_chat_name_the_message():
    source = source_of(ChatTemplate(CHAT), TableRows(TALKS))
    for row in range(2):
        (prompt,) = source.prompts(row)
        pieces = {piece.text: described(piece) for piece in prompt.pieces if piece.source == "field"}
        assert pieces["Hi."] == "column messages[0].content, role user"
        assert pieces["Yes?"] == "column messages[1].content, role assistant"
        assert legend(prompt.all_pieces()) == [("template", "template"), ("column", "column: messages")]


def test_dates_have_no_origins():
    samples = TableRows(pa.table({"day": [date(2026, 3, 5)]}))
    with pytest.warns(match="rendered by Jinja2 itself"):
        (prompt,) = source_of(JinjaTemplate("{{ day.strftime('%Y') }}"), samples).prompts(0)
    assert [described(piece) for piece in prompt.pieces] == ["not known"]
    assert legend(prompt.all_pieces()) == []


@UNWARNED
def test_errors_name_the_row():
    source = source_of(JinjaTemplate("{{ 6 // a }}"), TableRows(pa.table({"a": [1, 2, 0]})))
    (prompt,) = source.prompts(2)
    assert prompt.request is None
    assert (prompt.error or "").partition(":")[2].startswith(" ZeroDivisionError")
    assert prompt.values == (("a", 0),)
    with pytest.raises(RenderError, match="there is no such row"):
        source.prompts(3)
    with pytest.raises(RenderError, match="there are no labels"):
        source.prompts(0, label="A")
    with pytest.raises(RenderError, match="there are no turns"):
        source.prompts(0, turn=0)
    with pytest.raises(RenderError, match="messages"):
        source_of(ChatTemplate(CHAT), TableRows(SAMPLES))


def test_preview():
    preview = JinjaTemplate("Q: {{ q }}").preview(SAMPLES, rows=[2])
    assert str(preview) == "── row 2 · 6 bytes · 6 characters\nQ: {a}"
    assert 'title="column q"' in preview._repr_html_()  # what notebooks call
    assert len(ChatTemplate(CHAT).preview(TALKS)) == 2


def test_preview_of_a_renderer_with_a_chat_template():
    renderer = Renderer("Q: {q}", chat_template=ChatTemplate(CHAT))
    rendered = renderer.render(SAMPLES)["prompt"].to_pylist()
    source = source_of(renderer, TableRows(SAMPLES))
    assert source.has_origins
    assert [source.prompts(row)[0].text for row in range(3)] == rendered
    assert [text for batch in source.requests() for text in batch.prompts.to_pylist()] == rendered
    assert rendered[1] in str(renderer.preview(SAMPLES, rows=[1]))


def test_a_difference_names_the_column():
    difference = diff(JinjaTemplate("Q: {{ q }}"), JinjaTemplate("Q: {{ a }}"), SAMPLES)
    assert difference.rows.select(["sample", "start", "a_column", "b_column"]).to_pylist()[0] == {
        **{"sample": 0, "start": 3},
        **{"a_column": "q", "b_column": "a"},
    }
