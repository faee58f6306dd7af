"""Functions of Arrow values, each by an example."""

import re

import pyarrow as pa
import pytest
from promptpress._arrow.as_table import rows_reader
from promptpress._arrow.columns import (
    bytes_of,
    bytes_table,
    ends_of,
    is_messages,
    is_text,
    one_array,
    same_texts,
    table_bytes,
    text_of,
)
from promptpress._arrow.core_tables import checked
from promptpress._arrow.json_columns import is_json, json_array, json_field, json_values, without_json
from promptpress._arrow.python_rows import changed, columns_table, is_exact, json_texts, nested_too_deeply, rows_table
from promptpress._arrow.python_text import depth, json_on_one_line, narrowed
from promptpress._arrow.python_values import column_of_prompts, with_exact_types
from promptpress._arrow.take import batch_rows, rows_in_any_order, rows_in_order, spread_over_runs, take_rows
from promptpress._core import RenderError


def test_one_array() -> None:
    assert one_array([pa.array(["a"]), pa.array(["b"])]).to_pylist() == ["a", "b"]


def test_with_exact_types() -> None:
    from promptpress._arrow.json_columns import json_array, json_field

    schema = pa.schema([json_field("a"), json_field("b")])
    columns = [json_array(['["x"]', "null"]), json_array(['["x"]', "1"])]
    assert (
        repr(with_exact_types(pa.Table.from_arrays(columns, schema=schema)).schema.field("a").type)
        == "ListType(list<item: string>)"
    )


def test_json_texts() -> None:
    assert json_texts([{"x": 1}, 2.0, None, "é"]) == ['{"x": 1}', "2.0", None, '"\\u00e9"']
    assert json_texts([{1: 2}]) is json_texts([b""]) is None


def test_is_exact() -> None:
    assert (is_exact([1, 2], pa.int64()), is_exact([1, 2.0], pa.float64())) == (True, False)
    assert [is_exact([other, {"a": 2}], pa.struct({"a": pa.int64()})) for other in ({"a": 1}, {})] == [True, False]


def test_rows_in_order() -> None:
    table = pa.table({"q": ["a", "b", "c"], "n": [1, 2, 3]})
    assert [batch.to_pydict() for batch in rows_in_order(table, pa.array([2, 0, 1]), 2)] == [
        {"q": ["c", "a"], "n": [3, 1]},
        {"q": ["b"], "n": [2]},
    ]


def test_narrowed() -> None:
    items = narrowed(pa.array([["a"] * 9000, ["b"]]).slice(1))
    assert (items.to_pylist(), len(items.values)) == ([["b"]], 1)


def test_bytes_of() -> None:
    assert bytes_of(pa.array([1, 2, 3]).slice(1)) == 16


def test_columns_table() -> None:
    assert columns_table({"q": ["1+1=?"], "n": [4]}).num_rows == 1


def test_rows_table() -> None:
    assert rows_table([{"q": "1+1=?"}, {"q": "2+2=?", "n": 4}]).to_pydict() == {"q": ["1+1=?", "2+2=?"], "n": [None, 4]}
    assert rows_table([{"v": {"x": 1}}, {"v": 7}]).to_pydict() == {"v": ['{"x": 1}', "7"]}


def test_same_texts() -> None:
    import pyarrow as pa

    assert same_texts(pa.table({"x": [float("nan")]}), pa.table({"x": [float("nan")]}))
    assert not same_texts(pa.table({"x": [0.0]}), pa.table({"x": [-0.0]}))


def test_text_of() -> None:
    assert bytes(text_of(pa.array([b"a", b"bc"], pa.large_binary()))) == b"abc"


def test_ends_of() -> None:
    assert ends_of(pa.array(["a", "bc"], pa.large_string())).tolist() == [0, 1, 3]


def test_table_bytes() -> None:
    import pyarrow as pa

    large = pa.table({"a": [str(n) for n in range(10_000)]})
    assert len(table_bytes(large.slice(0, 1))) < 1_000
    assert bytes_table(table_bytes(large)).equals(large)


def test_is_messages() -> None:
    message = pa.struct({"role": pa.string(), "content": pa.string()})
    assert (is_messages(pa.list_(message)), is_messages(message), is_messages(pa.list_(pa.string()))) == (
        True,
        False,
        False,
    )


def test_is_text() -> None:
    assert (is_text(pa.string_view()), is_text(pa.dictionary(pa.int8(), pa.string())), is_text(pa.binary())) == (
        True,
        False,
        False,
    )


def test_json_values() -> None:
    assert json_values(json_array(['{"a": [1.0, 1]}', None, '"x"']), json_field("v"), pa.Array.to_pylist) == [
        {"a": [1.0, 1]},
        None,
        "x",
    ]


def test_without_json() -> None:
    assert repr(without_json(pa.list_(pa.string()))) == "ListType(list<item: string>)"


def test_is_json() -> None:
    assert (is_json(pa.field("v", pa.string())), is_json(json_field("v"))) == (False, True)


def test_batch_rows() -> None:
    assert batch_rows(pa.record_batch({"n": [1, 2, 3]}), pa.array([0, 2]))["n"].to_pylist() == [1, 3]


def test_spread_over_runs() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3]), pa.array(["a", "b"], pa.string_view()))
    assert spread_over_runs(runs.slice(1), pa.array([10, 20])).to_pylist() == [20, 20]


def test_rows_in_any_order() -> None:
    assert rows_in_any_order(pa.chunked_array([["a"], ["b", "c"]]), pa.array([2, 0, 1])).to_pylist() == ["c", "a", "b"]


def test_take_rows() -> None:
    assert take_rows(pa.array(["a", "b"], pa.string_view()), pa.array([0, 0, 1]))[0].to_pylist() == ["a", "a", "b"]


def test_take_rows_of_maps_in_structs_without_a_value() -> None:
    maps = pa.array([[("k", None)], [("l", None)], None, [("m", None)]], pa.map_(pa.string_view(), pa.null()))
    structs = pa.StructArray.from_arrays([maps], ["m"], mask=pa.array([False, True, False, False]))
    (struct,) = take_rows(structs, pa.array([0, 1, 1, 3], pa.int64()))
    struct.validate(full=True)
    assert struct.to_pylist() == [structs.to_pylist()[row] for row in (0, 1, 1, 3)]


def test_changed() -> None:
    assert changed(["x", b"y"], pa.binary()) == (1, b"y", "bytes", 0, "a string")


def test_nested_too_deeply() -> None:
    loop = []
    loop.append(loop)
    assert (nested_too_deeply([1, [2]]), nested_too_deeply([1, loop])) == (False, True)


def test_checked() -> None:
    offsets = bytearray(8)
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(b"four")])
    table = pa.table({"q": text})
    offsets[4] = 9
    with pytest.raises(RenderError, match=re.escape('column "q": the Arrow array is malformed: In chunk 0:')):
        checked(table)


def test_column_of_prompts() -> None:
    assert column_of_prompts(pa.schema([("id", pa.int64()), ("prompt", pa.string())])) == 1
    with pytest.raises(
        RenderError, match=re.escape('column "prompt": it holds int64; prompts are texts or lists of messages')
    ):
        column_of_prompts(pa.schema([("prompt", pa.int64())]))


def test_depth() -> None:
    assert depth(pa.list_(pa.struct([("a", pa.int64())])), 9) == 2


def test_json_on_one_line() -> None:
    assert json_on_one_line(pa.array(['{"a":1E5,\n"b":[ ]}']), "v")[0].as_py() == '{"a": 1E5, "b": []}'


def test_rows_reader() -> None:
    assert rows_reader({"n": n} for n in range(3)).read_all().to_pylist() == [{"n": 0}, {"n": 1}, {"n": 2}]
