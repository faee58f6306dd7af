"""No character that can't be seen, or that steers what shows it, is shown as it is: of all that Unicode has."""

from __future__ import annotations

import time
import unicodedata

import promptpress as pp
import pyarrow as pa
from promptpress_workbench.prompts.escapes import one_line, printable, runs
from promptpress_workbench.prompts.layout import Fragment, Layout, wrapped
from promptpress_workbench.prompts.prompt import Piece

# Unicode's Default_Ignorable_Code_Point but for variation selectors, which emoji have.
IGNORABLE = {
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
    *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
}  # fmt: skip
HIDDEN = IGNORABLE | {code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")}


def test_hidden_characters_are_escaped_in_texts() -> None:
    for code in HIDDEN - {9, 10}:
        assert [is_escape for *_, is_escape in runs(chr(code))] == [True], hex(code)


def test_hidden_characters_are_escaped_in_names_and_messages() -> None:
    for code in HIDDEN:
        for write in (one_line, printable):
            assert write(chr(code)).isascii(), hex(code)
            assert write(chr(code)).startswith("\\"), hex(code)


def test_a_row_of_variation_selectors_is_seen() -> None:
    heart = "\u2764\ufe0f"
    assert one_line(heart * 3) == heart * 3
    assert one_line(f"{heart}\ufe00\ufe01") == heart + r"\ufe00\ufe01"
    assert "".join(piece for piece, *_ in runs("a\ufe01\ufe02\ufe0fb")) == "a\ufe01" + r"\ufe02\ufe0fb"


def test_a_name_in_statistics() -> None:
    table = pp.stats(pp.Renderer("{a\u3164\u1160}"), pa.table({"a\u3164\u1160": ["x"]}))
    assert r"a\u3164\u1160" in str(table)
    assert "\u3164" not in str(table) + table._repr_html_()


def test_many_lines_take_a_time_that_grows_with_their_number() -> None:
    begin = time.perf_counter()
    assert sum(1 for _ in wrapped([Fragment("x\n" * 1_000_000)])) == 1_000_001
    assert sum(1 for _ in Layout(80).text([Piece("x\n" * 100_000)])) == 100_001
    assert time.perf_counter() - begin < 30  # minutes, where each line copies the rest
