"""Templates that would never end, or take all memory: an error instead, and nothing outside the sandbox."""

from __future__ import annotations

import resource
import time
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from generators.hostile_templates import HOSTILE, WALKS
from marks import UNWARNED
from promptpress._jinja.reference import Reference

pytestmark = UNWARNED

SECONDS = 10.0  # a second or two of a slow machine; what isn't ended by the number of its steps takes far longer
MEGABYTES = 600
ENVIRONMENTS = ("jinja2", "transformers", "lm_eval")
ROW = {"x": "q", "y": 1}


def refused(source: str, environment: str) -> Exception:
    """The error that a template ends with; of the processor's time, for a machine may have other work."""
    began = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Exception) as error:  # noqa: PT011 - the engine's own, or ours
        Reference(source, environment).render(ROW)
    assert time.process_time() - began < SECONDS, source[:200]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES << 10, source[:200]
    return error.value


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_templates_end_with_an_error(kind: str) -> None:
    for number, source in enumerate(HOSTILE[kind]):
        refused(source, ENVIRONMENTS[number % len(ENVIRONMENTS)])


@pytest.mark.full
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_hostile_templates_in_all_environments(kind: str, environment: str) -> None:
    for source in HOSTILE[kind]:
        refused(source, environment)


@pytest.mark.parametrize("environment", ["jinja2", "lm_eval"])
def test_attribute_walks_are_refused_where_the_engine_would_walk(environment: str) -> None:
    for source in WALKS[:-1]:
        assert "unsafe" in str(refused(source, environment)), source


def test_attribute_walks_give_nothing_where_the_engine_gives_nothing() -> None:
    for source in WALKS:
        try:
            text = Reference(source, "transformers").render(ROW)
        except Exception as error:
            text = str(error)
        assert "<class" not in text, source
        assert "object at" not in text, source


@pytest.mark.parametrize("source", ["{{ x.__nothing }}", "{{ x['__nothing__'] }}", "{{ d.__class__ }}"])
def test_what_there_is_not_is_undefined(source: str) -> None:
    if "d." not in source:
        assert Reference(source, "jinja2").render(ROW) == ""


@pytest.mark.parametrize(
    "source", ["{% for i in range(10**9) %}{% endfor %}", "{{ 'a' * 10**10 }}", "{{ ''.__class__ }}"]
)
def test_it_is_an_error_of_a_row(source: str) -> None:
    with pytest.raises(pp.RenderError) as error:
        pp.JinjaTemplate(source).render(pa.table({"x": ["q"]}))
    assert error.value.row == 0


def test_it_is_an_error_of_a_template() -> None:
    for source in ("{{ x }}" * 200_000, "a" * 3_000_000, "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"):
        with pytest.raises(pp.TemplateError) as error:
            pp.JinjaTemplate(source)
        assert error.value.path == "source"


ORDINARY: list[tuple[str, dict[str, Any], int]] = [
    ("{% for i in range(100000) %}{{ i }}{% endfor %}", {}, 488_890),
    ("{% for m in x %}{% if m.r == 'u' %}{{ m.c|trim }}{% else %}{{ m.c.strip() }}{% endif %}{% endfor %}",
     {"x": [{"r": "u", "c": " some text "}] * 20_000}, 180_000),
    ("{{ x.strip()|replace('a', 'bb') }}", {"x": "a" * 30_000_000}, 60_000_000),
    ("{{ x|map('upper')|join(',')|length }}", {"x": ["a"] * 100_000}, 6),
    ("{{ x|tojson(indent=4)|length }}", {"x": [{"a": [1, 2, 3]}] * 2_000}, 6),
    ("{{ 'a' * 1000000 }}", {}, 1_000_000),
    ("{{ '%1000d' % 5 }}{{ '{:>1000}'.format(5) }}{{ 5|string|center(1000) }}", {}, 3000),
    ("{{ 7 ** 1000 }}", {}, 846),
    ("{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l|length }}",
     {}, 4),
]  # fmt: skip


@pytest.mark.parametrize(("source", "row", "length"), ORDINARY, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_ordinary_templates_are_far_from_the_limits(
    source: str, row: dict[str, Any], length: int, environment: str
) -> None:
    assert len(Reference(source, environment).render(row)) == length


def test_each_row_has_a_separate_budget() -> None:
    template = pp.JinjaTemplate("{% for i in range(n) %}{{ i }}{% endfor %}")
    rows = pa.table({"n": [50_000] * 30})
    assert len(set(template.render(rows)["prompt"].to_pylist())) == 1
