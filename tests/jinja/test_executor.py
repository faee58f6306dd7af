"""Programs over tables: random ones beside the model, every layout, and what is refused."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import promptpress._core as _core
from generators import drawn_programs
from jinja.running import GIVEN_UP, ONE_ROW, compiled, run
from models import jinja_model as model
from promptpress import RenderError
from promptpress._jinja.compiler.program import Program

GIVEN = Program(("q", "a"), (("column", 0), ("column", 1), ("strip", 0, None)), (("lit", "Q: "), ("emit", 2)))


def counted(program: Program, table: pa.Table) -> Counter[str]:
    """Hold the core against the model over a table; how many rows went which way."""
    counts: Counter[str] = Counter()
    rows = table.to_pylist()
    for row, core in zip(rows, run(program, table), strict=True):
        expected = model.run(program, row)
        if isinstance(expected, model.Bailed):
            assert core == GIVEN_UP, (program, row, core)
            counts["bailed"] += 1
        elif core == GIVEN_UP:
            counts["given up"] += 1
        else:
            assert core == expected, (program, row)
            counts["rendered"] += 1
    return counts


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_over_random_tables(seed: int) -> None:
    rng = random.Random(seed)
    total: Counter[str] = Counter()
    for _ in range(12):
        table = drawn_programs.table(rng, 12)
        for _ in range(10):
            total += counted(drawn_programs.program(rng), table)
    assert total["rendered"] > 500
    # Numbers of more than 64 bits are left to the reference, and little else.
    assert total["given up"] < total["rendered"] / 10


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_that_only_copy(seed: int) -> None:
    rng = random.Random(seed)
    total: Counter[str] = Counter()
    for _ in range(10):
        table = drawn_programs.table(rng, 150)
        for _ in range(8):
            total += counted(drawn_programs.flat_program(rng), table)
    assert total["rendered"] > 2000
    assert total["given up"] == 0


@pytest.mark.full
def test_many_random_programs_over_random_tables() -> None:
    rng = random.Random(99)
    for _ in range(400):
        table = drawn_programs.table(rng, 20)
        for _ in range(10):
            counted(drawn_programs.program(rng), table)
        counted(drawn_programs.flat_program(rng), table)


def test_each_row_by_the_program_of_its_index() -> None:
    rng = random.Random(4)
    table = drawn_programs.table(rng, 400)
    for drawn in (drawn_programs.program, drawn_programs.flat_program):
        programs = [drawn(rng) for _ in range(5)]
        which = [rng.randrange(6) for _ in range(table.num_rows)]
        bailed_rows: list[int] = []

        def reference(rows: list[int], bailed_rows: list[int] = bailed_rows) -> list[str]:
            bailed_rows.extend(rows)
            return [f"<{row}>" for row in rows]

        arrays, counts, *_ = _core.render_jinja(
            [*map(compiled, programs), None], pa.array(which, pa.uint32()), table, "large_string", reference
        )
        assert bailed_rows == sorted(set(bailed_rows))
        texts = [text for array in arrays for text in array.to_pylist()]
        expected: Counter[tuple[int, int]] = Counter()
        for row, (values, number, text) in enumerate(zip(table.to_pylist(), which, texts, strict=True)):
            if row in bailed_rows:
                assert text == f"<{row}>"
                bailed = model.run(programs[number], values) if number < 5 else model.Bailed(model.VALUE)
                reasons = {"first": 0, "second": 1}
                reason = bailed.reason if isinstance(bailed, model.Bailed) else model.VALUE
                expected[number, reasons.get(reason, 2**32 - 1)] += 1
            else:
                assert text == model.run(programs[number], values)
        assert {(program, reason): rows for program, reason, rows in counts} == expected
        assert bailed_rows


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_texts_come_in_the_given_layout(strings: str) -> None:
    table = pa.table({"q": [" a ", "é" * 30, ""], "a": [1, 2, 3]})
    for block in (GIVEN.block, (("lit", "Q: "), ("emit", 0), ("emit", 1))):
        program = Program(GIVEN.columns, GIVEN.nodes, block)
        arrays, *_ = _core.render_jinja([compiled(program)], None, table, strings, list)
        [array] = arrays
        array.validate(full=True)
        assert array.type == {"string": pa.string(), "large_string": pa.large_string()}.get(strings, pa.string_view())
        assert array.to_pylist() == [model.run(program, row) for row in table.to_pylist()]


def test_a_table_without_rows() -> None:
    table = pa.table({"q": pa.array([], pa.string()), "a": pa.array([], pa.int64())})
    for program in (GIVEN, Program(GIVEN.columns, GIVEN.nodes, (("emit", 0),))):
        arrays, counts, *_ = _core.render_jinja([compiled(program)], None, table, "string", list)
        assert (sum(map(len, arrays)), counts) == (0, [])
    groups, keys, first = _core.jinja_keys(compiled(GIVEN), [0], table)
    assert (groups.to_pylist(), keys, first) == ([], [], [])


def test_rows_that_are_given_up_are_the_references() -> None:
    table = pa.table({"q": pa.chunked_array([["a", None], [None, "b"]]), "a": [1, 2, 3, 4]})

    def arrays(reference: Any) -> list[str]:
        out, counts, *_ = _core.render_jinja([compiled(GIVEN)], None, table, "string", reference)
        assert counts == [(0, 2**32 - 1, 2)]
        return [text for array in out for text in array.to_pylist()]

    assert arrays(lambda rows: [f"é{row}" for row in rows]) == ["Q: a", "é1", "é2", "Q: b"]
    with pytest.raises(RenderError, match="0 texts came for 1 rows"):
        arrays(lambda _: [])
    with pytest.raises(ZeroDivisionError):
        arrays(lambda _: 1 // 0)
    with pytest.raises(UnicodeEncodeError):
        arrays(lambda _: ["\ud800"])
    with pytest.raises(TypeError):
        arrays(lambda _: [None])


def test_rows_are_grouped_by_the_values_of_nodes() -> None:
    nodes = (("column", 0), ("length", 0), ("column", 1), ("column", 2))
    program = compiled(Program(("l", "i", "s"), nodes, ()))
    rows: dict[str, Any] = {"l": [["a"], [], None, ["b"], ["a", "b"]], "i": [1, 1, 2, 1, True], "s": ["x"] * 5}
    table = pa.table({**rows, "i": pa.array([1, 1, 2, 1, 1])})
    groups, keys, first = _core.jinja_keys(program, [1, 2], pa.concat_tables([table, table]))
    assert (groups.type, groups.to_pylist()) == (pa.uint32(), [0, 1, 2, 0, 3] * 2)
    assert (keys, first) == ([(1, 1), (0, 1), (-1, 2), (2, 1)], [0, 1, 2, 4])
    assert _core.jinja_keys(program, [3], table)[1] == [(-1,)]
    assert _core.jinja_keys(program, [], table)[1:] == ([()], [0])


def nested(operation: str, depth: int) -> list[tuple[Any, ...]]:
    nodes: list[tuple[Any, ...]] = [("const", "a")]
    for _ in range(depth):
        last = len(nodes) - 1
        nodes.append((operation, last, last))
    return nodes


@pytest.mark.parametrize(
    ("operation", "end"),
    [("concat", ()), ("list", ("text",)), ("list", ("tojson",)), ("list", ("eq",)), ("add", ()), ("join", ())],
)
def test_what_grows_without_end_is_given_up(operation: str, end: tuple[str, ...]) -> None:
    """Each level is twice the one before, or holds it twice."""
    nodes = nested(operation if operation != "join" else "list", 200)
    last = len(nodes) - 1
    if operation == "join":
        nodes = [("const", ["ab"] * 9)]
        for _ in range(80):
            nodes += [("join", "abc" * 9, len(nodes) - 1), ("chars", len(nodes))]
        last = len(nodes) - 2
    for name in end:
        # What is equal is compared to its end.
        other = nested("list", 200)
        offset = len(nodes)
        nodes += [
            (node[0], *(operand + offset for operand in node[1:])) if node[0] == "list" else node for node in other
        ]
        nodes.append((name, last, len(nodes) - 1) if name == "eq" else (name, last))
        last = len(nodes) - 1
    start = time.monotonic()
    assert run(Program((), tuple(nodes), (("emit", last),)), ONE_ROW) == [GIVEN_UP]
    assert time.monotonic() - start < 10


def test_as_deep_as_programs_may_be() -> None:
    deep = [("const", "a"), *(("upper", n) for n in range(256))]
    assert run(Program((), tuple(deep), (("emit", 256),)), pa.table({"unused": range(100)})) == ["A"] * 100
    deep = [("column", 0), *(("list", n) for n in range(250))]
    table = pa.table({"c": range(100)})
    assert run(Program(("c",), tuple(deep), (("emit", 250),)), table)[7] == "[" * 250 + "7" + "]" * 250
    block: list[Any] = [("lit", "x")]
    for _ in range(250):
        block = [("if", 0, block, [])]
    assert run(Program((), (("const", True),), tuple(block)), ONE_ROW) == ["x"]


@pytest.mark.parametrize(
    ("nodes", "block", "message"),
    [
        ([("upper", 0)], [], "nodes\\[0\\]: the operand 0 is none of the 0 nodes before it"),
        ([("const", "a"), ("uper", 0)], [], 'nodes\\[1\\]: there is no operation "uper"'),
        ([("const", "a"), ("upper", 0, 0)], [], "nodes\\[1\\]: upper takes 1 operands, not 2"),
        ([("column", 1)], [], "there are 1 columns, and no number 1"),
        ([("const", 2**63)], [], "int too (big|large)"),
        ([("const", "a"), *(("upper", n) for n in range(257))], [], "nested more than 256 deep"),
        ([], [("emit", 0)], "there are 0 nodes, and no number 0"),
        ([], [("bail", 0)], "there are 0 reasons, and no number 0"),
        ([], [("emt", 0)], "a program has no"),
        ([("const",)], [], "a program has no"),
        ([()], [], "a program has no"),
        ([("const", {1})], [], "can't hold a set"),
    ],
)
def test_programs_are_checked(nodes: list[Any], block: list[Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        _core.JinjaProgram(["c"], nodes, block, [])


def test_lists_and_blocks_within_themselves() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested more than 256 deep"):
        _core.JinjaProgram([], [("const", endless)], [], [])
    block: list[Any] = []
    block.append(("if", 0, block, []))
    with pytest.raises(ValueError, match="nested more than 256 deep"):
        _core.JinjaProgram([], [("const", 1)], block, [])


def broken_texts(texts: bytes, ends: list[int], kind: pa.DataType) -> pa.Array:
    offsets = pa.array(ends, pa.int32()).buffers()[1]
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, offsets, pa.py_buffer(texts)])


PIECES = [(("column", 0),), (("column", 0), ("strip", 0, None)), (("column", 0), ("const", 0), ("item", 0, 1))]


@pytest.mark.parametrize("nodes", PIECES[:2])
def test_texts_that_are_no_unicode(nodes: tuple[Any, ...]) -> None:
    texts = broken_texts(b"ok\xffno", [0, 2, 3, 5], pa.string())
    program = Program(("q",), nodes, (("emit", len(nodes) - 1),))
    with pytest.raises(RenderError, match="invalid UTF-8") as caught:
        run(program, pa.table({"q": texts}))
    assert (caught.value.row, caught.value.column) == (1, "q")
    with pytest.raises(RenderError, match="invalid UTF-8") as caught:
        run(program, pa.table({"q": pa.chunked_array([pa.array(["a"]), texts])}))
    assert (caught.value.row, caught.value.column) == (2, "q")


@pytest.mark.parametrize("nodes", [PIECES[2], (*PIECES[2], ("strip", 2, None))])
def test_items_that_are_no_unicode(nodes: tuple[Any, ...]) -> None:
    texts = broken_texts(b"ok\xffno", [0, 2, 3, 5], pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), texts)
    program = Program(("q",), nodes, (("emit", len(nodes) - 1),))
    with pytest.raises(RenderError, match="invalid UTF-8") as caught:
        run(program, pa.table({"q": lists}))
    assert (caught.value.row, caught.value.column) == (1, "q")
    # What nobody's list holds may be anything.
    hidden = pa.ListArray.from_arrays(pa.array([0, None, 2, 3], pa.int32()), texts)
    hidden = pa.ListArray.from_buffers(
        hidden.type, 3, [pa.py_buffer(b"\5"), pa.array([0, 1, 2, 3], pa.int32()).buffers()[1]], children=[texts]
    )
    assert run(program, pa.table({"q": hidden})) == ["ok", GIVEN_UP, "no"]


@pytest.mark.parametrize("nodes", [PIECES[2], (*PIECES[2], ("strip", 2, None))])
def test_lists_that_lead_out_of_their_items(nodes: tuple[Any, ...]) -> None:
    ends = bytearray(np.array([0, 1, 2], np.int32))
    lists = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, pa.py_buffer(ends)], children=[pa.array(["a", "b"])])
    ends[4] = 9
    program = Program(("q",), nodes, (("emit", len(nodes) - 1),))
    with pytest.raises(RenderError, match="outside its items") as caught:
        run(program, pa.table({"q": lists}))
    assert (caught.value.row, caught.value.column) == (0, "q")


def test_a_column_that_is_missing() -> None:
    for block in (GIVEN.block, (("emit", 0),)):
        with pytest.raises(RenderError, match="no such column") as caught:
            run(Program(GIVEN.columns, GIVEN.nodes, block), pa.table({"a": [1]}))
        assert caught.value.column == "q"


def test_programs_have_numbers() -> None:
    table = pa.table({"q": ["a", "b"], "a": [1, 2]})
    for which in (pa.array([0], pa.uint32()), pa.array([0, 1], pa.uint32()), pa.array([0, 0], pa.int64())):
        with pytest.raises(ValueError, match="program"):
            _core.render_jinja([compiled(GIVEN)], which, table, "string", list)
    with pytest.raises(ValueError, match="strings can't be"):
        _core.render_jinja([compiled(GIVEN)], None, table, "text", list)


def test_values_that_only_python_knows() -> None:
    zoned = pa.table(
        {"c": pa.array([1], pa.timestamp("s", "UTC")), "m": pa.array([[("k", "v")]], pa.map_("str", "str"))}
    )
    for nodes in ((("column", 0),), (("column", 0), ("kind", 0)), (("column", 0), ("truth", 0))):
        assert run(Program(("c",), nodes, (("emit", len(nodes) - 1),)), zoned) == [GIVEN_UP]
    assert run(Program(("m",), (("column", 0),), (("emit", 0),)), zoned) == ["[('k', 'v')]"]
    assert run(Program(("m",), (("column", 0), ("length", 0)), (("emit", 1),)), zoned) == [GIVEN_UP]
    field = pa.field("c", pa.string(), metadata={"ARROW:extension:name": "somebody.s"})
    foreign = pa.table([pa.array(["a"])], schema=pa.schema([field]))
    assert run(Program(("c",), (("column", 0),), (("emit", 0),)), foreign) == [GIVEN_UP]
