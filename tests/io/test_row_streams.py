"""Generators of dicts as streams, and the errors of Python values that are no table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import promptpress as pp
import pytest
from promptpress._arrow.as_table import as_reader

RENDERER = pp.Renderer("Q: {q}")
BATCH = 8192


def rows(count: int, *more: Any) -> Iterator[Any]:
    for n in range(count):
        yield {"q": str(n), "n": None}
    yield from more


@pytest.mark.parametrize("count", [1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])
def test_a_generator_of_dicts_is_a_stream(count: int) -> None:
    read = 0

    def counted() -> Iterator[dict[str, str]]:
        nonlocal read
        for row in rows(count):
            read += 1
            yield row

    reader = RENDERER.stream(counted(), index="row")
    assert read <= BATCH
    rendered = reader.read_all().to_pylist()
    assert rendered == [{"row": n, "prompt": f"Q: {n}"} for n in range(count)]


def test_rows_that_fit_the_first_ones() -> None:
    reader = as_reader(rows(BATCH, {"q": None}, {}, {"n": None, "q": "x"}))
    assert reader.read_all().slice(BATCH).to_pylist() == [{"q": None, "n": None}] * 2 + [{"q": "x", "n": None}]
    assert pp.JinjaTemplate("{{ q }}").stream(rows(2)).read_all()["prompt"].to_pylist() == ["0", "1"]


@pytest.mark.parametrize(
    ("row", "error", "excerpt"),
    [
        (
            {"q": 1},
            pp.RenderError,
            f'row {BATCH}, column "q": the type of the next 1 row is int64, and of those',
        ),
        ({"z": 1}, pp.RenderError, f'row {BATCH}, column "z": the rows before have no such key; types are those'),
        (
            {"n": 1},
            pp.RenderError,
            f'row {BATCH}, column "n": the type of the next 1 row is int64, and of those',
        ),
        ({"q": object()}, pp.RenderError, f'row {BATCH}, column "q": <object'),
        ((1, 2), TypeError, f"row {BATCH}: expected a dict, as the rows before it are, found tuple"),
    ],
    ids=["type", "key", "null", "object", "tuple"],
)
def test_rows_that_do_not_fit(row: Any, error: type[Exception], excerpt: str) -> None:
    reader = RENDERER.stream(rows(BATCH, row))
    with pytest.raises(error) as raised:
        reader.read_all()
    assert str(raised.value).startswith(excerpt)


def test_rows_have_their_numbers_in_all_rows() -> None:
    with pytest.raises(
        pp.RenderError, match=f'^row {BATCH + 1}, column "q": 1 isn\'t string, as the rows before have it'
    ):
        RENDERER.stream(rows(BATCH + 1, {"q": 1})).read_all()


@pytest.mark.parametrize("call", [RENDERER.render, lambda value: RENDERER.stream(value).read_all()])
@pytest.mark.parametrize(
    ("value", "excerpt"),
    [
        ([], 'found a list without rows; name its columns: pyarrow.table({"question": []})'),
        ((), "found a tuple without rows; name its columns"),
        ([("1+1=?", "2")], 'rows without names; name the columns: [dict(zip(["question", "answer"], row)) for row in'),
        ([["1+1=?"]], "found a list of rows without names"),
        ([1, 2], "found a list of int; rows are dicts, whose keys are columns"),
        ([None, {"q": 1}], "item 0 is no dict but NoneType"),
        (["1+1=?"], "found a list of strings; name the column"),
    ],
    ids=str,
)
def test_lists_that_are_no_table(call: Callable[[Any], Any], value: Any, excerpt: str) -> None:
    with pytest.raises(TypeError) as raised:
        call(value)
    assert excerpt in str(raised.value)
    assert "dicts of a list or a generator, a dict of lists" in str(raised.value)


def test_iterators_that_are_no_stream() -> None:
    with pytest.raises(TypeError, match="list without rows"):
        RENDERER.stream(iter([]))
    assert RENDERER.render(rows(2)).num_rows == 2
