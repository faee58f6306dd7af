"""The parts of the reader of Python configurations, one by one: what is harmless, limited, formatted and copied."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from promptpress_harness.python_subset.modules import is_lazy
from promptpress_harness.python_subset.operators import format_field, format_method, format_percent
from promptpress_harness.python_subset.source import (
    UNBOUND,
    Scope,
    is_harmless,
    is_harmless_text,
    names_read_by,
    source_text,
)
from promptpress_harness.python_subset.values import (
    Budget,
    HarnessDict,
    Opaque,
    RefusedError,
    TooMuchError,
    is_stream,
    settled_text,
)


def expression(text: str) -> ast.AST:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (is_harmless(expression("a[0] + b.lower()")), True),
        (is_harmless(expression("a.pop()")), False),
        (is_harmless_text(["A"]), True),
        (is_harmless_text(["a.pop()"]), False),
        (names_read_by(ast.parse("def f(x): return y")), {"y"}),
        (source_text(expression("f( x )")), "f(x)"),
        (is_lazy(ast.parse("import json")), False),
        (is_lazy(ast.parse("import torch")), True),
        (is_stream(iter([])), True),
        (is_stream([]), False),
        (format_field(Budget(), "a", ord("r"), ">5"), "  'a'"),
        (format_percent(Budget(), "%s-%02d", ("a", 3)), "a-03"),
        (format_method(Budget(), "{a}-{b[0]}", a=1, b=["x"]), "1-x"),
    ],
)
def test_parts(value: Any, expected: Any) -> None:
    assert value == expected


def test_a_loop_variable_hides_an_outer_name() -> None:
    inner = Scope({}, Scope({"a": 1, "b": 2}), {"b"}, "comprehension")
    assert inner.find("a") == 1
    assert inner.find("b") is UNBOUND


def test_limits() -> None:
    budget = Budget()
    budget.text(12)
    with pytest.raises(TooMuchError, match="a string of 1099511627776 characters"):
        budget.text(1 << 40)
    settled_text([1, {"a": None}])


def test_a_dict_of_a_base_file_is_merged() -> None:
    base = HarnessDict(a={"b": 1})
    base.update(a={"c": 2})
    assert base == {"a": {"b": 1, "c": 2}}


def test_a_value_that_cannot_be_read_raises_wherever_it_is_read() -> None:
    with pytest.raises(RefusedError, match=r"my.py:3: call of make\(\): "):
        str([Opaque(RefusedError("my.py", 3, "call of make()"))])
