"""Findings of the core in columns for an audit are compared with plain Python over the same texts."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import heavy
from promptpress._arrow.core_tables import checked
from test_broken_arrow import BROKEN, Bytes

QUICK = settings(max_examples=part_of(150), deadline=None, database=None)

LAYOUTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.string()),
]
CODES = [*range(0x3400), *range(0x3400, 0xA000, 97), *range(0xA000, 0x20000), *range(0x20000, 0xE0000, 97)]
CODES += range(0xE0000, 0xE0FFF)
ASSIGNED = [c for c in map(chr, CODES) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
"""Characters that the running Python knows, of Han a few; the core may know more."""

WORDS = [
    "a",
    "ab",
    "b",
    "<|im_start|>",
    "<|",
    "|>",
    "é",
    "中文",
    "4",
    "40",
    " ",
    "\n",
    "\r\n",
    "\u200b",
    "\0",
    "",
    "None",
]
TEXTS = st.lists(st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=6).map("".join), st.text(max_size=6)))


def array_of(texts: list[str | None], layout: pa.DataType) -> pa.Array:
    plain = pa.array(texts, pa.string())
    if pa.types.is_run_end_encoded(layout):
        return pa.compute.run_end_encode(plain)
    return plain.cast(layout)


def in_layout(texts: list[str | None], layout: pa.DataType, offset: int) -> tuple[list[str | None], pa.Array]:
    return texts[offset:], array_of(texts, layout).slice(offset)


def rows_of_batch(batch: pa.RecordBatch, schema: dict[str, pa.DataType]) -> list[tuple[int, ...]]:
    assert batch.schema.types == list(schema.values())
    assert batch.schema.names == list(schema)
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def byte_index(text: str, index: int) -> int:
    return len(text[:index].encode())


# Texts that are looked for in every row


def expected_matches(texts: list[str | None], needles: list[str]) -> list[tuple[int, ...]]:
    out = []
    for row, text in enumerate(texts):
        for number, needle in enumerate(needles):
            if text is not None and needle and needle in text:
                start = byte_index(text, text.index(needle))
                out.append((row, number, start, start + len(needle.encode())))
    return sorted(out, key=lambda match: (match[0], match[2], match[1]))


@QUICK
@given(TEXTS, st.lists(st.sampled_from(WORDS)), st.sampled_from(LAYOUTS), st.integers(0, 3))
def test_every_needle_is_found(texts: list[str | None], needles: list[str], layout: pa.DataType, offset: int) -> None:
    texts, array = in_layout(texts, layout, offset)
    schema = {"row": pa.int64(), "needle": pa.int32(), "start": pa.int64(), "end": pa.int64()}
    assert rows_of_batch(_core.find_texts(array, needles), schema) == expected_matches(texts, needles)
    assert _core.TextFinder(needles).find(array) == _core.find_texts(array, needles)


def test_rows_are_found_in_order_on_all_threads() -> None:
    texts: list[str | None] = [f"text {n}" + " <|x|>" * (n % 97 == 0) for n in range(20_000)]
    for layout in LAYOUTS[:3]:
        batch = _core.find_texts(array_of(texts, layout), ["<|x|>", "absent"])
        assert batch["row"].to_pylist() == list(range(0, 20_000, 97))
        assert set(batch["needle"].to_pylist()) == {0}


def test_other_values_are_looked_through_as_they_are_printed() -> None:
    assert _core.find_texts(pa.array([10, None, 7]), ["0", "None"])["row"].to_pylist() == [0]
    assert _core.find_row_texts(pa.array(["so 40", "4"]), pa.array([40, 40]), True).to_pylist() == [3, None]


@QUICK
@given(TEXTS, st.sets(st.integers(0, 255)), st.sampled_from(LAYOUTS), st.integers(0, 3))
def test_beginnings_are_looked_at(texts: list[str | None], firsts: set[int], layout: pa.DataType, offset: int) -> None:
    texts, array = in_layout(texts, layout, offset)
    begins = [row for row, text in enumerate(texts) if text and text.encode()[0] in firsts]
    assert _core.begin_with(array, bytes(firsts)).to_pylist() == begins


# A text of each row's own

SPACED = "aé4 、中-"


def is_of_word(c: str) -> bool:
    return c.isalnum() and c != "中"


def expected_match(text: str | None, needle: str | None, whole_words: bool) -> int | None:
    if text is None or not needle:
        return None
    index = text.find(needle)
    while (
        whole_words and index >= 0 and any(map(is_of_word, text[index - 1 : index] + text[index + len(needle) :][:1]))
    ):
        index = text.find(needle, index + 1)
    return byte_index(text, index) if index >= 0 else None


PAIRS = st.lists(
    st.tuples(*[st.one_of(st.none(), st.text(st.sampled_from(SPACED), max_size=n)) for n in (12, 3)]), max_size=8
)


@QUICK
@given(PAIRS, st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.booleans())
def test_each_row_is_searched_for_the_text_of_the_same_row(
    pairs: list[tuple[str | None, str | None]], layout: pa.DataType, other: pa.DataType, whole_words: bool
) -> None:
    texts, needles = [text for text, _ in pairs], [needle for _, needle in pairs]
    out = _core.find_row_texts(array_of(texts, layout), array_of(needles, other), whole_words)
    assert out.type == pa.int64()
    assert out.to_pylist() == [expected_match(text, needle, whole_words) for text, needle in pairs]


def test_as_many_needles_as_texts() -> None:
    with pytest.raises(pp.RenderError, match="1 needles came for 2 texts"):
        _core.find_row_texts(pa.array(["a", "b"]), pa.array(["a"]), False)


# Characters that nobody sees

KINDS = {name: number for number, name in enumerate(_core.ODD_KINDS)}
JOINERS = "\u200c\u200d"


def is_selector(c: str) -> bool:
    return unicodedata.name(c, "").startswith(("VARIATION SELECTOR", "MONGOLIAN FREE VARIATION SELECTOR"))


def is_ignorable(c: str) -> bool:
    """`Default_Ignorable_Code_Point`, as far as Python can tell it of characters that are assigned."""
    fillers = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    never = "\ufff9\ufffa\ufffb\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    written = "\U00013430" <= c <= "\U0001345f"  # of hieroglyphs: they are seen
    return is_selector(c) or c in fillers or (unicodedata.category(c) == "Cf" and c not in never and not written)


def odd_kind(text: str, index: int) -> str | None:  # noqa: PLR0911 a line a kind
    """Return what is odd about a character of a text; one character can't show `line_end`."""
    c, before, after = text[index], text[:index][-1:], text[index + 1 :][:1]
    if unicodedata.category(c) == "Cc":
        return None if c in "\t\n\r" else "control"
    if c == "\u061c":
        return "invisible"
    if unicodedata.bidirectional(c) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"):
        return "bidi"
    if c in "\ufffd\ufeff":
        return "replacement" if c == "\ufffd" else "byte_order_mark"
    if c in JOINERS:
        joins = [
            neighbour and not neighbour.isascii() and (not is_ignorable(neighbour) or is_selector(neighbour))
            for neighbour in (before, after)
        ]
        return None if all(joins) else "invisible"
    if is_selector(c):
        varies = before in "0123456789#*" if before.isascii() else not is_ignorable(before) and not before.isspace()
        return None if before and varies else "invisible"
    return "invisible" if is_ignorable(c) or c in "\ufff9\ufffa\ufffb" else None


def odd(texts: list[str | None]) -> list[tuple[int, ...]]:
    out = []
    for row, text in enumerate(texts):
        first: dict[str, tuple[int, str]] = {}
        for index, c in enumerate(text or ""):
            kind = odd_kind(text or "", index)
            if kind:
                first.setdefault(kind, (index, c))
        ends = [(match.start(), match[0]) for match in re.finditer("\r\n|\r|\n", text or "")]
        others = [end for end in ends if end[1] != ends[0][1]]
        if others:
            first["line_end"] = others[0]
        for kind, (index, c) in first.items():
            start = byte_index(text or "", index)
            out.append((row, KINDS[kind], start, start + len(c.encode())))
    return sorted(out, key=lambda finding: (finding[0], finding[2], finding[3]))


ODD = ["\0", "\x7f", "\x85", "\u202e", "\u2066", "\n", "\r", "\r\n", "\u200b", "\u200d", "\ufe0f", "\ufffd", "\ufeff"]
ODD += [
    "x",
    "é",
    "中。",
    "😀",
    "\xad",
    "\U000e0041",
    "plain text of some length, so that blocks end within; ",
    "1",
    " ",
]
ODD_TEXTS = st.lists(
    st.one_of(st.none(), st.lists(st.sampled_from(ODD), max_size=12).map("".join), st.text(max_size=5))
)
ODD_SCHEMA = {"row": pa.int64(), "kind": pa.int8(), "start": pa.int64(), "end": pa.int64()}


@QUICK
@given(ODD_TEXTS, st.sampled_from(LAYOUTS), st.integers(0, 3))
def test_odd_characters_are_reported_once_per_kind(texts: list[str | None], layout: pa.DataType, offset: int) -> None:
    texts, array = in_layout([text and "".join(c for c in text if c in ASSIGNED_SET) for text in texts], layout, offset)
    assert rows_of_batch(_core.odd_characters(array), ODD_SCHEMA) == odd(texts)


ASSIGNED_SET = frozenset(ASSIGNED)


@pytest.mark.parametrize("form", ["{}", "a{}é", *heavy("x{}", "é{}é", "{:x>64}")])
def test_every_character_that_is_assigned(form: str) -> None:
    texts: list[str | None] = [form.format(c) for c in ASSIGNED]
    assert rows_of_batch(_core.odd_characters(pa.array(texts)), ODD_SCHEMA) == odd(texts)


# The content of rows


def hashes(rows: Any, normalised: bool = False) -> list[bytes]:
    out = _core.content_hashes(rows, normalised)
    assert out.type == pa.binary(16)
    assert out.null_count == 0
    return list(out.to_pylist())


def is_punctuation(c: str) -> bool:
    return unicodedata.category(c).startswith("P")


def is_digit(c: str) -> bool:
    return unicodedata.category(c).startswith("N") if c else False


def counts(text: str, index: int) -> bool:
    """Return true if punctuation stays, because it makes another number."""
    c, before, after = text[index], text[:index][-1:], text[index + 1 :][:1]
    if c in "/%":
        return True
    if c in ".,:":
        return is_digit(after)
    alone = (not before or before.isspace()) and (not after or after.isspace())
    return (c in "-*" or "\u2010" <= c <= "\u2015") and (is_digit(before) or is_digit(after) or alone)


def normalised(text: str) -> str:
    kept = "".join(c for index, c in enumerate(text) if not is_punctuation(c) or counts(text, index))
    return " ".join(kept.casefold().split()) or text.strip()


def same_groups(first: list[Any], second: list[Any]) -> bool:
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


SHORT = st.text(st.sampled_from("aA ,.-5é!ß中。\n"), max_size=4)
NORMALISED = st.lists(st.one_of(SHORT, st.text(st.sampled_from(ASSIGNED), max_size=5)))


@QUICK
@given(NORMALISED)
def test_normalised_texts_are_those_of_python(texts: list[str]) -> None:
    expected = [normalised(text) for text in texts]
    assert same_groups(expected, hashes(pa.table({"q": pa.array(texts, pa.string())}), normalised=True))


@pytest.mark.parametrize("form", ["{}", "a{}b", "a {}5"])
def test_every_character_is_normalised_as_python_does_it(form: str) -> None:
    texts = [form.format(c) for c in ASSIGNED]
    assert same_groups([normalised(text) for text in texts], hashes(pa.table({"q": texts}), normalised=True))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Hello,  World!\n", "hello world"),
        ("(A) Straße", "A strasse"),
        ("北京\uff0c中国。", "北京中国"),
        ("is 5.", "Is 5"),
    ],
)
def test_what_is_copied_with_other_manners_is_the_same(first: str, second: str) -> None:
    rows = pa.table({"q": [first, second]})
    assert len(set(hashes(rows, normalised=True))) == 1
    assert len(set(hashes(rows))) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [("3.5", "35"), ("-5", "5"), ("5 * 3", "5 / 3"), ("x²", "x2"), ("?", "!"), ("a b", "ab")],
)
def test_another_task_is_another_content(first: str, second: str) -> None:
    assert len(set(hashes(pa.table({"q": [first, second]}), normalised=True))) == 2


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "q": st.one_of(st.none(), st.sampled_from(["", "a", "A", "é", "a!"])),
            "n": st.one_of(st.none(), st.integers(-1, 2)),
            "l": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.sampled_from(["a", "", "A"])), max_size=2)),
            "s": st.one_of(st.none(), st.fixed_dictionaries({"x": st.one_of(st.none(), st.sampled_from(["a", "b"]))})),
        }
    )
)


def rows_table(rows: list[dict[str, Any]], text: pa.DataType, number: pa.DataType, listed: Any) -> pa.Table:
    kinds = {"q": text, "n": number, "l": listed(pa.string()), "s": pa.struct([("x", pa.large_string())])}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


@QUICK
@given(ROWS, st.sampled_from(LAYOUTS[:4]), st.sampled_from([pa.int8(), pa.int64(), pa.int32()]), st.booleans())
def test_rows_are_equal_by_value(
    rows: list[dict[str, Any]], text: pa.DataType, number: pa.DataType, norm: bool
) -> None:
    plain = hashes(rows_table(rows, pa.string(), pa.int64(), pa.list_), norm)
    if not norm:
        assert same_groups([json.dumps(row, sort_keys=True) for row in rows], plain)
    table = rows_table(rows, text, number, pa.large_list)
    assert hashes(table, norm) == plain
    assert hashes(table.select(["s", "n", "q", "l"]), norm) == plain
    assert hashes(pa.concat_tables([table.slice(0, 2), table.slice(2)]), norm) == plain
    assert [row_hash for batch in table.to_batches(max_chunksize=1) for row_hash in hashes(batch, norm)] == plain
    assert hashes(table.slice(1), norm) == plain[1:]


def test_many_rows_keep_their_order() -> None:
    texts = [f"text {n % 5000}" for n in range(20_000)]
    row_hashes = hashes(pa.table({"q": texts}))
    assert same_groups(texts, row_hashes)
    assert row_hashes[:5000] == hashes(pa.table({"q": texts[:5000]}))


def test_types_that_are_compared_by_their_text() -> None:
    times = pa.array([1, 2, None], pa.timestamp("us"))
    for array in (times, pa.array([b"a", b"b", None]), pa.array(["1.5", "2.5", None]).cast(pa.decimal128(5, 2))):
        row_hashes = hashes(pa.table({"c": array}))
        assert len(set(row_hashes)) == 3
        assert row_hashes[2] == hashes(pa.table({"c": pa.nulls(1)}))[0]


def test_a_type_that_only_python_reads_is_refused() -> None:
    with pytest.raises(pp.RenderError, match="cast the column first") as error:
        hashes(pa.table({"c": pa.array([1], pa.timestamp("us", "Europe/Berlin"))}))
    assert (error.value.code, error.value.column) == ("unsupported_column_type", "c")


# Arrays that lie


KERNELS: dict[str, Callable[[pa.Table], object]] = {
    "find_texts": lambda table: _core.find_texts(table["c"].chunk(0), ["x"]),
    "find_row_texts": lambda table: _core.find_row_texts(table["c"].chunk(0), pa.array(["x"] * len(table)), True),
    "needles": lambda table: _core.find_row_texts(pa.array(["x"] * len(table)), table["c"].chunk(0), True),
    "begin_with": lambda table: _core.begin_with(table["c"].chunk(0), b"x"),
    "odd_characters": lambda table: _core.odd_characters(table["c"].chunk(0)),
    "content_hashes": lambda table: _core.content_hashes(table, False),
    "normalised": lambda table: _core.content_hashes(table, True),
}
BY_BYTES = {"find_texts", "begin_with"}
"""Kernels to which it is all one whether bytes are a text."""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_malformed_array_is_an_error(broken: str, kernel: str) -> None:
    make = Bytes()
    table = pa.table({"c": BROKEN[broken](make)})
    make.break_them()
    with pytest.raises(pp.RenderError) as error:
        # How large buffers are is known on Python's side alone.
        KERNELS[kernel](checked(table))
    assert error.value.code in {"malformed_array", "unsupported_column_type"}


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - BY_BYTES))
@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()])
def test_bytes_that_are_no_text_are_an_error(kernel: str, layout: pa.DataType) -> None:
    held = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[layout]
    table = pa.table({"c": pa.Array.from_buffers(layout, 2, pa.array([b"x", b"x\xff"], held).buffers())})
    with pytest.raises(pp.RenderError) as error:
        KERNELS[kernel](table)
    assert error.value.code in {"invalid_utf8", "malformed_array"}
