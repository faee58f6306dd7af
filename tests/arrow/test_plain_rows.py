"""Rows that are plain copies are checked while they are copied, block by block: what is odd about one row among many.

The oracle is Python's own `str.replace`, one column after the other, as the harnesses fill their templates.
"""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED

TEMPLATE = "Q: {q}\nA: {a}\n"
LONG = "long " * 150
ODD = ["", "é", "日本語" * 90, "{", "}", "{q}", "{a}", "x{a", "q} x", "a}", "{a}{q}", r"\frac{a}{b}", LONG]
ODD += ["{a}" + LONG]
EDGE_ROWS = [0, 1, 63, 64, 65, 1022, 1023, 1024, 1025, 2998, 2999]


def filled(template: str, row: dict[str, str]) -> str:
    for name, value in row.items():
        template = template.replace("{" + name + "}", value)
    return template


def columns(odd: dict[int, tuple[str, str]], rows: int) -> dict[str, list[str]]:
    plain = [(f"question {n}", "yes" if n % 3 else "") for n in range(rows)]
    pairs = [odd.get(n, pair) for n, pair in enumerate(plain)]
    return {"q": [q for q, _ in pairs], "a": [a for _, a in pairs]}


odd_rows = st.dictionaries(
    st.sampled_from(EDGE_ROWS), st.tuples(st.sampled_from(ODD), st.sampled_from(ODD)), max_size=4
)


@UNWARNED
@settings(deadline=None)
@given(
    odd_rows,
    st.sampled_from([TEMPLATE, "{a}{q}", "{q}", "{{q} {a}}", "nothing", "brace { {q}", LONG * 3 + "{a}"]),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]),
    st.sampled_from([1, 64, 1025, 3000]),
)
def test_odd_rows_among_plain_ones(
    odd: dict[int, tuple[str, str]], template: str, data_type: pa.DataType, rows: int
) -> None:
    texts = columns(odd, rows)
    table = pa.table({name: pa.array(values, pa.string()).cast(data_type) for name, values in texts.items()})
    want = [filled(template, dict(zip(texts, pair, strict=True))) for pair in zip(*texts.values(), strict=True)]
    assert pp.Renderer(template, substitution="harness").render(table)["prompt"].to_pylist() == want


@pytest.mark.parametrize("row", EDGE_ROWS)
@pytest.mark.parametrize("template", [TEMPLATE, LONG * 3 + "{a}{q}"])
@pytest.mark.parametrize("bad", [b"\xff", b"\xe6\x97", "日本".encode()[1:]])
def test_invalid_utf_8_is_found_in_its_row(row: int, template: str, bad: bytes) -> None:
    values = [b"plain"] * 3000
    values[row] = bad
    column = pa.array(values, pa.binary()).view(pa.string())
    with pytest.raises(pp.RenderError, match="invalid UTF-8") as caught:
        pp.Renderer(template).render(pa.table({"q": ["?"] * 3000, "a": column}))
    assert (caught.value.row, caught.value.column) == (row, "a")


@pytest.mark.parametrize("row", EDGE_ROWS)
@pytest.mark.parametrize(
    "template", ["{a}{q}", "{a}", "{q}{a}", "-{a}-{q}-", "{a}-{q}", "{a}-{q}-", "{a}" + LONG + "{q}"]
)
def test_a_character_across_two_fields_is_no_text(row: int, template: str) -> None:
    first, second = "日".encode()[:2], "日".encode()[2:]
    table = {}
    # Halves in both orders: in one row, and in rows that follow each other.
    for name, half, other in (("a", first, second), ("q", second, first)):
        values = [b"plain"] * 3000
        values[row], values[(row + 1) % 3000] = half, other
        table[name] = pa.array(values, pa.binary()).view(pa.string())
    with pytest.raises(pp.RenderError, match="invalid UTF-8"):
        pp.Renderer(template).render(pa.table(table))


@pytest.mark.parametrize("edge", [16 << 10, 48 << 10, 256 << 10])
@pytest.mark.parametrize("shift", range(-5, 6))
@pytest.mark.parametrize("fault", ["none", "two halves", "no end", "no beginning"])
def test_long_columns_are_checked_wherever_a_character_stands(edge: int, shift: int, fault: str) -> None:
    character = "𝄞".encode()
    # The first row isn't plain, so that the column is looked at before it is copied; stretch by stretch.
    values = [b"{a}", b"a" * (edge + shift - len("{a}")), b"b" * 20_000]
    values[1] += {"none": character, "two halves": character[:2], "no end": character[:3], "no beginning": b""}[fault]
    values[2] = {"none": b"", "no end": b""}.get(fault, character[2:]) + values[2]
    table = pa.table({"q": pa.array(values, pa.binary()).view(pa.string()), "a": ["yes"] * 3})
    renderer = pp.Renderer(TEMPLATE, substitution="harness")
    if fault == "none":
        want = [filled(TEMPLATE, row) for row in table.to_pylist()]
        assert renderer.render(table)["prompt"].to_pylist() == want
        return
    with pytest.raises(pp.RenderError, match="invalid UTF-8") as caught:
        renderer.render(table)
    assert (caught.value.row, caught.value.column) == (2 if fault == "no beginning" else 1, "q")


@pytest.mark.parametrize("row", [0, 1023, 2998])
def test_a_character_across_two_rows_is_no_text(row: int) -> None:
    """All bytes together are valid UTF-8 here; what two rows hold of them is not."""
    values = [b"plain"] * 3000
    values[row : row + 2] = [b"\xe6\x97", b"\xa5"]
    column = pa.array(values, pa.binary()).view(pa.string())
    with pytest.raises(pp.RenderError, match="invalid UTF-8") as caught:
        pp.Renderer(TEMPLATE).render(pa.table({"q": ["?"] * 3000, "a": column}))
    assert (caught.value.row, caught.value.column) == (row, "a")


@pytest.mark.parametrize("offsets", [[0, 5, 3, 5], [0, 900, 3, 5], [0, -3, 3, 5]])
def test_offsets_that_lead_astray(offsets: list[int]) -> None:
    data = pa.py_buffer(b"abcde")
    column = pa.StringArray.from_buffers(3, pa.array(offsets, pa.int32()).buffers()[1], data)
    with pytest.raises(pp.RenderError, match="malformed") as caught:
        pp.Renderer(TEMPLATE).render(pa.table({"q": ["?"] * 3, "a": column}))
    assert caught.value.column == "a"
