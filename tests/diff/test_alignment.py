"""Messages that stand side by side, and the stretches of long texts that are shown."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from promptpress_workbench.diff.comparison import equal_rows, is_comparable
from promptpress_workbench.diff.differences import aligned, changes, first_difference, kinds_of_change, windows
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage

MESSAGES = st.lists(
    st.builds(
        lambda role, text: PromptMessage(role, (Piece(text),)),
        st.sampled_from(["system", "user", "assistant"]),
        st.sampled_from(["", "Be kind.", "One, two?", "Two, three?", "It is 2.", "It is 3."]),
    ),
    max_size=6,
)


@given(MESSAGES, MESSAGES)
def test_every_message_stands_once_and_in_order(a: list[PromptMessage], b: list[PromptMessage]) -> None:
    pairs = aligned(a, b)
    for side, messages in enumerate((a, b)):
        assert [pair[side] for pair in pairs if pair[side] is not None] == list(range(len(messages)))
    assert (None, None) not in pairs


@given(MESSAGES, MESSAGES, MESSAGES)
def test_messages_that_one_side_has_more_move_no_others(
    before: list[PromptMessage], more: list[PromptMessage], after: list[PromptMessage]
) -> None:
    pairs = aligned([*before, *after], [*before, *more, *after])
    assert sum(None not in pair for pair in pairs) == len(before) + len(after)
    equal = [
        pair
        for pair in pairs
        if None not in pair and ([*before, *after][pair[0]] == [*before, *more, *after][pair[1]])  # type: ignore[index]
    ]
    assert len(equal) == len(before) + len(after)


def talk(*turns: tuple[str, str]) -> pa.Table:
    return pa.table({"prompt": [[{"role": role, "content": text} for role, text in turns]]})


def test_a_system_message_more_is_the_only_difference() -> None:
    turns = (("user", "One?"), ("assistant", "1"), ("user", "Two?"))
    diff = pp.diff(talk(*turns), talk(("system", "Be kind."), *turns))
    assert str(diff).splitlines()[1:] == [
        "── row 0",
        "message 0, only in B",
        "+ [system]",
        "+ {+Be kind.+}",
        "(3 texts that are equal)",
    ]
    (row,) = diff.rows.to_pylist()
    assert (row["change"], row["message"]) == ("messages", 0)
    assert diff._repr_html_().count("<tr ") == 2
    diff = pp.diff(talk(("system", "Be kind."), *turns), talk(*turns[:2], ("user", "Two, please?")))
    assert "message 0 (system), only in A" in str(diff)
    assert "+ Two{+, please+}?" in str(diff)


def test_what_is_equal_between_two_differences_is_cut() -> None:
    same = " ".join(f"word{n}" for n in range(500))
    sides = [f"{same}\nQ: {name}\n{same}\nA: {name}\n{same}" for name in ("one", "two")]
    pairs = windows(*([Piece(text)] for text in sides))
    assert [[mark[2] for mark in window.marks] for window, _ in pairs] == [["removed"], ["removed"]]
    assert all(len(window.pieces[0].text) < 250 for pair in pairs for window in pair)
    characters = sum(len(window.pieces[0].text) + window.before + window.after for window, _ in pairs)
    assert characters == len(sides[0])
    text = str(pp.diff(*(pa.table({"prompt": [side]}) for side in sides)))
    assert text.count("[-one-]") == text.count("{+two+}") == 2
    assert text.count("…(") == 6
    html = pp.diff(*(pa.table({"prompt": [side]}) for side in sides))._repr_html_()
    assert html.count("<tr ") == 2
    assert "characters)" in html


def test_words_are_marked_in_long_texts_too() -> None:
    lines = [f"line {n} of the text\n" for n in range(300)]
    other = [line.replace("line", "row") if n % 50 == 0 else line for n, line in enumerate(lines)]
    removed, added = changes("".join(lines), "".join(other))
    assert ["".join(lines)[start:end] for start, end, _ in removed] == ["line"] * 6
    assert ["".join(other)[start:end] for start, end, _ in added] == ["row"] * 6


def test_the_first_difference_counts_bytes_and_characters() -> None:
    location = first_difference(Prompt(0, "é1", (Piece("é1"),)), Prompt(0, "é2", (Piece("é2"),)))
    assert location is not None
    assert (location.start, location.character) == (2, 1)


def test_words_and_windows() -> None:
    assert changes("one two three", "one 2 three") == ([(4, 7, "removed")], [(4, 5, "added")])
    ((mine, yours),) = windows([Piece("same " * 99 + "one")], [Piece("same " * 99 + "two")])
    assert (mine.before, mine.marks, yours.marks) == (395, ((100, 103, "removed"),), ((100, 103, "added"),))


def test_no_word_is_cut() -> None:
    for text, other, words in (
        ("Q: one", "Question: one", [("Q", "Question")]),
        ("I don't know", "I can't know", [("don't", "can't")]),
        ("see plus 1", "see plus1", [("plus 1", "plus1")]),
        ("one two three", "four five six", [("one two three", "four five six")]),
        ("a\nb\nc", "x\na\nc", [("", "x\n"), ("b\n", "")]),
        ("\u4f60\u597d\u5417", "\u4f60\u597d\u5440", [("\u5417", "\u5440")]),
    ):
        ((_, kind),) = kinds_of_change(*(Prompt(0, side, (Piece(side),)) for side in (text, other)))
        assert kind[3] == tuple(words)  # type: ignore[index]


def test_lines_that_differ_stand_between_lines_that_do_not() -> None:
    sides = ["".join(f"line {n}\n" for n in range(40)).replace("line 20", name) for name in ("one", "two")]
    pairs = windows(*([Piece(text)] for text in sides))
    assert [(mine.changed, mine.pieces[0].text.count("\n")) for mine, _ in pairs] == [
        (False, 12),
        (True, 1),
        (False, 12),
    ]


def test_what_is_comparable() -> None:
    assert is_comparable(pa.string(), pa.large_string())
    assert not is_comparable(pa.string(), pa.list_(pa.string()))
    column = pa.array([[{"role": "user", "content": "a"}], []])
    other = pa.array([[{"role": "user", "content": "a", "name": None}], [{"role": "", "content": "", "name": ""}]])
    assert equal_rows(column, other).to_pylist() == [True, False]
