"""The choices of retrievers, and a choice as a column."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import FEW_SHOT, PROMPT, READER, SHOT, few_shot_renderer, texts
from marks import UNWARNED
from models.plain_model import render as render_plain


@pytest.mark.parametrize(
    ("rows", "count", "seed"), [(5, 1, None), (50, 5, None), (7, 7, 0), (1000, 3, 2**32 - 1), (9, 0, 5)]
)
def test_random_draws_are_numpys(rows: int, count: int, seed: int | None) -> None:
    numpy = pytest.importorskip("numpy")
    retriever = {"type": "RandomRetriever", "ice_num": count} | ({} if seed is None else {"seed": seed})
    generator = numpy.random.RandomState(43 if seed is None else seed)
    want = [generator.choice(rows, count, replace=False).tolist() for _ in range(40)]
    chosen = few_shot_renderer(retriever, rows).retrieve(40)
    assert chosen.type == pa.list_(pa.int64())
    assert chosen.to_pylist() == want


@pytest.mark.parametrize(
    "retriever",
    [
        {"type": "RandomRetriever", "ice_num": 2},
        {"type": "RandomRetriever", "ice_num": 2, "seed": 1, "ice_separator": "--", "ice_eos_token": "!"},
        {"type": "SlidingWindowRetriever", "k": 3},
        {"type": "SlidingWindowRetriever", "k": 0},
        {"type": "FixKRetriever", "fix_id_list": [4, 0, 0]},
        {"type": "ZeroRetriever"},
    ],
    ids=repr,
)
def test_a_retrievers_choice_as_a_column_gives_the_same(retriever: dict[str, Any]) -> None:
    samples = pa.table({"q": [f"s{n}" for n in range(6)], "a": ["?"] * 6})
    renderer = few_shot_renderer(retriever, 6)
    chosen = renderer.retrieve(samples.num_rows)
    assert chosen.null_count == 0
    ends = {key: value for key, value in retriever.items() if key.startswith("ice_") and key != "ice_num"}
    if retriever["type"] == "ZeroRetriever":
        ends = {"ice_separator": "", "ice_eos_token": ""}
    by_column = few_shot_renderer({"type": "IndexColumn", "column": "shots", **ends}, 6)
    for kind in (pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_view(pa.int16()), pa.list_(pa.int8())):
        column = pa.array(chosen.to_pylist(), kind)
        shots = samples.append_column("shots", column)
        assert by_column.render(shots).equals(renderer.render(samples))
        assert texts(by_column(shots)) == texts(renderer.render(samples))
    config = {key: value for key, value in FEW_SHOT.items() if key != "examples"} | {"retriever": retriever}
    want = render_plain(config, samples.to_pylist(), [{"q": f"q{n}", "a": f"a{n}"} for n in range(6)])
    assert texts(renderer.render(samples)) == want


@UNWARNED
def test_the_index_column_is_no_field_of_the_sample() -> None:
    examples = pa.table({"q": ["{shots}"], "a": ["1"]})
    renderer = pp.Renderer(
        {**PROMPT, "template": "</E>{shots}{q}"}, SHOT, {"type": "IndexColumn", "column": "shots"}, examples, READER
    )
    samples = pa.table({"q": ["x"], "shots": [[0]]})
    assert texts(renderer.render(samples)) == ["{shots}=1\n{shots}x"]


@pytest.mark.parametrize(
    ("shots", "words"),
    [
        (pa.array([[0], None]), ["row 1", "shots", "null"]),
        (pa.array([[0], [None]]), ["row 1", "shots", "null"]),
        (pa.array([[0], [3]]), ["row 1", "shots", "3"]),
        (pa.array([[0], [-4]]), ["row 1", "shots", "-4"]),
        (pa.array([["0"], ["1"]]), ["shots", "integers"]),
        (pa.array([0, 1]), ["shots", "integers"]),
        (pa.array([[0.0], [1.0]]), ["shots", "integers"]),
        (pa.array([[2**64 - 1], [0]], pa.list_(pa.uint64())), ["shots"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_indices_that_choose_nothing_are_refused(shots: pa.Array, words: list[str]) -> None:
    renderer = pp.Renderer(**FEW_SHOT, retriever={"type": "IndexColumn", "column": "shots"})
    samples = pa.table({"q": ["1", "2"], "shots": shots})
    for call in (renderer.render, renderer, lambda given: renderer.stream(given).read_all()):
        with pytest.raises(pp.RenderError) as raised:
            call(samples)
        assert all(word in str(raised.value) for word in words)


def test_a_column_that_holds_the_choice_cant_be_retrieved() -> None:
    renderer = pp.Renderer(**FEW_SHOT, retriever={"type": "IndexColumn", "column": "shots"})
    with pytest.raises(pp.TemplateError, match="shots"):
        renderer.retrieve(3)


def test_a_number_of_samples_is_not_negative() -> None:
    with pytest.raises(ValueError, match="-1"):
        pp.Renderer("{q}").retrieve(-1)
