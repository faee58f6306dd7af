"""A train split of which a few rows are shown: only these are looked at when the renderer is made."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from growth import growth

FIX = {"type": "FixKRetriever", "fix_id_list": [0, 2]}
TEMPLATE = {"template": "</E>{q}", "ice_token": "</E>"}


def renderer(examples: pa.Table) -> pp.Renderer:
    return pp.Renderer(TEMPLATE, "{q}: {a}", FIX, examples, reader={"output_column": "a"})


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string()], ids=str)
def test_making_a_renderer_takes_no_longer_for_more_rows(layout: pa.DataType) -> None:
    many = pa.table({"q": pa.array(["What?" * 20_000] * 500, layout), "a": pa.array(["That."] * 500, layout)})
    few = many.slice(0, 3).take(pa.array([0, 1, 2]))
    assert growth(lambda: renderer(few), lambda: renderer(many), 5) <= 5


def spoiled(rows: int, bad: int) -> pa.Table:
    """Texts of which one isn't UTF-8."""
    texts = [b"text"] * rows
    texts[bad] = b"t\xff"
    column = pa.array(texts, pa.binary())
    column = pa.Array.from_buffers(pa.string(), rows, column.buffers())
    return pa.table({"q": column, "a": ["That."] * rows})


def test_a_text_that_is_shown_is_looked_at() -> None:
    with pytest.raises(pp.RenderError) as error:
        renderer(spoiled(4, 2))
    assert error.value.code == "invalid_utf8"


def test_one_that_is_not_shown_is_not() -> None:
    table = renderer(spoiled(4, 3)).render([{"q": "?", "a": ""}])
    assert table["prompt"].to_pylist() == ["text: That.\ntext: That.\n?"]
