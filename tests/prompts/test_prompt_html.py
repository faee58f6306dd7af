"""Prompts as HTML: nothing of a prompt is markup, and everything of it can be seen."""

from __future__ import annotations

from html.parser import HTMLParser

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.prompts.layout import legend_html, pieces_html, prompt_html
from promptpress_workbench.prompts.prompt import Piece, Prompt
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.stylesheet import STYLESHEET

HOSTILE = [
    "<script>alert(1)</script>",
    "\"' onmouseover='alert(1)' \"",
    "</pre></div><img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp;",
    "a\0b\x1b[31m\x07\r\x7f\x85\x9b",
    "\u202eabc\u202c \u2066x\u2069 \u200b\u200d\ufeff",
    "\u05d0\u05d1 \u0627\u0628",
    "line\u2028line\u2029",
    "<!--", "]]>", "{{7*7}}", "${x}",
]  # fmt: skip


class Reader(HTMLParser):
    """The tags and the text of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader(html)
    assert not reader.open
    assert set(reader.tags) <= {"div", "span", "pre"}
    assert not any(name.startswith("on") or name in ("href", "src") for name, _ in reader.attributes)
    styles = {value for name, value in reader.attributes if name == "style"}
    assert len(styles) <= 1  # that of every text, which notebooks would show in another font
    assert all(style is not None and "monospace" in style for style in styles)
    return reader


@pytest.mark.parametrize("text", HOSTILE)
def test_values_are_text_wherever_they_stand(text: str) -> None:
    column = "name"
    renderer = pp.Renderer({"round": [{"role": "HUMAN", "prompt": "Q: {name}"}]}, output="prompt_list")
    source = RendererSource(renderer, TableRows(pa.table({column: [text]})))
    html = prompt_html(source.prompts(0)[0])
    assert one_line(text) in read(html).text
    assert all(character not in html for character in "\0\x1b\x07\r\x85\x9b\u202e\u2066\u200b\ufeff\u2028")
    label = prompt_html(Prompt(0, text, (Piece(text, "field", text, 0, text),), label=text))
    values = [value for _, value in read(label).attributes]
    assert values.count(one_line(text)) == 2  # column and role
    assert one_line(text) in read(legend_html([Prompt(0, text, (Piece(text, "field", text),))])).text


def test_pieces_say_where_they_come_from() -> None:
    html = pieces_html(
        [Piece("Q: ", "prompt_template"), Piece("x", "field", "q", 1, "HUMAN"), Piece("", "masked", "a")]
    )
    assert html == (
        '<span class="pp-piece pp-template" title="prompt template" data-source="prompt_template">Q: </span>'
        '<span class="pp-piece pp-example_column" title="column q, example 1, role HUMAN" data-source="field" '
        'data-column="q" data-example="1" data-role="HUMAN">x</span>'
        '<span class="pp-piece pp-masked pp-masked-place" title="masked answer, column a" data-source="masked" '
        'data-column="a">[masked: a]</span>'
    )


def test_marks_lie_across_pieces() -> None:
    html = pieces_html([Piece("abc", "prompt_template"), Piece("def", "field", "q")], marks=[(1, 4, "match")])
    assert '>a<span class="pp-match">bc</span></span>' in html
    assert '><span class="pp-match">d</span>ef</span>' in html


def test_white_space_is_shown_on_demand() -> None:
    text = "a b\t\xa0\nc "
    assert read(pieces_html([Piece(text)])).text == text
    assert read(pieces_html([Piece(text)], whitespace=True)).text == "a·b→\\xa0↵\nc·"
    assert "pp-trailing" in pieces_html([Piece("a ", "prompt_template"), Piece("\n", "field", "q")], whitespace=True)
    assert "pp-trailing" not in pieces_html([Piece("a ", "field", "q"), Piece("b")], whitespace=True)


def test_a_prompt_of_a_megabyte() -> None:
    text = "<&>é" * 250_000
    assert read(pieces_html([Piece(text, "field", "q")])).text == text


def test_messages_and_their_parts() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "a.png", "detail": "low"}}, {"type": "text", "text": "What?"}]
    talk = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": parts, "name": "x"}]
    source = RendererSource(pp.Renderer(talk, output="messages_json"), TableRows(pa.table({"q": [1]})))
    text = read(prompt_html(source.prompts(0)[0])).text
    assert text.endswith("systemBe kind.username: ximage_urlimage_url.detail: lowa.pngtextWhat?")


def test_the_stylesheet_has_no_resources_from_outside() -> None:
    assert "url(" not in STYLESHEET
    assert "@import" not in STYLESHEET
    assert "<" not in STYLESHEET
    assert STYLESHEET.count("{") == STYLESHEET.count("}")
