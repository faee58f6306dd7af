"""`regex_replace` beside `re.sub`, and regular expressions that search for ever."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2")

from promptpress._jinja.sandbox.bounds import BUDGET, LimitExceededError
from promptpress._jinja.sandbox.guarded_filters import substituted

QUICK = [
    ("[aeiou]", ".", "Some text"),
    (r"(\w)(\w)", r"\2\1", "äbc de"),
    (r"\s+", " ", "a \n b " * 2000),
    (r"(?P<a>x)|y", r"<\g<a>>", "xyz"),
    (r"<.*?>", "", "<b>text</b>" * 2000),
    (r"(a|b)+c", "-", "ababcab"),
    ("", "-", "abc"),
    ("(?i)É", "e", "éÉ" * 10),
]


@pytest.mark.parametrize(("pattern", "repl", "string"), QUICK)
def test_it_is_what_python_gives(pattern: str, repl: str, string: str) -> None:
    BUDGET.start()
    for count in (0, 1, 3):
        assert substituted(string, pattern, repl, count) == re.sub(pattern, repl, string, count=count)


@pytest.mark.parametrize(
    ("pattern", "repl", "string"),
    [("(", "", "a"), ("a", r"\9", "a"), (1, "", "a"), ("a", "", 1), ("a", 1, "a"), ("a", "", b"a")],
)
def test_it_raises_what_python_raises(pattern: str, repl: str, string: str) -> None:
    BUDGET.start()
    with pytest.raises((re.error, TypeError)) as expected:
        re.sub(pattern, repl, string)
    with pytest.raises(type(expected.value)) as error:
        substituted(string, pattern, repl)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize(
    ("pattern", "repl", "string"),
    [
        ("(a+)+$", "", "a" * 40 + "!"),
        ("(a|aa)+$", "", "a" * 50 + "!"),
        ("a*a*a*a*a*b", "", "a" * 500),
        ("(?:){999999999}", "", "a"),
        ("(a?){50}a{50}", "", "a" * 50),
        ("x*", "y" * 100_000, "a" * 100_000),
    ],
)
def test_a_search_that_does_not_end_is_stopped(pattern: str, repl: str, string: str) -> None:
    BUDGET.start()
    with pytest.raises(LimitExceededError, match=r"a regular expression that|a text of"):
        substituted(string, pattern, repl)


def test_a_long_search_is_done_elsewhere() -> None:
    BUDGET.start()
    assert substituted("ab" * 5000, r"a+b+", "c") == "c" * 5000
