"""Arrow arrays that lie about themselves: an error, whatever reads them, and never the end of the process.

pyarrow checks the buffers of what it makes; so each array is made sound, and its bytes are changed afterwards, as they
are in a file that someone else has written. Random ones are in `tests/fuzz`.
"""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from marks import UNWARNED

pytestmark = UNWARNED  # texts stand where lists should, among other things


@dataclass
class Bytes:
    """Buffers that are sound until `break_them`."""

    later: list[tuple[bytearray, bytes]] = field(default_factory=list)

    def numbers(self, kind: str, sound: list[int], broken: list[int]) -> pa.Buffer:
        memory = bytearray(struct.pack(f"<{len(sound)}{kind}", *sound))
        self.later.append((memory, struct.pack(f"<{len(broken)}{kind}", *broken)))
        return pa.py_buffer(memory)

    def break_them(self) -> None:
        for memory, broken in self.later:
            memory[:] = broken


TEXT = pa.py_buffer(b"abcdef")
THREE = pa.array(["x", "y", "z"])
FAR = 1_000_000
ENDS = {"last": [0, 2, FAR], "middle": [0, FAR, 4], "descending": [0, 4, 2], "negative": [0, -1, 4]}


def strings(make: Bytes, ends: list[int], kind: pa.DataType, width: str) -> pa.Array:
    return pa.Array.from_buffers(kind, 2, [None, make.numbers(width, [0, 2, 4], ends), TEXT])


def lists(make: Bytes, ends: list[int], items: pa.Array = THREE) -> pa.Array:
    offsets = make.numbers("i", [0, 1, 2], ends)
    return pa.Array.from_buffers(pa.list_(items.type), 2, [None, offsets], children=[items])


def views(make: Bytes, length: int, buffer: int, start: int) -> pa.Array:
    memory = bytearray(struct.pack("<i4sii", 4, b"abcd", 0, 0) * 2)
    make.later.append((memory, struct.pack("<i4sii", length, b"abcd", buffer, start) * 2))
    return pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(memory), TEXT])


def keys(make: Bytes, broken: list[int]) -> pa.Array:
    indices = pa.Array.from_buffers(pa.int8(), 2, [None, make.numbers("b", [0, 0], broken)])
    return pa.DictionaryArray.from_arrays(indices, pa.array(["p"]), safe=False)


def list_views(make: Bytes, starts: list[int], sizes: list[int]) -> pa.Array:
    buffers = [None, make.numbers("i", [0, 1], starts), make.numbers("i", [1, 1], sizes)]
    return pa.Array.from_buffers(pa.list_view(pa.string()), 2, buffers, children=[THREE])


def runs(make: Bytes, ends: list[int]) -> pa.Array:
    run_ends = pa.Array.from_buffers(pa.int32(), 2, [None, make.numbers("i", [1, 2], ends)])
    return pa.Array.from_buffers(pa.run_end_encoded(pa.int32(), pa.string()), 2, [None], children=[run_ends, THREE[:2]])


def union(make: Bytes, kinds: list[int], starts: list[int]) -> pa.Array:
    buffers = [None, make.numbers("b", [0, 0], kinds), make.numbers("i", [0, 0], starts)]
    kind = pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())])
    return pa.Array.from_buffers(kind, 2, buffers, children=[pa.array([1]), pa.array(["x"])])


def pairs(make: Bytes, ends: list[int]) -> pa.Array:
    fields = [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())]
    entries = pa.StructArray.from_arrays([pa.array(["a", "b"]), pa.array([1, 2])], fields=fields)
    buffers = [None, make.numbers("i", [0, 1, 2], ends)]
    return pa.Array.from_buffers(pa.map_(pa.string(), pa.int64()), 2, buffers, children=[entries])


BROKEN: dict[str, Callable[[Bytes], pa.Array]] = {
    "view length": lambda make: views(make, FAR, 0, 0),
    "view buffer": lambda make: views(make, 20, 7, 0),
    "view negative": lambda make: views(make, -20, -7, -9),
    "key": lambda make: keys(make, [5, 0]),
    "negative key": lambda make: keys(make, [-1, 0]),
    "list view start": lambda make: list_views(make, [0, FAR], [1, 2]),
    "list view size": lambda make: list_views(make, [0, 1], [-1, FAR]),
    "runs too short": lambda make: runs(make, [2, 1]),
    "negative run": lambda make: runs(make, [-3, 2]),
    "union kind": lambda make: union(make, [7, 0], [0, 0]),
    "union place": lambda make: union(make, [0, 1], [0, FAR]),
    "dictionary's values": lambda make: pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), strings(make, ENDS["middle"], pa.string(), "i"), safe=False
    ),
}
for _name, _ends in ENDS.items():
    BROKEN[f"string {_name}"] = lambda make, ends=_ends: strings(make, ends, pa.string(), "i")
    BROKEN[f"binary {_name}"] = lambda make, ends=_ends: strings(make, ends, pa.binary(), "i")
    BROKEN[f"large string {_name}"] = lambda make, ends=_ends: strings(make, ends, pa.large_string(), "q")
    BROKEN[f"list {_name}"] = lambda make, ends=_ends: lists(make, ends)
    BROKEN[f"map {_name}"] = lambda make, ends=_ends: pairs(make, ends)
    BROKEN[f"integers {_name}"] = lambda make, ends=_ends: lists(make, ends, pa.array([0, 1, 2]))
    BROKEN[f"items {_name}"] = lambda make, ends=_ends: pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), strings(make, ends, pa.string(), "i")
    )
    BROKEN[f"field {_name}"] = lambda make, ends=_ends: pa.StructArray.from_arrays([lists(make, ends)], ["f"])

TURNS = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
SHOTS = {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"}
READER = {"input_columns": ["question"], "output_column": "label"}
FEW_SHOT = pa.table({"question": ["1", "2", "3"], "answer": ["a", "b", "c"], "label": ["l", "m", "n"]})


def few_shot(table: pa.Table, retriever: dict[str, Any]) -> object:
    return pp.Renderer(SHOTS, "{question}{answer}", retriever, examples=table, reader=READER).render(FEW_SHOT)


def by_column(table: pa.Table) -> object:
    retriever = {"type": "IndexColumn", "column": "answer"}
    return pp.Renderer(SHOTS, "{question}", retriever, examples=FEW_SHOT, reader=READER).render(table)


def multi_turn(table: pa.Table) -> object:
    inferencer = {"type": "MultiTurnGenInferencer", "infer_mode": "last"}
    template = {"type": "MultiTurnPromptTemplate", "template": TURNS}
    return pp.Renderer(template, inferencer=inferencer, dialect="aisbench").render(table)


def chat(table: pa.Table, column: str) -> object:
    reader = {"input_columns": [column], "output_column": "answer"}
    return pp.Renderer(inferencer={"type": "ChatInferencer"}, reader=reader).render(table)


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches()


DOORS: dict[str, Callable[[pa.Table], object]] = {
    "render": lambda table: pp.Renderer("{question}{answer}").render(table).validate(full=True),
    "stream": lambda table: pp.Renderer("{question}{answer}").stream(batches(table)).read_all(),
    "call": lambda table: pp.Renderer("{question}{answer}")(table.to_batches()[0]),
    "views": lambda table: pp.Renderer(TURNS, output="prompt_list", strings="string_view").render(table),
    "divergence": lambda table: pp.Renderer("{question}{answer}").divergence(table),
    "explain": lambda table: pp.Renderer("{question}{answer}").explain(table, 1),
    "keep": lambda table: pp.Renderer("{question}").render(table, keep=["answer"]),
    "keep repeated": lambda table: pp.Renderer("{question}", mode="ppl", labels=["a", "b"]).render(table, ["answer"]),
    "labels": lambda table: pp.Renderer("{question}", mode="ppl", reader={"output_column": "answer"}).render(table),
    "fixed examples": lambda table: few_shot(table, {"type": "FixKRetriever", "fix_id_list": [1, 0]}),
    "random examples": lambda table: few_shot(table, {"type": "RandomRetriever", "ice_num": 1}),
    "examples in chunks": lambda table: few_shot(
        pa.concat_tables([table, table]), {"type": "FixKRetriever", "fix_id_list": [3, 1]}
    ),
    "index column": by_column,
    "multi-turn": multi_turn,
    "multi-turn beside other lists": lambda table: multi_turn(
        table.set_column(0, "question", pa.array([["q"] * 3] * len(table)))
    ),
    "chat's question": lambda table: chat(table, "answer"),
    "chat's answer": lambda table: chat(table, "question"),
    "raw messages": lambda table: pp.Renderer(
        {
            "type": "RawPromptTemplate",
            "messages": [{"role": "user", "content": "{answer}"}, {"expand_column": "answer"}],
        }
    ).render(table),
}


def table_of(array: pa.Array) -> pa.Table:
    return pa.table({"question": ["1", "2"], "answer": array, "label": ["l", "m"]})


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("door", DOORS)
def test_a_malformed_column_is_an_error_or_a_column_that_nobody_reads(broken: str, door: str) -> None:
    make = Bytes()
    table = table_of(BROKEN[broken](make))
    make.break_them()
    message = ""
    try:
        DOORS[door](table)
    except (pp.TemplateError, pp.RenderError) as error:
        message = str(error)
    assert "internal error" not in message


@pytest.mark.parametrize("broken", [f"{kind} last" for kind in ("string", "binary", "large string", "list", "items")])
def test_memory_after_the_buffers_of_a_column_is_not_read(broken: str) -> None:
    make = Bytes()
    table = table_of(BROKEN[broken](make))
    make.break_them()
    with pytest.raises(pp.RenderError, match=r'column "answer": the Arrow array is malformed'):
        pp.Renderer("{question}").render(table)


def test_types_nested_without_end_are_refused() -> None:
    array = pa.array([1])
    for _ in range(400):
        array = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), array)
    with pytest.raises(pp.RenderError, match=r'column "a": its type is nested more than 128 deep'):
        pp.Renderer("{b}").render(pa.table({"a": array, "b": [1]}))


def test_a_dictionary_at_an_odd_address_is_copied() -> None:
    raw = b"\0" + struct.pack("<3i", 0, 2, 4)
    values = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(raw).slice(1), pa.py_buffer(b"abcd")])
    flat = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), values)
    nested = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), flat)
    table = pa.table({"flat": flat, "nested": nested})
    assert pp.Renderer("{flat} {nested}").render(table)["prompt"].to_pylist() == ["cd ['cd']", "ab ['ab']"]


@pytest.mark.parametrize("make", [strings, lists], ids=["strings", "lists"])
def test_offsets_where_other_columns_chunks_end_are_looked_at(make: Callable[..., pa.Array]) -> None:
    buffers = Bytes()
    middle = [0, FAR, 2]
    array = make(buffers, middle, pa.string(), "i") if make is strings else make(buffers, middle)
    samples = pa.table({"q": pa.chunked_array([["1"], ["2"]]), "answer": pa.chunked_array([array])})
    tables = (samples, samples.slice(0, 1), samples.select(["answer"]).slice(0, 1))
    buffers.break_them()
    for table in tables:
        for verb in ("render", "divergence", "stream"):
            with pytest.raises(pp.RenderError, match="malformed"):
                list(getattr(pp.Renderer("{answer}"), verb)(table))


def test_renderers_with_values_that_python_can_t_have_are_compared() -> None:
    values = [pa.array([1.5]), pa.array([2**62], pa.int64()).view(pa.timestamp("s"))]
    examples = pa.table({"x": pa.StructArray.from_arrays(values, ["f", "t"])})
    renderer = pp.Renderer("a", examples=examples)
    assert pickle.loads(pickle.dumps(renderer)) == renderer
    others = pa.StructArray.from_arrays([pa.array([2.5]), values[1]], ["f", "t"])
    assert pp.Renderer("a", examples=pa.table({"x": others})) != renderer


def test_structs_within_structs_are_cut_where_other_columns_chunks_end() -> None:
    inner = pa.array([{"x": n} for n in range(6)])
    outer = pa.StructArray.from_arrays([pa.array(range(6)), inner], ["d", "e"])
    questions = pa.chunked_array([["a", "b"], ["c", "d", "e", "f"]])
    samples = pa.table({"q": questions, "s": pa.chunked_array([outer])})
    expected = [f"{row['q']} {row['s']}" for row in samples.to_pylist()]
    assert pp.Renderer("{q} {s}").render(samples)["prompt"].to_pylist() == expected


@pytest.mark.parametrize(
    "empty", [pa.array([b"", b"", None], pa.binary(0)), pa.array([[], [], None], pa.list_(pa.int64(), 0))], ids=str
)
def test_values_that_take_no_room(empty: pa.Array) -> None:
    train = pa.table({"question": ["q", "r", "s"], "label": ["l", "m", "n"], "answer": empty})
    values = [str(value) for value in empty.to_pylist()]
    assert pp.Renderer("{answer}").render(train)["prompt"].to_pylist() == values
    retriever = {"type": "FixKRetriever", "fix_id_list": [2, 1]}
    table = pp.Renderer(SHOTS, "{question}{answer}", retriever, examples=train, reader=READER).render(FEW_SHOT)
    assert table["prompt"][0].as_py() == f"s{values[2]}\nr{values[1]}\n1"


def test_runs_within_other_types_are_repeated() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 7], pa.array(["a", None, "b"]))
    kept = pa.StructArray.from_arrays([runs, pa.array(range(7))], ["r", "n"]).slice(1, 5)
    samples = pa.table({"q": ["x"] * 5, "kept": kept})
    table = pp.Renderer("{q}", mode="ppl", labels=["A", "B"]).render(samples, keep=["kept"])
    assert table["kept"].to_pylist() == [value for value in kept.to_pylist() for _ in "AB"]


@pytest.mark.parametrize("nested", [False, True])
def test_an_array_that_starts_before_its_buffers_is_refused(nested: bool) -> None:
    buffers = pa.array([1, 2, 3]).buffers()
    array = pa.Array.from_buffers(pa.int64(), 2, buffers, offset=-(2**40))
    if nested:
        array = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), array)
    with pytest.raises(pp.RenderError, match="starts before its buffers"):
        pp.Renderer("{n}").render(pa.Table.from_arrays([array], ["n"]))


def test_an_array_that_starts_after_its_buffers_is_refused() -> None:
    items = pa.Array.from_buffers(pa.decimal256(76, 40), 0, [None, pa.py_buffer(b"")], offset=2**20)
    zeros = pa.py_buffer(bytes(8))
    array = pa.Array.from_buffers(pa.list_view(items.type), 2, [None, zeros, zeros], children=[items])
    with pytest.raises(pp.RenderError, match="starts behind its buffers"):
        pp.Renderer("{n}").render(pa.Table.from_arrays([array], ["n"]))
    empty = pa.array([1, 2, 3]).slice(3)
    assert pp.Renderer("{n}").render(pa.Table.from_arrays([empty], ["n"])).num_rows == 0


def test_a_name_that_is_no_text_is_refused() -> None:
    schema = pa.schema([pa.field("name", pa.int64())])
    data = pa.Table.from_arrays([pa.array([1])], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(data)
    broken = sink.getvalue().to_pybytes().replace(b"name", b"\xd5ame")
    with pa.ipc.open_stream(broken) as reader:
        table = reader.read_all()
    renderer = pp.Renderer("{n}")
    call = lambda table: renderer(table.to_batches()[0])  # noqa: E731
    stream = lambda table: renderer.stream(table).read_all()  # noqa: E731
    noted = lambda table: renderer.notes(table.schema)  # noqa: E731
    for verb in (renderer.render, renderer, call, renderer.divergence, stream, renderer.notes, noted):
        with pytest.raises(pp.RenderError, match="isn't UTF-8"):
            verb(table)


@pytest.mark.parametrize("on_pool", [False, True])
def test_a_panic_is_an_error_that_asks_for_a_report_and_prints_nothing(on_pool: bool) -> None:
    program = f"""
from promptpress import RenderError, _core
import promptpress, pyarrow
for _ in range(2):
    try:
        _core.panicking({on_pool})
    except RenderError as error:
        print(error)
print(promptpress.Renderer("{{q}}").render(pyarrow.table({{"q": ["still there"] * 100}}))["prompt"][99])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, last = done.stdout.splitlines()
    assert first == second
    assert first.startswith("internal error: on purpose (src/python/detach.rs:")
    assert "please report it" in first
    assert last == "still there"
    with pytest.raises(pp.RenderError, match="internal error"):
        _core.panicking(on_pool)
