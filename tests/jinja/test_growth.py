"""Loops that put texts together under conditions: programs grow as the loop does, and no faster."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import jinja2
from fuzz import growth
from marks import UNWARNED
from promptpress._jinja.compiler.program import Builder, Compaction, node_operands
from promptpress._jinja.compiler.values import UNKNOWN

pytestmark = UNWARNED

CASES = 25

LOOP = "{% set ns = namespace(x='', n=0, l=[]) %}{% for w in words %}BODY{% endfor %}{{ ns.x }}{{ ns.n }}"
BODIES = {
    "either way adds": "{% if w %}{% set ns.x = ns.x ~ w ~ ';' %}{% else %}{% set ns.x = ns.x ~ '.' %}{% endif %}",
    "one way adds": "{% if w == 'a' %}{% set ns.x = ns.x + w %}{% endif %}",
    "at the beginning": "{% if w %}{% set ns.x = w ~ ns.x %}{% endif %}",
    "an inline if": "{% set ns.x = (ns.x ~ w) if w else (ns.x ~ '.') %}",
    "and, or": "{% set ns.x = ns.x ~ (w and w ~ ';' or '.') %}",
    "many ways": "{% if w == 'a' %}{% set ns.x = ns.x ~ 1 %}{% elif w == 'b' %}{% set ns.x = ns.x ~ 2 %}"
                 "{% elif w %}{% set ns.x = ns.x ~ w %}{% else %}{% set ns.x = ns.x ~ 4 %}{% endif %}",
    "output": "{% if w %}{{ w }}{% if w == 'a' %}!{% endif %}{% else %}{{ ns.x }}{% endif %}",
    "several variables": "{% if w %}{% set ns.x = ns.x ~ w %}{% set ns.n = ns.n + 1 %}{% endif %}",
    "a block": "{% set v %}{% if w %}{{ w }}{% else %}-{% endif %}{% endset %}{% set ns.x = ns.x ~ v|upper %}",
    "first and last": "{% if w and not loop.last %}{% set ns.x = ns.x ~ w ~ ', ' %}{% elif loop.first %}"
                      "{% set ns.x = ns.x ~ 'x' %}{% endif %}",
    "the text is asked": "{% if ns.x %}{% set ns.x = ns.x ~ ',' ~ w %}{% else %}{% set ns.x = w %}{% endif %}",
    "a filter over it": "{% if w %}{% set ns.x = (ns.x ~ w)|trim %}{% endif %}",
    "two long texts": "{% set ns.x = ns.x ~ (w and '+') %}{% if ns.x == 'a' or not loop.last %}"
                      "{% set ns.l = ns.l + [w] %}{% endif %}{% if loop.last %}{{ ns.l|join('+') }}{% endif %}",
    "a list": "{% if w %}{% set ns.l = ns.l + [w] %}{% endif %}{% if loop.last %}{{ ns.l|join(',') }}{% endif %}",
}  # fmt: skip


@pytest.mark.parametrize("what", BODIES)
def test_a_loop_of_twice_as_many_items_is_twice_as_large(what: str) -> None:
    source = LOOP.replace("BODY", BODIES[what])
    growth.check_growth(growth.Case(source, 20, []))
    assert growth.sizes(source, 30)[0] > 30, "there is no program"
    rows = [{"words": [word] * 30} for word in ("", "a", "b", "c ")] + [{"words": ["a", "", "b"] * 10}]
    template = pp.JinjaTemplate(source)
    rendered = template.render(pa.Table.from_pylist(rows))["prompt"].to_pylist()
    assert rendered == [jinja2.Environment().from_string(source).render(**row) for row in rows]
    assert template.last_run is not None
    assert template.last_run.compiled == len(rows)


def test_loops_of_all_sorts_are_as_in_jinja2_and_grow_no_faster() -> None:
    rows = compiled = 0
    for number in range(CASES):
        more, of_programs = growth.compare(growth.make(0, number))
        rows, compiled = rows + more, compiled + of_programs
    assert rows == 2 * growth.ROWS * CASES
    assert compiled > rows * 2 // 3, "most of them are to be compiled"


def test_a_length_that_conditions_decide_is_computed_once() -> None:
    """The length is an expression with parts that it shares: as a tree it would have two to the power of 40 of them."""
    count = "{% for w in words %}{% if w %}{% set ns.n = ns.n + ns.n %}{% else %}{% set ns.n = ns.n + 1 %}{% endif %}"
    source = "{% set ns = namespace(n=0) %}" + count + "{% endfor %}{% for i in range(ns.n) %}{{ i }}{% endfor %}"
    table = pa.table({"words": [[""] * 40, [""] * 38 + ["a", "a"], ["a"] * 40]})
    expected = [jinja2.Environment().from_string(source).render(**row) for row in table.to_pylist()]
    assert pp.JinjaTemplate(source).render(table)["prompt"].to_pylist() == expected


def test_expressions_are_known_again_by_another_builder() -> None:
    builder = Builder(("q", "n"))
    value = builder.column(1, UNKNOWN)
    for constant in (1, True, 1.0, "1", 0.0, -0.0, None):
        value = builder.operation(
            "add", builder.operation("add", value.node, value.node).node, builder.constant(constant)
        )
    expression = builder.expression(value.node)
    other = Builder(("q", "n"))
    other.constant("first")
    assert other.expression(other.of_expression(expression)) == expression
    assert len(expression) == 22


def test_what_is_nested_too_deep_for_the_core_is_jinja2s() -> None:
    loop = "{% for i in range(400) %}{% set ns.x = (ns.x|trim)[:-1] ~ i %}{% endfor %}"
    source = "{% set ns = namespace(x=s) %}" + loop + "{{ ns.x }}"
    template = pp.JinjaTemplate(source)
    table = pa.table({"s": ["abc", ""]})
    expected = [jinja2.Environment().from_string(source).render(**row) for row in table.to_pylist()]
    assert template.render(table)["prompt"].to_pylist() == expected
    assert template.last_run is not None
    assert list(template.last_run.reasons) == ["expressions are nested more than 250 deep"]


def test_texts_within_one_text_become_its_parts() -> None:
    nodes = [("column", 0), ("const", "a"), ("concat", 0, 1), ("const", "b"), ("concat", 2, 3)]
    made = Compaction(nodes, [1, 1, 2, 1, 3], [4])
    assert (made.nodes[made.numbers[4]], made.nodes[3]) == (("concat", 0, 3), ("const", "ab"))
    assert made.depths == [0, 0, 0, 0, 1]
    assert (node_operands(("strip", 4, 2)), node_operands(("column", 3))) == ((4, 2), ())


def test_an_expression_is_described_without_numbers() -> None:
    builder = Builder(("q",))
    length = builder.operation("length", builder.column(0, UNKNOWN).node)
    assert builder.expression(length.node) == (("column", 0), ("length", 0))
