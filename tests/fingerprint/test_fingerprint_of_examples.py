"""Fingerprints of examples of every type, however they are laid out, and of values that only look alike."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._config import hashed_values as examples

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
    expected = renderer(plain, retriever)
    samples = pa.table({"q": ["x"], "a": ["y"]})
    for layout in (column, pa.chunked_array([column.slice(0, 1), column.slice(1)])):
        changed = renderer(layout, retriever)
        assert changed.fingerprint() == expected.fingerprint()
        assert changed.render(samples, hashes=True).equals(expected.render(samples, hashes=True), check_metadata=True)


@pytest.mark.parametrize(
    ("first", "second"),
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
def test_values_that_look_alike_and_read_otherwise(first: pa.Array, second: pa.Array) -> None:
    samples = pa.table({"q": ["x"], "a": ["y"]})
    fixed = {"type": "FixKRetriever", "fix_id_list": [0]}
    renderers = [renderer(column, fixed) for column in (first, second)]
    prompts = {with_examples.render(samples)["prompt"][0].as_py() for with_examples in renderers}
    assert len(prompts) == len({with_examples.fingerprint() for with_examples in renderers}) == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.int32()], ids=str)
@pytest.mark.parametrize("nulls", [0, 1])
def test_few_values_and_many_are_hashed_alike(kind: pa.DataType, nulls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Any] = ["", "a{", "é" * 40, "b", ""] if not pa.types.is_integer(kind) else [0, -1, 2**31 - 1, 7, 0]
    array = pa.array(values + [None] * nulls).cast(kind)
    fingerprints = []
    for few in (examples._FEW, 0):
        monkeypatch.setattr(examples, "_FEW", few)
        for layout in (array, pa.chunked_array([array.slice(0, 2), array.slice(2, 0), array.slice(2)]), array.slice(1)):
            fingerprints.append(renderer(layout, {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3]}).fingerprint())
    assert (
        fingerprints[0] == fingerprints[1] == fingerprints[3] == fingerprints[4] != fingerprints[2] == fingerprints[5]
    )
