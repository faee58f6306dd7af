"""Fingerprints of examples of every type, however they are laid out, and of values that only look alike."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._fingerprint import examples

pytestmark = UNWARNED

FIXED = {"type": "FixKRetriever", "fix_id_list": [2, 0, -1]}
DRAWN = {"type": "RandomRetriever", "ice_num": 2}
WORDS = ["a", "b", "c"]


def renderer(column: pa.Array | pa.ChunkedArray, retriever: dict[str, Any] = FIXED) -> pp.Renderer:
    template = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
    examples = pa.table({"q": column, "a": ["1"] * len(column)})
    return pp.Renderer(template, "{q} {a}", retriever, examples, {"input_columns": ["q"], "output_column": "a"})


def runs(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays([1, 2, 3], values)


def listed(kind: pa.DataType) -> pa.Array:
    return pa.array([[word] for word in WORDS], pa.list_(kind))


@pytest.mark.parametrize("retriever", [FIXED, DRAWN], ids=lambda retriever: retriever["type"])
@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (pa.array(WORDS, pa.string_view()), pa.array(WORDS)),
        (pa.array([b"a", b"b", None], pa.binary_view()), pa.array([b"a", b"b", None])),
        (runs(pa.array(WORDS)), pa.array(WORDS)),
        (runs(pa.array(WORDS, pa.string_view())), pa.array(WORDS)),
        (pa.DictionaryArray.from_arrays([0, 1, None], pa.array(WORDS, pa.string_view())), pa.array(["a", "b", None])),
        (listed(pa.string_view()), listed(pa.string())),
        (
            pa.array([{"a": w} for w in WORDS], pa.struct([("a", pa.string_view())])),
            pa.array([{"a": w} for w in WORDS]),
        ),
        (pa.array([[w] for w in WORDS], pa.list_view(pa.string())), listed(pa.large_string())),
    ],
    ids=lambda column: str(column.type),
)
def test_layouts_make_no_difference(column: pa.Array, plain: pa.Array, retriever: dict[str, Any]) -> None:
    meant = renderer(plain, retriever)
    samples = pa.table({"q": ["x"], "a": ["y"]})
    for own in (column, pa.chunked_array([column.slice(0, 1), column.slice(1)])):
        found = renderer(own, retriever)
        assert found.fingerprint() == meant.fingerprint()
        assert found.render(samples, hashes=True).equals(meant.render(samples, hashes=True), check_metadata=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())),
            pa.array([[["a", "b"]]], pa.list_(pa.list_(pa.string()))),
        ),
        (
            pa.array([{"m": [("a", "b")]}], pa.struct([("m", pa.map_(pa.string(), pa.string()))])),
            pa.array([{"m": [["a", "b"]]}], pa.struct([("m", pa.list_(pa.list_(pa.string())))])),
        ),
        (
            pa.array([[datetime(2020, 1, 1)]], pa.list_(pa.timestamp("us", "Europe/Paris"))),
            pa.array([[datetime(2020, 1, 1)]], pa.list_(pa.timestamp("us", "+01:00"))),
        ),
        (
            pa.array([[(1, 2, 3)]], pa.list_(pa.month_day_nano_interval())),
            pa.array([[[1, 2, 3]]], pa.list_(pa.list_(pa.int64()))),
        ),
    ],
    ids=["map", "map within", "zone", "interval"],
)
def test_values_that_look_alike_and_read_otherwise(one: pa.Array, other: pa.Array) -> None:
    samples = pa.table({"q": ["x"], "a": ["y"]})
    fixed = {"type": "FixKRetriever", "fix_id_list": [0]}
    renderers = [renderer(column, fixed) for column in (one, other)]
    prompts = {own.render(samples)["prompt"][0].as_py() for own in renderers}
    assert len(prompts) == len({own.fingerprint() for own in renderers}) == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.int32()], ids=str)
@pytest.mark.parametrize("nulls", [0, 1])
def test_few_values_and_many_are_hashed_alike(kind: pa.DataType, nulls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Any] = ["", "a{", "é" * 40, "b", ""] if not pa.types.is_integer(kind) else [0, -1, 2**31 - 1, 7, 0]
    array = pa.array(values + [None] * nulls).cast(kind)
    found = []
    for few in (examples._FEW, 0):
        monkeypatch.setattr(examples, "_FEW", few)
        for own in (array, pa.chunked_array([array.slice(0, 2), array.slice(2, 0), array.slice(2)]), array.slice(1)):
            found.append(renderer(own, {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3]}).fingerprint())
    assert found[0] == found[1] == found[3] == found[4] != found[2] == found[5]
