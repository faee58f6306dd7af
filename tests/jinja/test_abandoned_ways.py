"""Ways that are given up for Jinja2: what they looked at or went through is as it was for all other rows."""

from __future__ import annotations

import itertools
import random

import promptpress as pp
import pytest

pytest.importorskip("jinja2")
from jinja.engines import compiler
from marks import UNWARNED

pytestmark = UNWARNED

LISTS = (
    "ws", "ws|map('upper')", "ws|reverse", "['p', 'q', 'r']|map('upper')", "ws|select", "'xyz'", "{'a': 1}|dictsort",
    "ws|selectattr('x', 'undefined')", "ws|batch(2)", "ws|slice(2)", "ws[::-1]", "[1, 2]|groupby(0)",
    "{'a': 1}.items()",
    "range(3)", "ws|map('upper')|map('lower')", "ws|unique", "ws|list",
)  # fmt: skip
TESTS = ("", " if w", " if w != 'b'")
LOOKS = (
    "{{ loop.last }}", "{{ loop.nextitem }}", "{{ loop.length }}", "{{ loop.revindex }}", "{{ loop.previtem }}",
    "{{ loop.first }}", "{{ loop.changed(w) }}", "{{ loop.cycle('x', 'y') }}", "{{ loop|first }}", "{{ loop|list }}",
    "{% for x in loop %}{{ x[0] }}{% endfor %}", "{{ m(loop) }}", "{{ c.next() }}", "{{ j() }}", "{{ g|first }}",
    "{{ g|list }}", "{% set ns.n = ns.n + 1 %}", "{{ [loop]|map(attribute='last')|list }}", "{% set ns.l = loop %}",
)  # fmt: skip
ENDS = ("{{ t|wordcount }}", "{{ 1 // (0 if f else 1) }}", "{{ t.nothing.at_all }}", "{{ t|no_filter_at_all }}", "")
AFTER = (
    "<{{ w }}>", "<{{ w }}{{ loop.index }}>", "{{ loop.last }}", "{{ loop.changed(w) }}", "{{ c.next() }}{{ j() }}",
    "{{ g|first }}", "{{ ns.n }}", "{{ loop.nextitem }}{{ loop.previtem }}",
)  # fmt: skip
BEGIN = (
    "{% set ns = namespace(n=0, l=none) %}{% set c = cycler('1', '2', '3') %}{% set j = joiner('; ') %}"
    "{% set g = ws|map('upper') %}{% macro m(l) %}{{ l.last }}{% endmacro %}"
)
ROW = {"ws": ["a", "b", "c"], "t": "x y", "f": False, "u": False}
# The first rows show nothing, so that nothing is found wrong before the last ones.
ROWS = [ROW] * 3 + [{**ROW, "u": True}, {**ROW, "ws": ["a"], "u": True}, {**ROW, "ws": [], "u": True}]
RAISING = {**ROW, "f": True, "u": True}


def drawn(rng: random.Random) -> str:
    """A loop with a way that is given up."""
    look = "".join(rng.choices(LOOKS, k=rng.choice((1, 1, 2))))
    if rng.random() < 0.2:
        look = "{% if t %}" + look + "{% endif %}"
    end = rng.choice(ENDS)
    way = "{% if f %}" + look + end + rng.choice(("", "{% else %}" + rng.choice(LOOKS))) + "{% endif %}"
    ending = "{% if u %}" + rng.choice(AFTER) + "{% endif %}"
    body = rng.choice((way + ending, ending + way, ending + way + ending))
    return BEGIN + "{% for w in " + rng.choice((*LISTS, "g")) + rng.choice(TESTS) + " %}" + body + "{% endfor %}" + (
        "{% if u %}{{ c.current }}{{ j() }}{{ g|list }}{{ ns.n }}{% endif %}" if rng.random() < 0.5 else ""
    )  # fmt: skip


def check(source: str) -> bool:
    """Compare a template with Jinja2 row by row; says whether it can be had."""
    try:
        template = compiler("jinja2")(source)
    except Exception:
        return False  # a filter that isn't there
    wanted = []
    for row in [*ROWS, RAISING]:
        try:
            wanted.append(template.render(**row))
        except Exception as error:
            wanted.append(error)
    fine = [(row, text) for row, text in zip([*ROWS, RAISING], wanted, strict=True) if isinstance(text, str)]
    fine = [(row, text) for row, text in fine if " at 0x" not in text]
    ours = pp.JinjaTemplate(source)
    texts = ours.render([row for row, _ in fine])["prompt"].to_pylist() if fine else []
    assert texts == [text for _, text in fine], source
    return True


@pytest.mark.parametrize("seed", range(4))
def test_an_abandoned_way_leaves_nothing(seed: int) -> None:
    rng = random.Random(seed)
    assert sum(check(drawn(rng)) for _ in range(60)) > 30


@pytest.mark.full
def test_many_ways_that_are_given_up() -> None:
    rng = random.Random("many")
    assert sum(check(drawn(rng)) for _ in range(20_000)) > 10_000
    for items, look in itertools.product(LISTS, LOOKS):
        body = "{% if f %}" + look + "{{ t|wordcount }}{% endif %}{% if u %}<{{ w }}>{% endif %}"
        check(BEGIN + "{% for w in " + items + " %}" + body + "{% endfor %}")
