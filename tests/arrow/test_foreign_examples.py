"""Examples with columns whose texts only Python has: each row's own text, whoever chooses the rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

ZONE = dt.timezone.utc


class Celsius(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.float64(), "promptpress.test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _data: bytes) -> Celsius:
        return cls()


def dense_union(values: list[Any]) -> pa.Array:
    ids = pa.array([int(isinstance(v, str)) for v in values], pa.int8())
    ints, strings = [v for v in values if not isinstance(v, str)], [v for v in values if isinstance(v, str)]
    counts = [0, 0]
    offsets = []
    for value in values:
        kind = int(isinstance(value, str))
        offsets.append(counts[kind])
        counts[kind] += 1
    return pa.UnionArray.from_dense(ids, pa.array(offsets, pa.int32()), [pa.array(ints), pa.array(strings)])


def foreign(base: int) -> dict[str, pa.Array]:
    """Four values of each type, and other ones for another base."""
    times = [dt.datetime(2020, 1, 1 + base, hour, tzinfo=ZONE) for hour in range(4)]
    return {
        "zoned": pa.array([times[0], None, *times[2:]], pa.timestamp("us", "Asia/Shanghai")),
        "decimal256": pa.array([Decimal(base * 10 + n) for n in range(4)], pa.decimal256(70, 3)),
        "extension": pa.ExtensionArray.from_storage(Celsius(), pa.array([base + n / 4 for n in range(4)])),
        "union": dense_union([base, "one", base + 2, f"three {base}"]),
        "list": pa.array([[times[n]] * n for n in range(4)], pa.list_(pa.timestamp("us", "UTC"))),
    }


TYPES = list(foreign(0))
TOKEN = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
READER = {"input_columns": ["q"], "output_column": "a"}


def train(kind: str, base: int = 0, name: str = "x") -> pa.Table:
    # Beside a column with nulls, which are what a wrong number of texts ran into.
    return pa.table({"q": ["q0", None, "q2", "q3"], "a": ["a0", "a1", "a2", "a3"], name: foreign(base)[kind]})


def example_texts(table: pa.Table, rows: list[int], column: str = "x") -> str:
    values = table.column(column).to_pylist()
    questions = table.column("q").to_pylist()
    return "".join(f"{questions[row]}={values[row]}\n" for row in rows)


def samples_of(count: int) -> pa.Table:
    return pa.table({"q": [f"s{n}" for n in range(count)], "a": ["?"] * count})


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("ids", [[0, 3, 1], [3], [2, 2], [1, 0], [-1], [3, 2, 1, 0]])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_fixed_examples_show_the_rows_with_their_ids(kind: str, ids: list[int], count: int) -> None:
    table = train(kind)
    renderer = pp.Renderer(
        TOKEN, "{q}={x}", {"type": "FixKRetriever", "fix_id_list": ids}, examples=table, reader=READER
    )
    expected = [example_texts(table, ids) + f"s{n}" for n in range(count)]
    assert renderer.render(samples_of(count))["prompt"].to_pylist() == expected


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "retriever",
    [
        {"type": "RandomRetriever", "ice_num": 2},
        {"type": "SlidingWindowRetriever", "k": 2},
        {"type": "IndexColumn", "column": "shots"},
    ],
    ids=lambda retriever: retriever["type"],
)
@pytest.mark.parametrize("same_column", ["none", "same type", "other type"])
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_rows_of_the_examples_are_never_read_from_the_samples(
    kind: str, retriever: dict[str, Any], same_column: str, count: int
) -> None:
    table = train(kind)
    if "k" in retriever:
        count = min(count, len(table))  # its window ends with the examples
    samples = samples_of(count).append_column(
        "shots", pa.array([[n % 4, 1] for n in range(count)], pa.list_(pa.int64()))
    )
    if same_column == "same type":
        column_of_samples = foreign(5)[kind]
        samples = samples.append_column("x", pa.concat_arrays([column_of_samples] * 25).slice(0, count))
    elif same_column == "other type":
        samples = samples.append_column("x", pa.array([f"sample {n}" for n in range(count)]))
    renderer = pp.Renderer(TOKEN, "{q}={x}", retriever, examples=table, reader=READER)
    chosen = samples.column("shots").to_pylist() if "column" in retriever else renderer.retrieve(count).to_pylist()
    expected = [example_texts(table, rows) + f"s{n}" for n, rows in enumerate(chosen)]
    assert renderer.render(samples)["prompt"].to_pylist() == expected
    for row in range(min(count, 2)):
        spans = renderer.explain(samples, row).to_pylist()
        assert spans[-1]["end"] == len(expected[row].encode())
    assert renderer.divergence(samples).num_rows == 0


@pytest.mark.parametrize("kind", TYPES)
def test_a_placeholder_in_an_example_s_value_is_filled_from_the_example(kind: str) -> None:
    table = train(kind).set_column(0, "q", pa.array(["{x}"] * 4))
    samples = samples_of(3).append_column("shots", pa.array([[3], [0, 1], []]))
    renderer = pp.Renderer(TOKEN, "{q}!", {"type": "IndexColumn", "column": "shots"}, examples=table, reader=READER)
    values = table.column("x").to_pylist()
    expected = [f"{values[3]}!\ns0", f"{values[0]}!\n{values[1]}!\ns1", "\ns2"]
    assert renderer.render(samples)["prompt"].to_pylist() == expected


def test_a_placeholder_in_an_example_s_value_that_the_example_lacks_is_the_sample_s() -> None:
    table = pa.table({"q": ["{x}", "y"], "a": ["", ""]})
    samples = samples_of(2).append_column("x", foreign(3)["zoned"].slice(0, 2))
    renderer = pp.Renderer(TOKEN, "{q}", {"type": "FixKRetriever", "fix_id_list": [0]}, examples=table, reader=READER)
    values = samples.column("x").to_pylist()
    assert renderer.render(samples)["prompt"].to_pylist() == [f"{values[0]}\ns0", f"{values[1]}\ns1"]


def test_a_value_without_text_is_named_as_the_examples_row() -> None:
    far = pa.array([0, 2**62], pa.int64()).view(pa.timestamp("us", "UTC"))
    table = pa.table({"q": ["", ""], "a": ["", ""], "x": far})
    with pytest.raises(pp.RenderError, match=r'row 1, column "examples\.x"'):
        pp.Renderer(TOKEN, "{x}", {"type": "FixKRetriever", "fix_id_list": [1]}, examples=table, reader=READER)


def test_examples_survive_pickling_and_chunks() -> None:
    import pickle

    table = pa.concat_tables([train("zoned"), train("zoned", 2)])
    renderer = pp.Renderer(
        TOKEN, "{q}={x}", {"type": "FixKRetriever", "fix_id_list": [6, 3]}, examples=table, reader=READER
    )
    expected = [example_texts(table, [6, 3]) + "s0"]
    assert renderer.render(samples_of(1))["prompt"].to_pylist() == expected
    assert pickle.loads(pickle.dumps(renderer)).render(samples_of(1))["prompt"].to_pylist() == expected


@pytest.mark.parametrize("name", ["geoarrow.wkb", "foo.bar", "promptpress.rows"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([2, 0, 1]),
        pa.array(["b", None, "a"]),
        pa.array([1.5, 2.5, -0.0]),
        pa.array([[1], [], None], pa.list_(pa.int64())),
        pa.array([{"f": 1}, None, {"f": 2}]),
    ],
    ids=lambda values: str(values.type),
)
def test_an_extension_type_that_nobody_knows_is_its_storage(values: pa.Array, name: str) -> None:
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": "examples"}
    schema = pa.schema([pa.field("x", values.type, metadata=metadata), pa.field("q", pa.string()), ("a", pa.string())])
    table = pa.Table.from_arrays([values, pa.array(["q", "r", "s"]), pa.array(["", "", ""])], schema=schema)
    texts = [str(value) for value in values.to_pylist()]
    renderer = pp.Renderer("{x}{q}")
    assert renderer.render(table)["prompt"].to_pylist() == [x + q for x, q in zip(texts, "qrs", strict=True)]
    assert renderer.divergence(table).num_rows == 0
    assert renderer.explain(table, 1)["end"][0].as_py() == len(texts[1].encode())
    retriever = {"type": "FixKRetriever", "fix_id_list": [2, 0]}
    shots = pp.Renderer(TOKEN, "{q}={x}", retriever, examples=table, reader=READER).render(samples_of(1))
    assert shots["prompt"][0].as_py() == f"s={texts[2]}\nq={texts[0]}\ns0"
    nested = pa.array(
        [[value] for value in values.to_pylist()], pa.list_(pa.field("item", values.type, True, metadata))
    )
    assert pp.Renderer("{n}").render(pa.table({"n": nested}))["prompt"].to_pylist() == [
        str(value) for value in nested.to_pylist()
    ]
