"""Values of a row that isn't there yet: they answer nothing, and the question is remembered."""

from __future__ import annotations

import json
import operator
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jinja2")

from promptpress._jinja.partial.values import Sym, UnsupportedError, asked, forget

ASKS: list[Callable[[Any], Any]] = [
    *(str, repr, bool, len, iter, hash, float, int, operator.index, operator.neg, sorted, json.dumps),
    *("{}".format, "abc".startswith, [1].index, "abc".__contains__),
    lambda value: isinstance(value, str),
    lambda value: value == "a",
    lambda value: value + "a",
    lambda value: "a" + value,
    lambda value: value.strip,
    lambda value: {value: 1},
    lambda value: "a" in value,
    lambda value: value[0],
    lambda value: value(),
]


@pytest.mark.parametrize("ask", ASKS)
def test_whatever_is_asked_is_refused_or_remembered(ask: Callable[[Any], Any]) -> None:
    before = asked()
    with pytest.raises((UnsupportedError, TypeError)) as refused:
        ask([Sym(0), Sym(1)] if ask is sorted else Sym(0))
    # What tells by the type alone, as C code does, takes it for none of its own and raises by itself.
    assert asked() > before or refused.type is TypeError


def test_no_thread_takes_back_what_another_has_asked() -> None:
    before = asked()
    with pytest.raises(UnsupportedError):
        str(Sym(0))
    other = threading.Thread(target=forget, args=(before,))
    other.start()
    other.join()
    assert asked() == before + 1
    forget(before)
