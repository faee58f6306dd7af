"""The labels of ppl: the type of their column, and where their values come from."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import PROMPT, READER, SAMPLES, rendered_or_refused, texts
from models.plain_model import render as render_plain


@pytest.mark.parametrize(
    ("labels", "kind", "want"),
    [
        (["A", "B"], pa.string(), ["A", "B"]),
        ([0, 1], pa.int64(), [0, 1]),
        ([0.5, None], pa.float64(), [0.5, None]),
        ([1, 0.5], pa.float64(), [1.0, 0.5]),
        ([True, False], pa.bool_(), [True, False]),
        ([None], pa.string(), [None]),
        (["A", 1], pa.string(), ["A", "1"]),
        (["A", True, None], pa.string(), ["A", "True", "None"]),
        (
            ["A", 1e22, 1e-7, float("nan"), float("inf"), -0.0],
            pa.string(),
            ["A", "1e+22", "1e-07", "nan", "inf", "-0.0"],
        ),
        ([1, True], pa.string(), ["1", "True"]),
    ],
    ids=repr,
)
def test_the_type_of_the_label_column(labels: list[Any], kind: pa.DataType, want: list[Any]) -> None:
    renderer = pp.Renderer("{q}", mode="ppl", labels=labels)
    table = renderer.render(SAMPLES.slice(0, 1))
    assert table.schema.field("label").type == kind
    assert table["label"].to_pylist() == want
    assert table.schema == renderer.output_schema(SAMPLES.schema)
    assert [str(label) for label in renderer.labels or []] == [str(label) for label in labels]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["b", "a", "b"]),
        pa.array(["b", "a", "b"], pa.string_view()),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array([3, 1, 3]),
        pa.array([3, 1, 3], pa.uint8()),
        pa.array([0.5, 0.25, 0.5]),
        pa.array([True, False, True]),
    ],
    ids=lambda values: str(values.type),
)
def test_labels_are_the_sorted_values_of_the_output_column(values: pa.Array) -> None:
    samples = pa.table({"q": ["1", "2", "3"], "a": values})
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    assert renderer.labels is None
    table = renderer.render(samples)
    assert table["label"].to_pylist() == sorted(set(values.to_pylist())) * 3
    assert table.schema == renderer.output_schema(samples.schema)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 86_400_000_000, 0], pa.timestamp("us", "UTC")),
        pa.array([0, 1, 0], pa.date32()),
        pa.array([1, 2, 1], pa.decimal128(3, 1)),
        pa.array([b"a", b"b", b"a"]),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.binary(16))),
        pa.RunEndEncodedArray.from_arrays([1, 3], ["a", "b"]),
        pa.array([2**64 - 1, 1, 1], pa.uint64()),
    ],
    ids=lambda values: str(values.type),
)
def test_labels_of_other_types_are_their_texts_or_refused(values: pa.Array) -> None:
    samples = pa.table({"q": ["1", "2", "3"], "a": values})
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    table, error = rendered_or_refused(renderer, samples)
    if table is None:
        assert '"a"' in error
    else:
        labels = table["label"].to_pylist()
        assert [str(label) for label in labels] == [str(value) for value in sorted(set(values.to_pylist()))] * 3


@pytest.mark.parametrize("keys", [(0, 1), (None, "A"), (True, False), (2**40, -1), (0.5, 2)])
def test_label_maps_with_keys_that_are_no_strings(keys: tuple[Any, Any]) -> None:
    template = {keys[0]: "first {q}", keys[1]: "second {q}"}
    renderer = pp.Renderer(template, mode="ppl")
    assert renderer.labels == list(keys)
    table = renderer.render(SAMPLES.slice(0, 1))
    assert texts(table) == ["first 1+1?", "second 1+1?"]
    examples = pa.table({"q": ["x", "y"], "a": pa.array(list(keys)) if None not in keys else ["A", None]})
    config = {
        "prompt_template": PROMPT,
        "ice_template": {"type": "PromptTemplate", "template": template},
        "reader": READER,
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
    }
    shots = pp.Renderer(**config, examples=examples)
    want = render_plain(config, SAMPLES.to_pylist(), examples.to_pylist())
    assert texts(shots.render(SAMPLES)) == want
