"""Rows whose texts are far longer than what they are made of: Jinja2's, which refuses them."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from marks import UNWARNED

pytestmark = UNWARNED

LONG = "x" * 10_000
COPIED = "{% for i in range(3000) %}{{ s }}{% endfor %}"
"""A program that only copies: its texts are measured by the block."""
EVALUATED = "{{ s|upper }}" + COPIED


@pytest.mark.parametrize("source", [COPIED, EVALUATED, "<" + COPIED + "{% if b %}{{ s }}{% endif %}>"])
def test_a_text_that_is_too_long_for_its_row_is_refused(source: str) -> None:
    rows = pa.table({"s": [*["ab"] * 5, LONG, "c"], "b": [True, False] * 3 + [True]})
    with pytest.raises(pp.RenderError, match="limit exceeded: a text of") as error:
        pp.JinjaTemplate(source).render(rows)
    assert error.value.row == 5


@pytest.mark.parametrize("source", ["{{ s }}", "{{ s }}{{ s|trim }}", "{{ s|upper }}", "{{ t[0] }}{{ t[1] }}"])
def test_a_text_as_long_as_its_row_is_compiled(source: str) -> None:
    long = "y" * (20 << 20)
    template = pp.JinjaTemplate(source, fallback="refuse")
    rows = pa.table({"s": ["a", long, "b"], "t": [["a", "b"], [long, "é"], ["", ""]]})
    texts = template.render(rows)["prompt"].to_pylist()
    assert len(texts[1]) >= len(long)
    assert template.last_run is not None
    assert template.last_run.compiled == 3


@pytest.mark.parametrize("source", ["{{ s }}|" * 12, "{{ s|upper }}|" * 12])
def test_a_row_that_jinja2_renders_stands_in_its_place(source: str) -> None:
    """A text of many bytes to a character counts for more in programs than in Jinja2."""
    long = "\N{GRINNING FACE}" * 1_000_000
    rows = pa.table({"s": ["a", "b", "c", "d", long, "e", "f"]})
    template = pp.JinjaTemplate(source)
    texts = template.render(rows)["prompt"].to_pylist()
    upper = "upper" in source
    assert texts == [f"{text.upper() if upper else text}|" * 12 for text in rows["s"].to_pylist()]
    assert template.last_run is not None
    assert (template.last_run.compiled, template.last_run.jinja2) == (6, 1)
