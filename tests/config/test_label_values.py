"""Labels that are a column's values, and label maps that a column's values choose from, of any Arrow type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from fuzz import labels as label_cases
from marks import UNWARNED
from promptpress._arrow.json_columns import json_array

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

READER = {"input_columns": ["q"], "output_column": "a"}
EPOCH = 1_600_000_000
STORAGE = pa.array([b"2" * 16, b"1" * 16, b"2" * 16], pa.binary(16))
UNION = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array(["b", "", "a"]), pa.array([0, 7, 0])])

COLUMNS: dict[str, pa.Array] = {
    "zoned": pa.array([EPOCH * 10**6, 0, EPOCH * 10**6], pa.timestamp("us", "Europe/Berlin")),
    "zoned nanoseconds": pa.array([EPOCH * 10**9, 0, EPOCH * 10**9], pa.timestamp("ns", "UTC")),
    "timestamps": pa.array([EPOCH, -(10**10), 7], pa.timestamp("s")),
    "nanoseconds": pa.array([EPOCH * 10**9, 5000, 0], pa.timestamp("ns")),
    "dates": pa.array([20_000, -200_000, 0], pa.date32()),
    "dates in milliseconds": pa.array([86_400_000, 0, 86_400_000], pa.date64()),
    "times": pa.array([86_399, 5, 86_399], pa.time32("s")),
    "durations": pa.array([1_000_000, 227, 4], pa.duration("s")),
    "decimals": pa.array([Decimal("10.5"), Decimal("-9.0"), Decimal("9.0")], pa.decimal128(5, 1)),
    "wide decimals": pa.array([Decimal("10.5"), Decimal("-9.0"), Decimal("9.0")], pa.decimal256(60, 1)),
    "bytes": pa.array([b"b", b"\xff", b"B"]),
    "views of bytes": pa.array([b"b", b"\xff", b"B"], pa.binary_view()),
    "fixed bytes": pa.array([b"b", b"\xff", b"B"], pa.binary(1)),
    "uuids": pa.ExtensionArray.from_storage(pa.uuid(), STORAGE),
    "unsigned": pa.array([2**64 - 1, 9, 2**63], pa.uint64()),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["b", "a"])),
    "runs of numbers": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int16()), pa.array([3, 1])),
    "keys": pa.array([3, 1, 3]).dictionary_encode(),
    "keys of dates": pa.array([3, 1, 3], pa.date32()).dictionary_encode(),
    "intervals": pa.array([(1, 2, 3), (0, 0, 4), (1, 2, 3)], pa.month_day_nano_interval()),
    "strings": pa.array(["b", "a", "b"], pa.large_string()),
    "floats": pa.array([0.5, -1.0, 2.0], pa.float16()),
}


def labels_of(values: pa.Array) -> list[Any]:
    """The labels that Python's own `sorted` gives; null first."""
    distinct = set(values.to_pylist())
    return [None] * (None in distinct) + sorted(value for value in distinct if value is not None)


def samples_of(values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return pa.table({"q": [str(row) for row in range(len(values))], "a": values})


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("nulls", [False, True])
def test_labels_are_sorted_by_value_and_shown_by_text(name: str, nulls: bool) -> None:
    values = COLUMNS[name]
    if nulls and not pa.types.is_run_end_encoded(values.type):
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    samples = samples_of(pa.chunked_array([values.slice(0, 2), values.slice(2)]))
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    table = renderer.render(samples)
    want = labels_of(values)
    assert [str(label) for label in table["label"].to_pylist()] == [str(label) for label in want] * len(samples)
    assert table.schema == renderer.output_schema(samples.schema)
    for label, rendered in zip(want, table["label"].to_pylist(), strict=False):
        for given in (label, rendered, str(label)):
            assert renderer.explain(samples, 1, given).num_rows == 1
    with pytest.raises(pp.RenderError, match="there is no label 'elsewhere'"):
        renderer.explain(samples, 1, "elsewhere")
    assert renderer.divergence(samples).num_rows == 0


def test_values_without_an_order_are_labels_too() -> None:
    samples = samples_of(UNION)
    table = pp.Renderer("{q}", mode="ppl", reader=READER).render(samples)
    assert sorted(table["label"].to_pylist()[:3]) == ["7", "a", "b"]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, None]),
        pa.array([[(1, 2)], None], pa.map_(pa.int64(), pa.int64())),
        pa.array([[0], None], pa.list_(pa.timestamp("us", "UTC"))),
    ],
    ids=lambda values: str(values.type),
)
def test_lists_and_dicts_are_no_labels(values: pa.Array) -> None:
    with pytest.raises(pp.RenderError, match=r'column "a": its values would be the labels, which can.t be of type'):
        pp.Renderer("{q}", mode="ppl", reader=READER).render(samples_of(values))


def test_a_value_that_python_cannot_have_is_named() -> None:
    values = pa.array([0, 2**62], pa.timestamp("us", "UTC"))
    with pytest.raises(pp.RenderError, match='row 1, column "a"'):
        pp.Renderer("{q}", mode="ppl", reader=READER).render(samples_of(values))


@pytest.mark.parametrize("labels", [[1, True, 1.0], ["1", 1], [0.1, float("nan"), 1e22, -0.0], ["A", None, 2**70]])
def test_each_label_is_found(labels: list[Any]) -> None:
    samples = pa.table({"q": ["?"]})
    renderer = pp.Renderer("{q}", mode="ppl", labels=labels)
    rendered = renderer.render(samples)["label"].to_pylist()
    for label in (*labels, *(renderer.labels or []), *rendered):
        assert renderer.explain(samples, 0, label).num_rows == 1


@pytest.mark.parametrize("labels", [[None, "A"], ["A", None]])
def test_none_is_a_label_where_it_is_one(labels: list[Any]) -> None:
    renderer = pp.Renderer({None: "none {q}", "A": "yes {q}"}, mode="ppl", labels=labels)
    samples = pa.table({"q": ["?"]})
    for label, prompt in zip(labels, renderer.render(samples)["prompt"].to_pylist(), strict=True):
        assert renderer.explain(samples, 0, label)["end"].to_pylist()[-1] == len(prompt)
    assert renderer.explain(samples, 0, "None").equals(renderer.explain(samples, 0))


def test_the_very_label_comes_before_an_equal_one() -> None:
    """OpenICL writes labels out where there is no template: True and 1 are one key, and two texts."""
    renderer = pp.Renderer(
        reader={"input_columns": ["q"], "output_column": "a"}, mode="ppl", labels=[1, True, "1"], dialect="openicl"
    )
    samples = pa.table({"q": ["?"], "a": ["x"]})
    assert renderer.render(samples)["prompt"].to_pylist() == ["? 1", "? True", "? 1"]
    assert [max(renderer.explain(samples, 0, label)["end"].to_pylist()) for label in (1, True, "1")] == [3, 6, 3]


LABELS: dict[str, tuple[Any, pa.Array]] = {
    "strings of an extension type": (
        {'"A"': "yes {q};", '"B"': "no {q};"},
        pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "a", "b"), pa.array(['"B"', '"A"'])),
    ),
    "a union": ({"b": "yes {q};", 7: "no {q};"}, UNION.slice(0, 2)),
    "decimals": ({1: "yes {q};", 0.5: "no {q};"}, pa.array([Decimal("0.50"), Decimal("1.00")])),
    "wide decimals": (
        {1: "yes {q};", 0.5: "no {q};"},
        pa.array([Decimal("0.50"), Decimal("1.00")], pa.decimal256(60, 2)),
    ),
    "runs": ({"b": "yes {q};", "a": "no {q};"}, pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(["b", "a"]))),
    "unsigned": ({2**64 - 1: "yes {q};", 1: "no {q};"}, pa.array([2**64 - 1, 1], pa.uint64())),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("retriever", ["FixKRetriever", "IndexColumn"])
def test_examples_are_rendered_by_their_labels(name: str, retriever: str) -> None:
    template, values = LABELS[name]
    examples = samples_of(values)
    rows = list(range(len(examples)))
    chosen: dict[str, Any] = {"fix_id_list": rows} if retriever == "FixKRetriever" else {"column": "shots"}
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>?", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": template},
        {"type": retriever, **chosen, "ice_separator": "", "ice_eos_token": ""},
        examples,
        READER,
    )
    samples = pa.table({"q": [""], "a": [""], "shots": [rows]})
    want = "".join(template[label].format(q=row) for row, label in enumerate(values.to_pylist()))
    assert renderer.render(samples)["prompt"].to_pylist() == [want + "?"]
    renderer.explain(samples, 0)


def test_values_of_json_choose_labels() -> None:
    samples = pa.table({"q": ["0", "1"], "a": json_array(["7", '"B"'])})
    assert pp.Renderer("{q}", reader=READER, mode="ppl").render(samples)["label"].to_pylist() == ["7", "B"] * 2
    bodies = {7: "yes {q};", "B": "no {q};"}
    template = {
        "type": "PromptTemplate",
        "template": bodies,
        "column_token_map": {"q": "{q}"},
        "selected_column_name": "a",
        "selected_column_map": bodies,
    }
    renderer = pp.Renderer(template, reader=READER, dialect="openicl")
    assert renderer.render(samples)["prompt"].to_pylist() == ["yes 0;", "no 1;"]


@pytest.mark.parametrize("name", LABELS)
def test_bodies_are_chosen_by_values_of_any_type(name: str) -> None:
    template, values = LABELS[name]
    tokens = {"q": "{q}"}
    renderer = pp.Renderer(
        {
            "type": "PromptTemplate",
            "template": template,
            "column_token_map": tokens,
            "selected_column_name": "a",
            "selected_column_map": template,
        },
        reader=READER,
        dialect="openicl",
    )
    samples = samples_of(values)
    want = [template[label].replace("{q}", str(row)) for row, label in enumerate(values.to_pylist())]
    assert renderer.render(samples)["prompt"].to_pylist() == want


def test_a_label_that_an_example_lacks_is_still_refused() -> None:
    examples = samples_of(pa.array([0], pa.timestamp("us", "UTC")))
    renderer_of: Any = lambda: pp.Renderer(  # noqa: E731
        {"type": "PromptTemplate", "template": "</E>?", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": {"1970-01-01 00:00:00+00:00": "{q}"}},
        {"type": "FixKRetriever", "fix_id_list": [0]},
        examples,
        READER,
    )
    with pytest.raises(pp.TemplateError, match="which the label map lacks"):
        renderer_of()


@pytest.mark.parametrize("values", [[-0.0], [-0.0, 0.0], [0.0, -0.0], [1.5, -0.0, -1.0]])
def test_of_both_zeros_the_first_is_the_label(values: list[float]) -> None:
    samples = pa.table({"q": ["x"] * len(values), "a": values})
    labels = pp.Renderer("{q}", mode="ppl", reader=READER).render(samples)["label"].to_pylist()
    assert [str(label) for label in labels[: len(set(values))]] == [str(value) for value in sorted(set(values))]


def test_nulls_of_lists_choose_like_any_null() -> None:
    template = {
        "template": {"A": "</q> is A"},
        "column_token_map": {"q": "</q>"},
        "selected_column_name": "a",
        "selected_column_map": {"A": "</q> is A", "B": "</q> is B"},
    }
    renderer = pp.Renderer(template, reader={"input_columns": ["q"], "output_column": "a"}, dialect="openicl")
    of_any_type = renderer.render({"q": ["1", "2"], "a": pa.nulls(2)})["prompt"].to_pylist()
    of_lists = renderer.render({"q": ["1", "2"], "a": pa.nulls(2, pa.list_(pa.int64()))})["prompt"].to_pylist()
    assert of_lists == of_any_type
    with pytest.raises(pp.RenderError, match=r'row 1, column "a": its values choose among labels'):
        renderer.render({"q": ["1", "2"], "a": pa.array([None, [1]], pa.list_(pa.int64()))})


@pytest.mark.parametrize("labels", [pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}])])
def test_examples_labels_that_are_no_keys_are_refused_where_an_example_is_used(labels: pa.Array) -> None:
    rows = pa.table({"q": ["1", "2"], "a": labels})
    config: dict[str, Any] = {
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": {"A": "{q} is A", "B": "{q} is B"}},
        "reader": READER,
        "examples": rows,
    }
    none = pp.Renderer(**config, retriever={"type": "RandomRetriever", "ice_num": 0})
    assert none.render(rows)["prompt"].to_pylist() == ["\n1", "\n2"]
    with pytest.raises(pp.RenderError, match=r'row 1, column "examples\.a": its values choose among') as raised:
        pp.Renderer(**config, retriever={"type": "FixKRetriever", "fix_id_list": [1]})
    assert raised.value.code == "wrong_column_type"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**64 - 1, 3], pa.string()),
        ([2**63, -1], pa.string()),
        ([1.5, 2], pa.float64()),
        ([True, "x", None], pa.string()),
    ],
)
def test_statistics_show_labels_as_rendering_does(values: list[Any], kind: pa.DataType) -> None:
    samples = pa.table({"q": ["x", "longer"], "a": ["", ""]})
    renderer = pp.Renderer("{q}", mode="ppl", labels=values, reader=READER)
    labels = renderer.render(samples)["label"]
    longest = pp.stats(renderer, samples).longest
    assert longest["label"].type == labels.type == kind
    # The label None is null, also among texts.
    texts = [None if values[n % len(values)] is None else label.as_py() for n, label in enumerate(labels)]
    assert longest["label"].to_pylist() == [texts[n] for n in longest["request"].to_pylist()]


def test_statistics_take_labels_of_a_column_of_large_numbers() -> None:
    samples = pa.table({"q": ["x", "y"], "a": pa.array([2**64 - 1, 2**63], pa.uint64())})
    statistics = pp.stats(pp.Renderer("{q}", mode="ppl", reader=READER), samples)
    assert statistics.requests == 4
    assert {*statistics.longest["label"].to_pylist()} == {2**64 - 1, 2**63}


def test_labels_of_all_types_give_a_result_or_an_error_of_ours() -> None:
    assert sum(label_cases.run(0, number) for number in range(20)) == 20


@pytest.mark.full
def test_many_labels_of_all_types_give_a_result_or_an_error_of_ours() -> None:
    assert sum(label_cases.run(0, number) for number in range(20, 1_500)) == 1_480
