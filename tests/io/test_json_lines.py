"""Lines of JSON are what Python writes row by row, whatever the types, the layouts and the threads."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.json_lines_oracle import json_lines, strict
from promptpress._arrow.columns import text_of
from promptpress_workbench.cli.process import main
from promptpress_workbench.files.write.json_lines import LineIds, LineWriter, Piece, object_pieces
from promptpress_workbench.files.write.writers import open_writer
from test_field_text import LEAVES, arrays, micro, nested, nullable, text


def written(table: pa.Table, max_chunksize: int | None = None) -> str:
    file = io.BytesIO()
    writer = open_writer(file, "jsonl", table.schema, None)
    for batch in table.to_batches(max_chunksize=max_chunksize):
        writer.write_batch(batch)
    writer.close()
    return file.getvalue().decode()


def assert_same(*columns: pa.Array) -> None:
    """Compare with Python; the last column holds the requests."""
    names = [f"column {number}" for number in range(len(columns))]
    content = written(pa.table(list(columns), names))
    assert content == json_lines(pa.table(list(map(micro, columns)), names))
    lines = content.removesuffix("\n").split("\n")
    for line in lines if content else ():
        assert list(strict(line)) == names


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: str(leaf[0]))
@given(data=st.data())
@settings(max_examples=part_of(40), deadline=None)
def test_values_of_each_type(leaf: tuple[pa.DataType, st.SearchStrategy[Any]], data: st.DataObject) -> None:
    kind, values = leaf
    array = pa.array(data.draw(st.lists(nullable(values), max_size=10)), kind)
    array = array.slice(data.draw(st.integers(0, len(array))))
    assert_same(array, array)


@given(arrays(nested()))
@settings(max_examples=part_of(400), deadline=None)
def test_values_of_any_type(array: pa.Array) -> None:
    assert_same(array, array)


message = st.fixed_dictionaries(
    {
        "role": nullable(st.sampled_from(["user", "HUMAN"])),
        "prompt": nullable(text),
        "parts": nullable(
            st.lists(nullable(st.fixed_dictionaries({"type": nullable(text), "text": nullable(text)})), max_size=2)
        ),
    }
)
PARTS = pa.list_(pa.struct({"type": pa.string(), "text": pa.string()}))


@given(
    requests=st.lists(nullable(st.lists(nullable(message), max_size=3)), max_size=6),
    strings=st.sampled_from(
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.null()]
    ),
    make=st.sampled_from([pa.list_, pa.large_list, pa.list_view]),
    start=st.integers(0, 3),
)
@settings(max_examples=part_of(300), deadline=None)
def test_messages_have_the_keys_that_they_have(requests: Any, strings: pa.DataType, make: Any, start: int) -> None:
    if strings == pa.null():
        kind = pa.struct({"role": pa.string(), "parts": PARTS})
    else:
        kind = pa.struct({"role": pa.string(), "prompt": strings, "parts": PARTS})
    columns = [pa.array(requests, make(kind)).slice(start), pa.array(range(len(requests))).slice(start)]
    assert_same(columns[1], columns[0])


def test_every_character_is_written_as_python_writes_it() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert_same(pa.array(["".join(characters[start : start + 97]) for start in range(0, len(characters), 97)]))


@given(st.lists(st.text(st.sampled_from('a"\\\n\x00\x1f\x7fé\u2028😀'), max_size=100), max_size=4))
@settings(max_examples=part_of(200), deadline=None)
def test_escapes_anywhere_in_a_text(texts: list[str]) -> None:
    assert_same(pa.array(texts, pa.string()))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50))
@settings(max_examples=part_of(200), deadline=None)
def test_floats_of_every_bit_pattern(patterns: list[int]) -> None:
    assert_same(pa.array(patterns, pa.uint64()).view(pa.float64()))


def test_types_that_need_python_are_written_next_to_others() -> None:
    kinds = pa.array([0, 1, 1], pa.int8())
    union = pa.UnionArray.from_sparse(kinds, [pa.array([1, None, 3]), pa.array(["a", None, "c"])])
    zoned = pa.array(range(3)).view(pa.timestamp("s", "Asia/Kathmandu"))
    prompts = pa.array(["one", None, '"'])
    assert_same(union, zoned, pa.array([b"\xff\\", None, b"'"]), prompts)
    assert_same(pa.StructArray.from_arrays([pa.array([1, 2])], ["with\0nul"]), prompts[:2])
    if hasattr(pa, "uuid"):
        storage = pa.array([bytes(range(16)), None], pa.binary(16))
        assert_same(pa.ExtensionArray.from_storage(pa.uuid(), storage), prompts[:2])


def test_no_rows_are_no_lines() -> None:
    assert written(pa.table({"a": pa.array([], pa.int64()), "prompt": pa.array([], pa.list_(pa.string()))})) == ""


@pytest.mark.parametrize("threads", [1, 3])
def test_lines_are_the_same_for_any_threads_and_batches(threads: int) -> None:
    count = 5000
    table = pa.table({"id": range(count), "prompt": [f'"{n}"\n' * (n % 50) for n in range(count)]})
    before = _core.threads()
    pp.set_threads(threads)
    try:
        assert len({written(table, size) for size in (None, 1, 777, 4096)}) == 1
    finally:
        pp.set_threads(before)
    assert written(table) == json_lines(table)


def test_a_value_that_python_lacks_names_row_and_column() -> None:
    dates = pa.array([1] * 2000 + [10**8], pa.int32()).view(pa.date32())
    table = pa.table({"day": pa.concat_arrays([dates[:1], dates]), "prompt": [""] * 2002})
    with pytest.raises(pp.RenderError, match=r'row 2001, column "day": .*years 1 to 9999') as caught:
        written(table, 1500)
    assert (caught.value.row, caught.value.column) == (2001, "day")


def test_malformed_lists_are_errors() -> None:
    offsets = pa.array([0, 9, 2], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, offsets], children=[pa.array(["a", "b"])])
    with pytest.raises(pp.RenderError, match=r'row 0, column "prompt": .*malformed'):
        written(pa.table({"prompt": broken}))


def test_json_that_is_there_already_stays_on_its_line() -> None:
    writer = LineWriter(pa.schema({"m": pa.string()}), object_pieces([("body", Piece("json", column="m"))]))
    lines = writer.lines(pa.record_batch({"m": ['[{"role": "user"}]']}))
    assert bytes(text_of(lines[0])) == b'{"body": [{"role": "user"}]}\n'
    with pytest.raises(pp.RenderError, match='row 9, column "m": the JSON text has a line break'):
        writer.lines(pa.record_batch({"m": ["[\n]"]}), first_row=9)


def test_members_without_a_value_are_left_out_and_a_comma_follows_items() -> None:
    zone = pa.timestamp("s", "UTC")
    schema = pa.schema({"n": pa.int64(), "when": zone, "m": pa.list_(pa.struct({"role": pa.string()}))})
    pieces = [
        Piece("literal", "{"),
        Piece("member", '"n": ', "n"),
        Piece("member", ', "when": ', "when"),
        Piece("literal", "}["),
        Piece("items", column="m"),
        Piece("literal", "1]\n"),
    ]
    batch = pa.record_batch(
        [
            pa.array([1, None]),
            pa.array([None, 0], pa.int64()).view(zone),
            pa.array([[{"role": "a"}, {"role": None}], []], schema.field("m").type),
        ],
        schema=schema,
    )
    lines = LineWriter(schema, pieces).lines(batch)
    expected = ['{"n": 1}[{"role": "a"}, {}, 1]\n', '{, "when": "1970-01-01 00:00:00+00:00"}[1]\n']
    assert [line.decode() for line in lines[0].to_pylist()] == expected


def test_slices_of_lines_hold_only_their_bytes() -> None:
    lines = pa.array([b"ab", b"c", b"def"], pa.large_binary())
    assert [bytes(text_of(lines.slice(start, 2))) for start in range(4)] == [b"abc", b"cdef", b"def", b""]


def test_ids_in_lines_are_compared_over_several_batches() -> None:
    pieces = [Piece("literal", "<"), Piece("text", column="a"), Piece("literal", ">\n")]
    schema = pa.schema({"a": pa.string()})
    writer = LineWriter(schema, pieces, range(1, 2))
    ids = [writer.lines_and_ids(pa.record_batch([part], schema), first)[1] for first, part in enumerate(IDS)]
    assert ids == [LineIds(1, 4, None), LineIds(1, 1, (3, 1))]


IDS = [pa.array(["ab\n", "b"]), pa.array(["c", "b"])]


@UNWARNED
def test_the_command_writes_what_python_would(tmp_path: Path) -> None:
    rows = 3000
    samples = pa.table(
        {
            "question": [f'"{n}"\t\u2028é\\' for n in range(rows)],
            "meta": [{"n": n, "x": None if n % 2 else float("nan")} for n in range(rows)],
            "day": pa.array(range(rows), pa.int32()).view(pa.date32()),
        }
    )
    pq.write_table(samples, tmp_path / "samples.parquet")
    turns = [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
    config = {
        "prompt_template": {"template": {"begin": ["Be kind."], "round": [{"role": "HUMAN", "prompt": "{question}"}]}},
        "meta_template": {"begin": "Hello", "round": turns},
    }
    (tmp_path / "job.json").write_text(json.dumps(config), encoding="utf-8")
    line = ["render", f"{tmp_path}/job.json", "--data", f"{tmp_path}/samples.parquet", "--keep", "all", "--quiet"]
    for name in ("out.jsonl", "out.parquet"):
        assert main([*line, "--out", f"{tmp_path}/{name}", "--batch-size", "700"]) == 0
    expected = json_lines(pq.read_table(tmp_path / "out.parquet"))
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == expected
    assert '"Hello"' in expected
