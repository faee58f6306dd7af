"""Programs that only copy beside the general evaluator: the same texts, and the same errors for malformed columns."""

from __future__ import annotations

import random
import sys
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import promptpress._core as _core
from generators import drawn_programs
from jinja.running import GIVEN_UP, compiled, run
from models import jinja_model as model
from promptpress import RenderError
from promptpress._jinja.compiler.program import Program

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
STRIPPED = (("lit", "<"), ("emit", 2), ("lit", ">"))
TWO = (("lit", "a"), ("emit", 0), ("emit", 1))
BRANCHED = (("if", 3, (("lit", "["), ("emit", 0), ("lit", "]")), (("lit", "none"),)), ("emit", 1))
NEVER = (("if", 5, (("emit", 0),), ()), ("lit", "x"), ("emit", 1))
NODES = (
    ("column", 0),
    ("column", 1),
    ("strip", 0, None),
    ("truth", 0),
    ("eq", 0, 1),
    ("const", False),
    ("item", 0, ("const", 0)),
)


def general(program: Program) -> Program:
    """The same, with a step that is no copy and writes nothing."""
    last = len(program.nodes)
    nodes = (*program.nodes, ("const", "A"), ("lower", last))
    return Program(program.columns, nodes, (*program.block, ("check", last + 1)), program.reasons)


def both_ways(program: Program, table: pa.Table) -> list[str]:
    """The texts of a table's rows, which are the same in both ways."""
    texts = run(program, table)
    assert texts == run(general(program), table)
    return texts


def fault(program: Program, table: pa.Table) -> tuple[Any, ...]:
    """Return what is wrong with a table."""
    with pytest.raises(RenderError) as caught:
        _core.render_jinja([compiled(program)], None, table, "string", lambda rows: [""] * len(rows))
    return caught.value.code, caught.value.row, caught.value.column, caught.value.message


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_both_ways(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        table = drawn_programs.table(rng, 200)
        for _ in range(8):
            both_ways(drawn_programs.flat_program(rng), table)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("strip", ["strip", "lstrip", "rstrip"])
def test_each_white_space_is_stripped(layout: pa.DataType, strip: str) -> None:
    assert len(SPACES) == 29
    no_spaces = ["\u200b", "\ufeff", "\x1b", "\x7f", "\u180e", "é", "日"]
    ends = [*SPACES, *no_spaces, "".join(SPACES), "".join(reversed(SPACES))]
    texts = [f"{end}{inner}{end}" for end in ends for inner in ("", "a", "é", "a b", "日 本\u2003é")]
    program = Program(("q",), (("column", 0), (strip, 0, None)), (("lit", "<"), ("emit", 1), ("lit", ">")))
    table = pa.table({"q": pa.array(["before", *texts, "behind"], layout).slice(1, len(texts))})
    assert both_ways(program, table) == [f"<{getattr(text, strip)()}>" for text in texts]


def test_white_space_of_items_of_lists() -> None:
    rows = [[f"{space}a{space}", "b", f"{space}"] for space in SPACES] + [["x"], [], None, ["\n", " c", "d", "e"]]
    nodes = (
        ("column", 0),
        ("const", 0),
        ("item", 0, 1),
        ("const", 1),
        ("item", 0, 3),
        ("strip", 2, None),
        ("rstrip", 4, None),
    )
    program = Program(("l",), nodes, (("emit", 5), ("lit", "|"), ("emit", 6)))
    for layout in (pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_view(pa.string_view())):
        texts = both_ways(program, pa.table({"l": pa.array(rows, layout)}))
        expected = [model.run(program, {"l": row}) for row in rows]
        assert texts == [GIVEN_UP if isinstance(text, model.Bailed) else text for text in expected]


def test_conditions_on_nulls_and_on_other_types() -> None:
    columns: dict[str, pa.Array] = {
        "t": pa.array(["", "a", None, "1", "é"] * 40),
        "i": pa.array([0, 1, None, -1, 2**40] * 40),
        "f": pa.array([0.0, -0.0, float("nan"), None, 1.0] * 40),
        "b": pa.array([True, False, None, True, False] * 40),
    }
    table = pa.table(columns)
    sides: list[tuple[Any, ...]] = [("column", column) for column in range(4)]
    sides += [("const", value) for value in ("", "a", "é", 0, 1, 1.0, True, False, None)]
    for left in range(4):
        for right in range(len(sides)):
            for test in ("eq", "ne"):
                nodes = (*sides, (test, left, right), ("select", 13, 0, left))
                block = (("if", 13, (("lit", "yes"), ("emit", 0)), (("lit", "no"),)), ("lit", "/"), ("emit", 14))
                program = Program(tuple(columns), nodes, block)
                expected = [model.run(program, row) for row in table.slice(0, 5).to_pylist()]
                assert both_ways(program, table) == expected * 40


def test_branches_in_branches() -> None:
    rng = random.Random(5)
    table = pa.table({name: pa.array([rng.random() < 0.5 for _ in range(300)]) for name in "abc"})
    inner = ("if", 2, (("lit", "c"), ("emit", 2)), (("lit", "-"),))
    block = (("if", 0, (("if", 1, (("lit", "b"), inner), (inner,)), ("lit", "!")), (inner, ("lit", "?"))), inner)
    program = Program(("a", "b", "c"), (("column", 0), ("column", 1), ("column", 2)), block)
    assert both_ways(program, table) == [model.run(program, row) for row in table.to_pylist()]


def test_more_branches_than_are_looked_at_beforehand() -> None:
    table = pa.table({"a": [True, False, None] * 50})
    for many in (31, 32, 33, 64, 65, 200):
        program = Program(("a",), (("column", 0),), (("if", 0, (("lit", "x"),), (("lit", "y"),)),) * many)
        assert both_ways(program, table) == ["x" * many, "y" * many, "y" * many] * 50


def damaged(rows: list[bytes], width: int = 32) -> pa.Array:
    """Strings of any bytes."""
    binary = pa.array(rows, pa.binary() if width == 32 else pa.large_binary())
    return pa.Array.from_buffers(pa.string() if width == 32 else pa.large_string(), len(rows), binary.buffers())


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize(
    "bad", [b"\xff", b" \x80 ", b"\xe2\x80", b"\xe2\x80 ", b" \xa0", b"ab\xf0\x9f\x98", b"\xed\xa0\x80"]
)
@pytest.mark.parametrize("block", [STRIPPED, TWO, BRANCHED, NEVER])
def test_bytes_that_are_no_text_are_the_same_error(width: int, bad: bytes, block: tuple[Any, ...]) -> None:
    for row in (0, 70, 199):
        for fill in (b"plain", "é".encode(), b""):
            rows = [fill] * 200
            rows[row] = bad
            good = pa.array(["b"] * 200)
            program = Program(("q", "r"), NODES[:6], block)
            for table in (
                pa.table({"q": damaged(rows, width), "r": good}),
                pa.table({"q": good, "r": damaged(rows, width)}),
            ):
                error = fault(program, table)
                assert error == fault(general(program), table)
                assert error[:2] == ("invalid_utf8", row)


def test_characters_that_two_rows_share_are_the_same_error() -> None:
    first, second = ([b"x"] * 100 for _ in range(2))
    first[50], second[50] = b"\xe6\x97", b"\xa5"
    program = Program(("q", "r"), NODES[:6], (("emit", 0), ("emit", 1)))
    for rows in ({"q": first, "r": second}, {"q": [*first[:50], b"\xe6", b"\x97\xa5", *first[52:]], "r": [b"y"] * 100}):
        table = pa.table({name: damaged(values) for name, values in rows.items()})
        for block in ((("emit", 0), ("emit", 1)), STRIPPED, TWO, BRANCHED):
            changed = Program(program.columns, program.nodes, block)
            assert fault(changed, table) == fault(general(changed), table)


def test_items_that_nobody_copies_are_texts_too() -> None:
    nodes = (("column", 0), ("const", 0), ("item", 0, 1), ("strip", 2, None))
    for item in range(3):
        rows = [b"a", b"b", b"c"] * 100
        rows[150 + item] = b"\xff"
        table = pa.table({"l": pa.ListArray.from_arrays(list(range(0, 301, 3)), damaged(rows))})
        for node in (2, 3):
            program = Program(("l",), nodes, (("emit", node),))
            assert fault(program, table) == fault(general(program), table)
            assert fault(program, table)[:2] == ("invalid_utf8", 50)
