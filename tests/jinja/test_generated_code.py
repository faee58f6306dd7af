"""What generating a template's code raises is raised when the template is made; and the names that the code reads."""

from __future__ import annotations

import time
import warnings
from random import Random

import promptpress as pp
import pytest
from generators.random_templates import NAMES, Templates
from jinja2.meta import find_undeclared_variables
from promptpress._jinja.reference import Reference
from promptpress._jinja.sandbox.environments import ENVIRONMENTS, environment

NOW = {
    "jinja2": [
        "{{ a|unknown }}",
        "{{ a is unknown }}",
        "{% if a %}{% for x in y %}{{ x|unknown }}{% endfor %}{% endif %}",
        "{% block a %}{% endblock %}{% block a %}{% endblock %}",
        "{% for loop in x %}{% endfor %}",
        "{% for x in y %}{% set loop = 1 %}{% endfor %}",
        "{% macro m(caller) %}{{ caller() }}{% endmacro %}",
        "{% macro m(a, a) %}{% endmacro %}",
        "{% macro m(\ufb01, fi) %}{% endmacro %}",
        "{% call(a, a) m() %}{% endcall %}",
        "{% call m(caller=1) %}{% endcall %}",
        "{{ m(a=1, a=2) }}",
        "{{ a|default(value=1, value=2) }}",
        "{{ m(__debug__=1) }}",
        "{{ {[1]: 2} }}",
        "{{ 1[1:2] }}",
        "{{ ('1'|int)[1:2] }}",
        "{{ 0x" + "f" * 4000 + " }}",
        "{{ 0x" + "f" * 40_000 + " }}",
        "{{ '0x" + "f" * 4000 + "'|int(base=16) }}",
        "{{ '0x" + "f" * 4000 + "'|int(0, 16) }}",
        "{{ ['0x" + "f" * 4000 + "']|map('int', 0, 16)|list }}",
        "{% set x|replace(a, b) %}c{% endset %}",
        "{% for x in y %}" * 21 + "{% endfor %}" * 21,
        "{% if x %}" * 101 + "{% endif %}" * 101,
        "{{ " + "not " * 60 + "a }}",
        "{% if x %}{% extends 'a' %}{% endif %}",
    ],
    "transformers": [
        "{% break %}",
        "{% for x in y %}{% else %}{% continue %}{% endfor %}",
        "{% for x in y %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
        "{% for x in y %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    ],
}


def as_at_once(source: str, name: str) -> str | None:
    """Return what Jinja2 raises when it makes the template."""
    engine = environment(name)
    try:
        engine.from_string(source)
    except Exception as error:
        return str(getattr(error, "message", None) or error)
    return None


@pytest.mark.parametrize(("name", "source"), [(name, source) for name, sources in NOW.items() for source in sources])
def test_what_generating_raises_is_raised_when_the_template_is_made(name: str, source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = as_at_once(source, name)
        if expected is None:
            Reference(source, name)
            return
        with pytest.raises(pp.TemplateError) as caught:
            Reference(source, name)
        if "<template>" not in expected and "<unknown>" not in expected:
            assert expected in str(caught.value)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_names_are_those_that_jinja2_finds(name: str) -> None:
    templates = Templates(Random(3))
    templates.variables = [*NAMES, "range", "namespace"]
    engine = environment(name)
    for _ in range(100):
        source = f"{{{{ {templates.expression(3)} }}}}{{% if range and {templates.expression(2)} %}}{{% endif %}}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference = Reference(source, name)
        assert reference.undeclared == find_undeclared_variables(engine.parse(source))


def test_filters_past_a_dicts_methods_are_not_there() -> None:
    """A filter with a guard can't be had without it, even by code that copies the dict as C does."""
    filters = environment("jinja2").filters
    assert set(dict.copy(filters).values()) == {None}
    assert filters.copy()["upper"] is filters["upper"] is filters.get("upper")
    assert dict(filters.items())["upper"] is filters["upper"]
    assert filters.get("unknown", 7) == 7
    with pytest.raises(KeyError):
        filters["unknown"]


@pytest.mark.parametrize(
    "deep",
    [
        "{{ " + "not " * 300 + "a }}",
        "{{ " + "-" * 300 + "a }}",
        "{{ a" + "|upper" * 300 + " }}",
        "{{ a" + ".b" * 300 + " }}",
    ],
    ids=["not", "minus", "filters", "attributes"],
)
def test_deep_expressions_are_refused_at_once(deep: str) -> None:
    start = time.process_time()
    with pytest.raises(pp.TemplateError, match="within each other") as caught:
        pp.JinjaTemplate(deep)
    assert caught.value.code == "template_limit"
    assert time.process_time() - start < 1
