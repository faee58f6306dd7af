"""Values of a row that isn't there yet: they answer nothing, and the question is remembered."""

from __future__ import annotations

import json
import operator
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jinja2")

from promptpress._jinja.compiler.operands import holds_opaque
from promptpress._jinja.compiler.values import Sym, Trail, UnsupportedError, forget_inspections, inspections, is_opaque

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
def test_every_question_is_refused_or_remembered(ask: Callable[[Any], Any]) -> None:
    before = inspections()
    with pytest.raises((UnsupportedError, TypeError)) as refused:
        ask([Sym(0), Sym(1)] if ask is sorted else Sym(0))
    # What tells by the type alone, as C code does, takes it for none of its own and raises by itself.
    assert inspections() > before or refused.type is TypeError


def test_no_thread_undoes_the_question_of_another() -> None:
    before = inspections()
    with pytest.raises(UnsupportedError):
        str(Sym(0))
    other = threading.Thread(target=forget_inspections, args=(before,))
    other.start()
    other.join()
    assert inspections() == before + 1
    forget_inspections(before)


def test_a_value_of_the_row_within_a_list() -> None:
    assert (is_opaque(Sym(0)), is_opaque([Sym(0)])) == (True, False)
    assert (holds_opaque({"a": [Sym(0)]}), holds_opaque([1])) == (True, False)


def test_a_trail_goes_back() -> None:
    trail = Trail()
    trail["a"] = 1
    mark = trail.mark()
    trail["a"] = 2
    assert (trail.undo(mark), trail) == ({"a": 2}, {"a": 1})
