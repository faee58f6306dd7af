"""Rows and batches of iterators as whole tables, for all three renderers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest


def rows(count: int = 3) -> Iterator[dict[str, Any]]:
    return ({"q": str(n), "messages": [{"role": "user", "content": str(n)}]} for n in range(count))


def test_a_generator_of_dicts_is_a_table() -> None:
    for renderer in (pp.Renderer("{q}"), pp.JinjaTemplate("{{ q }}"), pp.ChatTemplate("{{ messages[0].content }}")):
        assert renderer.render(rows())["prompt"].to_pylist() == ["0", "1", "2"]
        assert renderer(rows())["prompt"].to_pylist() == ["0", "1", "2"]
    assert pp.Renderer("{q}").render(csv.DictReader(["q,a", "1,2"]))["prompt"].to_pylist() == ["1"]


def test_values_are_read_as_those_of_a_list() -> None:
    mixed = [{"q": 1}, {"q": "one"}, {"r": None}]
    assert pp.Renderer("{q}").render(iter(mixed)).equals(pp.Renderer("{q}").render(mixed))


def test_an_iterator_of_batches_is_a_table() -> None:
    table = pa.table({"q": ["a", "b"]})
    assert pp.Renderer("{q}").render(iter(table.to_batches(max_chunksize=1)))["prompt"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("items", "message"),
    [([], "without rows"), ([1], "of int"), ([{"q": 1}, 2], "row 1: expected a dict"), ([{"q": 1}, None], "row 1")],
)
def test_what_is_no_row_is_refused(items: list[Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        pp.Renderer("{q}").render(iter(items))
