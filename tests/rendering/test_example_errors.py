"""An error in an example names its row of the train split, however few rows are read."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

TEMPLATE = {"template": "</E>{q}", "ice_token": "</E>"}
BAD = 4500


def days(rows: int) -> pa.Array:
    """Dates of which one is after the year 9999."""
    values = [0] * rows
    values[BAD] = 4_000_000
    return pa.array(values, pa.int32()).cast(pa.date32())


def texts(rows: int) -> pa.Array:
    """Texts of which one isn't UTF-8."""
    values = [b"text"] * rows
    values[BAD] = b"t\xff"
    column = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), rows, column.buffers())


def failed(column: pa.Array, retriever: dict[str, Any], samples: pa.Table, ice: str = "{q}") -> pp.RenderError:
    examples = pa.table({"q": column, "a": ["z"] * len(column)})
    with pytest.raises(pp.RenderError) as caught:
        list(pp.Renderer(TEMPLATE, ice, retriever, examples, reader={"output_column": "a"}).stream(samples))
    return caught.value


@pytest.mark.parametrize(("column", "code"), [(days, "unconvertible_value"), (texts, "invalid_utf8")])
@pytest.mark.parametrize("retriever", ["FixKRetriever", "IndexColumn"])
def test_the_row_is_that_of_the_train_split(column: Any, code: str, retriever: str) -> None:
    chosen = {"FixKRetriever": {"fix_id_list": [1, BAD]}, "IndexColumn": {"column": "ids"}}[retriever]
    batch = pa.record_batch({"q": ["x"] * 3, "ids": [[0], [1], [2]]})
    last = pa.record_batch({"q": ["x"] * 3, "ids": [[0], [BAD], [2]]})
    error = failed(column(5000), {"type": retriever, **chosen}, pa.Table.from_batches([batch, batch, last]))
    assert (error.code, error.row, error.column) == (code, BAD, "examples.q")


def test_a_value_that_isn_t_text_is_named_as_among_samples() -> None:
    samples = pa.table({"q": ["x"]})
    error = failed(texts(5000), {"type": "FixKRetriever", "fix_id_list": [BAD]}, samples)
    assert "invalid UTF-8 at byte 1" in error.message
    with pytest.raises(pp.RenderError) as same:
        pp.Renderer("{q}").render(pa.table({"q": texts(5000)}))
    assert error.message == same.value.message
