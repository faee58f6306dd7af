"""Corners of Jinja's statements where an evaluator could go wrong, beside Jinja2, through the public class."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import jinja2
import promptpress as pp
from marks import UNWARNED
from promptpress._jinja.reference import Reference

ROWS = pa.table(
    {
        "q": ["a", "b", "zz", " a ", ""],
        "n": [0, 1, 2, 3, 7],
        "xs": [["a", "bb", "c"], ["", "x"], [], ["a"], ["zz", "zz"]],
        "d": [{"k": "1", "z": 2}, {"k": None, "z": 3}, {"k": "", "z": 0}, {"k": "q", "z": 1}, {"k": "zz", "z": 5}],
    }
)
TEMPLATES = [
    # What a loop's condition does is none of the body's business, and looks ahead.
    "{% for x in xs if x is string %}{{ loop.last }}{{ x }},{% endfor %}",
    "{% for x in xs if x is string %}{{ loop.nextitem }}{{ x }}{{ loop.previtem }},{% endfor %}",
    "{% for x in xs if x %}{{ x }}{% endfor %}",
    "{% for x in xs if x %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in xs if x != q %}{{ x }}{% for y in xs if y != x %}{{ y }}{% endfor %}|{% endfor %}",
    "{% for x in xs if x != 'bb' %}{% set y = x %}{{ y }}{% endfor %}{{ y }}",
    # Scopes
    "{% set y = 0 %}{% for x in xs %}{% set y = x %}{{ y }}{% endfor %}{{ y }}",
    "{% if q == 'a' %}{% set y = 1 %}{% endif %}{{ y }}{{ y is defined }}",
    "{% for x in xs %}{{ x }}{% endfor %}{{ x }}",
    "{% set x = 'o' %}{% for x in xs %}{{ x }}{% endfor %}{{ x }}",
    "{% for x in xs %}{% if loop.first %}{% set y = q %}{% endif %}{{ y }}{% endfor %}",
    "{% with x = q, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}",
    "{% set q = q ~ '!' %}{{ q }}{% macro m() %}{{ q }}{% endmacro %}{{ m() }}{% set q = 'late' %}{{ m() }}",
    "{% macro m(x, y=x ~ q) %}{{ x }}{{ y }}{% endmacro %}{{ m(n) }}{{ m(q, y=1) }}{{ m() }}",
    "{% macro m(x) %}{% set x = x ~ '.' %}{{ x }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(q, 1, k=n) }}",
    "{% macro outer() %}<{{ caller(q) }}>{% endmacro %}{% call(z) outer() %}{{ z }}{{ n }}{% endcall %}",
    "{% macro m() %}{% if n > 1 %}{{ q }}{% else %}{{ m2() }}{% endif %}{% endmacro %}"
    "{% macro m2() %}x{% endmacro %}{{ m() }}",
    # Namespaces under conditions
    "{% set o = namespace(f=false, c=0) %}{% for x in xs %}{% if x == q %}{% set o.f = true %}"
    "{% set o.c = o.c + loop.index %}{% endif %}{% endfor %}{{ o.f }}{{ o.c }}{% if o.f and o.c > 1 %}!{% endif %}",
    "{% set o = namespace(x=xs) %}{% if n > 1 %}{% set o.x = [q, n] %}{% endif %}"
    "{% for x in o.x %}{{ x }};{% endfor %}{{ o.x|length }}",
    "{% set o = namespace() %}{% if n %}{% set o.y = q %}{% endif %}{{ o.y }}{{ o.y is defined }}",
    # Values that a condition decides
    "{% set v = xs if n > 1 else d %}{{ v|length }}{{ v is mapping }}{{ v }}",
    "{% set v = (q, n) if n else none %}{{ v }}{{ v is none }}{% if v %}{{ v[0] }}{% endif %}",
    "{{ (q if n > 2)|default('dflt') }}{{ (q if n > 2) is defined }}",
    "{{ q and n }}{{ n and q }}{{ q or n or 'z' }}{{ not q }}{{ (q and n) is string }}",
    "{{ 0 < n < 3 }}{{ 0 < n > 3 }}{{ q == 'a' == true }}{{ n in [1, q] not in xs }}",
    # Generators are gone through once
    "{% set g = xs|select %}{{ g|list }}{{ g|list }}",
    "{% set g = [q, 'k']|map('upper') %}{% if n %}{{ g|first }}{% endif %}{{ g|list }}",
    # Dicts and lists
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}"
    "{{ d.get('k') }}{{ d.get('y', 1) }}",
    "{{ {'a': 'A', 'b': q}.get(q, '?') }}{{ {'a': 1, q: 2} }}",
    "{{ [q, n] == ['a', 0] }}{{ {'k': q} == {'k': 'a'} }}{{ d == {'k': '1', 'z': 2} }}{{ [q] + [n] }}{{ (q, n) }}",
    "{{ xs == xs }}{{ [xs] == [xs] }}{{ xs[0] is sameas xs[0] }}{{ q is sameas q }}",
    "{{ 'ABC'[n] }}{{ 'ABC'[:n] }}{{ ['x', q][n] }}{{ xs[-1] }}{{ xs[5] }}{{ q[0] }}{{ q[::-1] }}",
    # Statements that capture
    "{% set v %}{{ q }}{% if n %}-{{ n }}{% endif %}{% endset %}[{{ v }}]{{ v|length }}{{ v is string }}",
    "{% filter upper|replace('A', q) %}x{{ q }}a{% endfilter %}",
    "{% set v|upper %}{{ q }}{% endset %}{{ v }}",
    "{{ loop }}{% for x in xs %}{{ loop.cycle('a', q) }}{{ loop.changed(1) }}{{ loop.revindex0 }}{% endfor %}",
    "{% for x in xs %}{% for y in xs %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for a, b in [[q, n], xs[:2]] %}{{ a }}{{ b }}{% endfor %}",
    "{{ cycler('a', q).next() }}{% set j = joiner(q) %}{{ j() }}{{ j() }}",
    "{% autoescape true %}{{ '<' ~ q }}{% endautoescape %}{{ q|e }}{{ (q|safe) + '<' }}",
    "{% block b %}{{ q }}{% endblock %}{{ self.b() }}",
    "{{ '%s-%s' % (q, n) }}{{ '%s' % q }}{{ '{}'.format(q) }}{{ q|format(1) }}",
]  # fmt: skip
BREAKS = [
    "{% for x in xs %}{% if x == q %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in xs %}{% if x == q %}{% break %}{% endif %}{{ x }}{% endfor %}|",
    "{% for x in xs %}{% if x %}{% if x == 'a' %}a{% continue %}{% elif n %}b{% endif %}c"
    "{% endif %}{{ x }}{% endfor %}",
    "{% for x in xs if x %}{% if x == q %}{% continue %}{% endif %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in xs %}{% if loop.first %}{% continue %}{% endif %}{{ x }}{% if loop.last %}.{% endif %}{% endfor %}",
    "{% generation %}{{ q }}{% set v = 1 %}{% endgeneration %}{{ v }}",
]


def outcome(render: object, *arguments: object) -> str:
    """A text, or the type of what is raised."""
    try:
        return str(render(*arguments))  # type: ignore[operator]
    except pp.RenderError as error:
        return f"raises {str(error).split(': ', 2)[1]}"
    except Exception as error:  # whatever the template raises
        return f"raises {type(error).__name__}"


@pytest.mark.parametrize("environment", ["jinja2", "lm_eval", "transformers"])
@pytest.mark.parametrize("source", [*TEMPLATES, *BREAKS])
@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_corner(source: str, environment: str) -> None:
    if source in BREAKS and environment != "transformers":
        return  # no such tags
    reference = Reference(source, environment)
    template = pp.JinjaTemplate(source, environment=environment)
    wanted = [outcome(reference.render, row) for row in ROWS.to_pylist()]
    single = [outcome(lambda row: template.render(ROWS.slice(row, 1))["prompt"][0], row) for row in range(len(ROWS))]
    assert single == wanted
    fine = [row for row, text in enumerate(wanted) if not text.startswith("raises ")]
    if fine:
        assert template.render(ROWS.take(fine))["prompt"].to_pylist() == [wanted[row] for row in fine]


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_names_of_fields_with_nul_are_left_to_jinja2() -> None:
    row = {"d": {"a\0b": "x"}, "ds": [{"c": {"\0": 1}}]}
    table = pa.table({name: pa.array([value]) for name, value in row.items()})
    for source in ("{{ d }} {{ ds }}", "{% for x in d %}{{ x }}{% endfor %}", "{{ ds[0].c | tojson }}"):
        template = pp.JinjaTemplate(source)
        assert template.render(table)["prompt"].to_pylist() == [jinja2.Environment().from_string(source).render(row)]
        assert template.last_run is not None
        (reason,) = template.last_run.reasons
        assert "NUL" in reason


@pytest.mark.parametrize(
    "source",
    [f"{{{{ x is {kind} }}}}" for kind in ("string", "number", "mapping", "sequence", "iterable", "boolean", "none")]
    + ["{% set d = {'k': x, 'a': 1} %}{{ x in d }}"],
)
@UNWARNED
@pytest.mark.parametrize("value", [b"q", [1], {"p": 1}, 1.5, "a", True, None], ids=repr)
def test_questions_about_any_value(source: str, value: Any) -> None:
    try:
        want = jinja2.Environment().from_string(source).render(x=value)
    except TypeError as error:
        with pytest.raises(pp.RenderError, match=re.escape(f"row 0: TypeError: {error}")):
            pp.JinjaTemplate(source).render(pa.table({"x": [value]}))
    else:
        assert pp.JinjaTemplate(source).render(pa.table({"x": [value]}))["prompt"].to_pylist() == [want]
