"""Code that is generated late: what generating it would raise is raised when the template is made, all the same."""

from __future__ import annotations

import time
import warnings
from random import Random

import promptpress as pp
import pytest
from generators.random_templates import NAMES, Templates
from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from promptpress._jinja.reference import MAX_DEPTH, MAX_LOOPS, MAX_WAYS, Reference, Survey
from promptpress._jinja.sandbox.environments import ENVIRONMENTS, environment

LATE = [
    "",
    "{{ a.strip() }} {{ b[0] }}{{ c[1:-1] }}{{ 'x' ~ d }}",
    "{% if a is none and b|length > 3 %}{{ b|join(', ') }}{% elif c %}x{% else %}y{% endif %}",
    "{% for x in xs if x %}{{ loop.index }}{{ x }}{% else %}none{% endfor %}",
    "{% set ns = namespace(found=false) %}{% set ns.found = true %}{% set x, y = 1, 2 %}{% set z %}a{% endset %}",
    "{% macro m(a, b=1) %}{{ a }}{{ caller() }}{% endmacro %}{% call m(1) %}x{% endcall %}{{ m(1, b=2) }}",
    "{% filter upper %}a{% endfilter %}{% with a = 1 %}{{ a }}{% endwith %}",
    "{{ {'a': 1, b: [1, (2, 3)]} | tojson(indent=2) }}",
]
LATE_CHATS = [
    "{% for m in messages %}{% if m.role == 'x' %}{% continue %}{% endif %}{{ m.content }}{% break %}{% endfor %}",
    "{% generation %}{{ a }}{% endgeneration %}",
]
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


def survey_of(source: str, name: str = "jinja2") -> Survey:
    engine = environment(name)
    return Survey(engine.parse(source), engine.filters, engine.tests)


def as_at_once(source: str, name: str) -> str | None:
    """Return what Jinja2 raises when it makes the template."""
    engine = environment(name)
    try:
        engine.from_string(source)
    except Exception as error:
        return str(getattr(error, "message", None) or error)
    return None


@pytest.mark.parametrize(
    ("source", "name"),
    [*((source, "jinja2") for source in LATE), *((source, "transformers") for source in LATE_CHATS)],
)
def test_code_that_cannot_fail_is_generated_with_the_first_row(source: str, name: str) -> None:
    reference = Reference(source, name)
    assert reference._compiled is None
    before = repr(reference.ast())
    try:
        reference.render({"m": str, "messages": []})
    except Exception:  # names are missing
        assert reference._compiled is not None
    assert reference._compiled is not None
    # The tree that is evaluated isn't the one that code was generated from.
    assert repr(reference.ast()) == before


@pytest.mark.parametrize(("name", "source"), [(name, source) for name, sources in NOW.items() for source in sources])
def test_what_generating_raises_is_raised_when_the_template_is_made(name: str, source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = as_at_once(source, name)
        assert not survey_of(source, name).is_certain
        if expected is None:
            assert Reference(source, name)._compiled is not None
            return
        with pytest.raises(pp.TemplateError) as caught:
            Reference(source, name)
        if "<template>" not in expected and "<unknown>" not in expected:
            assert expected in str(caught.value)


def nested(kind: str, depth: int) -> str:
    if kind == "loops":
        return "{% for x in y %}" * depth + "{% endfor %}" * depth
    if kind == "ways":
        return "{% if a %}" + "{% elif b %}" * depth + "{% endif %}"
    before, after = {
        "lists": ("[", "]"),
        "calls": ("f(a=", ")"),
        "keywords": ("f(class=", ", **d)"),
        "items": ("a[", "]"),
        "slices": ("a[b:", "]"),
        "compared": ("(a == ", ")"),
        "dicts": ("{'a': ", "}"),
        "chosen": ("(a if b else ", ")"),
        "concatenated": ("(a ~ ", ")"),
        "computed": ("(a ** ", ")"),
        "nots": ("not ", ""),
    }[kind]
    return "{% if a %}" + "{{ " + before * depth + "a" + after * depth + " }}{% endif %}"


DEEP = ["loops", "ways", "lists", "calls", "keywords", "items", "slices", "compared", "dicts", "chosen", "concatenated"]


@pytest.mark.parametrize("kind", [*DEEP, "computed", "nots"])
def test_python_compiles_whatever_is_within_the_limits(kind: str) -> None:
    """The deepest that is generated late compiles, and there is a depth from which on it isn't generated late."""
    most = {"loops": MAX_LOOPS, "ways": MAX_WAYS}.get(kind, MAX_DEPTH) + 2
    certain = [depth for depth in range(most) if survey_of(nested(kind, depth)).is_certain]
    assert certain == list(range(len(certain)))
    assert 10 < len(certain) < most
    assert as_at_once(nested(kind, certain[-1]), "jinja2") is None


ODD_EXPRESSIONS = [
    "a", "self", "loop", "loop.index", "caller()", "varargs", "kwargs", "ﬁ", "1", "'x'", "none", "1.5", "1e999",
    "'9' * 9", "[1, {E}]", "({E},)", "{{'k': {E}}}", "{{{E}: 1}}", "{E}[{E}]", "{E}[{E}:]", "{E}[::{E}]", "{E}.k",
    "{E}|int", "{E}|int({E})", "{E}|int(base={E})", "{E}|unknown", "{E} is unknown", "{E} is string", "{E}|list",
    "{E}({E})", "{E}(k={E})", "{E}(k={E}, k=1)", "{E}(class={E})", "{E}(caller=1)", "{E}(_loop_vars=1)", "{E}(*{E})",
    "{E}(**{E})", "{E} + {E}", "{E} ~ {E}", "-{E}", "not {E}", "{E} == {E}", "{E} in {E}", "{E} and {E}",
    "({E} if {E})", "({E} if {E} else {E})", "{E}|map('upper')|list", "{E}|map('int', {E}, 16)|list", "{E}|tojson",
    "{E}|default(value={E})", "{E}|selectattr('k', 'unknown')|list", "{E} is divisibleby({E})", "{E} < {E} < {E}",
]  # fmt: skip
ODD_STATEMENTS = [
    "{{{{ {E} }}}}", "text", "{{% if {E} %}}{S}{{% elif {E} %}}{S}{{% else %}}{S}{{% endif %}}",
    "{{% for x in {E} %}}{S}{{% endfor %}}", "{{% for x in {E} if {E} %}}{S}{{% else %}}{S}{{% endfor %}}",
    "{{% for x, y in {E} recursive %}}{S}{{% endfor %}}", "{{% for loop in {E} %}}{S}{{% endfor %}}",
    "{{% set x = {E} %}}", "{{% set loop = {E} %}}", "{{% set self = {E} %}}", "{{% set a.b = {E} %}}",
    "{{% set x, a.b, x = {E} %}}", "{{% set x %}}{S}{{% endset %}}", "{{% set x|replace({E}, y) %}}{S}{{% endset %}}",
    "{{% set a.b %}}{S}{{% endset %}}", "{{% filter replace('a', {E}) %}}{S}{{% endfilter %}}",
    "{{% with x = {E}, y = {E} %}}{S}{{% endwith %}}", "{{% macro m(x, y={E}) %}}{S}{{% endmacro %}}",
    "{{% macro m(caller) %}}{S}{{% endmacro %}}", "{{% macro m(x, x) %}}{S}{{% endmacro %}}",
    "{{% call a({E}) %}}{S}{{% endcall %}}", "{{% call(x, kwargs) a(caller={E}) %}}{S}{{% endcall %}}",
    "{{% block b %}}{S}{{% endblock %}}", "{{% include {E} %}}", "{{% import {E} as x %}}", "{{% break %}}",
    "{{% from {E} import x %}}", "{{% continue %}}", "{{% generation %}}{S}{{% endgeneration %}}", "{{% do {E} %}}",
    "{{% autoescape {E} %}}{S}{{% endautoescape %}}", "{{% extends {E} %}}",
]  # fmt: skip


def odd(random: Random, forms: list[str], depth: int) -> str:
    """A template's text, of forms that hold others."""
    form = random.choice(forms)
    while depth <= 0 and ("{E}" in form or "{S}" in form):
        form = random.choice(forms)
    out = []
    for gap, part in enumerate(form.split("{E}")):
        inner = part.split("{S}")
        out += [odd(random, ODD_EXPRESSIONS, depth - 1)] if gap else []
        for index, piece in enumerate(inner):
            if index:
                out += [odd(random, ODD_STATEMENTS, depth - 1) for _ in range(random.randint(1, 2))]
            out.append(piece.replace("{{", "{").replace("}}", "}"))
    return "".join(out)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_whatever_is_generated_late_can_be_generated(name: str) -> None:
    """Odd templates, most of which Jinja2 refuses: none that it refuses is taken for one that it doesn't."""
    random, late, now = Random(name), 0, 0
    engine = environment(name)
    for _ in range(3000):
        source = odd(random, ODD_STATEMENTS, random.randint(1, 4))
        try:
            tree = engine.parse(source)
        except Exception:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            raised = as_at_once(source, name)
        is_certain = Survey(tree, engine.filters, engine.tests).is_certain
        assert not (raised and is_certain), (source, raised)
        late += is_certain
        now += raised is not None
    assert late > 300
    assert now > 300


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_names_are_those_that_jinja2_finds(name: str) -> None:
    templates = Templates(Random(3))
    templates.variables = [*NAMES, "range", "namespace"]
    engine = environment(name)
    count = 0
    for _ in range(100):
        source = f"{{{{ {templates.expression(3)} }}}}{{% if range and {templates.expression(2)} %}}{{% endif %}}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference = Reference(source, name)
        if reference.names_read is not None:
            count += 1
            globals_read = {node.name for node in reference.ast().find_all(nodes.Name)} & set(engine.globals)
            assert reference.names_read == find_undeclared_variables(engine.parse(source)) | globals_read
    assert count > 50


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
