"""Variables that no column gives: what a Jinja template warns of, and what guards a variable."""

from __future__ import annotations

import pickle
import warnings
from random import Random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz import undefined_names as flow
from generators.flow_templates import FlowTemplates
from jinja2 import Environment
from promptpress._engine.table_engine import engine_of
from promptpress._jinja.undefined_names import guarded_names, undefined_names

SAMPLES = pa.table({"question": ["1+1=?"], "items": [["a"]]})


def undefined(source: str, table: pa.Table = SAMPLES, **options: Any) -> list[str]:
    """Return the names that a template warns of."""
    texts = engine_of(pp.JinjaTemplate(source, **options)).undefined_names(table.schema)
    return [text.split("'")[1] for text in texts]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("{{ questoin }}{{ question }}", ["questoin"]),
        ("{{ b.c[d] }}{% if a %}{% endif %}{% for x in e %}{{ x }}{% endfor %}", ["b", "d", "a", "e"]),
        # Guards are of the tree: of a variable itself, wherever they stand.
        ("{% if a is defined %}{{ a }}{% endif %}", []),
        ("{% if a is not defined %}{% set a = '' %}{% endif %}{{ a }}", []),
        ("{{ a if a is defined and a else '' }}", []),
        ("{{ a }}{{ 'x' if a is undefined }}", []),
        ("{{ a | default('') }}{{ b | d }}{{ c | default(true, true) | upper }}", []),
        ("{{ a.b | default('') }}{{ c | trim | default('') }}", ["a", "c"]),
        ("{{ 'a is defined' }}{# a | d #}{{ a }}", ["a"]),
        ("{% raw %}{{ a }}{{ b | d }}{% endraw %}{{ b }}", ["b"]),
        ("{{ a is defined }}{{ b is none }}{{ c is string }}", ["b", "c"]),
        # What the template gives itself.
        ("{% set a = 1 %}{{ a }}{% set b %}x{% endset %}{{ b }}{% set ns = namespace(n=1) %}{{ ns.n }}", []),
        ("{% for a, b in [(1, 2)] %}{{ a }}{{ b }}{{ loop.index }}{% endfor %}", []),
        ("{% macro m(a, b=1) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}", []),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(a) }}", ["a"]),
        ("{% with a = 1 %}{{ a }}{% endwith %}{{ a }}", ["a"]),
        ("{% block x %}{{ super() }}{{ self.x() }}{% endblock %}", []),
        ("{{ range(3) }}{{ dict(a=1) }}{{ lipsum }}{{ cycler }}", []),
        ("{{ true }}{{ none }}{{ True }}", []),
    ],
)
def test_names_that_nothing_gives(source: str, names: list[str]) -> None:
    assert undefined(source) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        # Set on some way before it is read: branches, loops, scopes.
        ("{% if a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}", ["a"]),
        ("{% if items %}{% set x = 1 %}{% elif question %}{% set x = 2 %}{% endif %}{{ x }}", []),
        ("{{ x }}{% set x = 1 %}", ["x"]),
        ("{% for i in items %}{% set x = i %}{% endfor %}{{ x }}", ["x"]),
        ("{% for i in items %}{{ x }}{% set x = i %}{% endfor %}", ["x"]),
        ("{% for i in [] %}{{ x }}{% else %}{{ y }}{% endfor %}", ["y"]),
        ("{% with x = 1 %}{% set y = 1 %}{{ x }}{{ y }}{% endwith %}{{ y }}", ["y"]),
        (
            "{% filter upper %}{% set x = 1 %}{{ x }}{% endfilter %}{% set y %}{% set z = 1 %}{% endset %}{{ y ~ z }}",
            ["z"],
        ),
        ("{% if true %}{{ x }}{% else %}{{ y }}{% endif %}{{ 'a' if false else z }}", ["x", "z"]),
        # Macros and call blocks read when they are called.
        ("{% macro m() %}{{ x }}{% endmacro %}", []),
        ("{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}", []),
        ("{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% set x = 1 %}", ["x"]),
        ("{% macro m(a, b=x) %}{{ a }}{{ b }}{% endmacro %}{{ m(1, b=2) }}", []),
        ("{% macro m(a, b=x) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", ["x"]),
        ("{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(a) m() %}{{ a }}{{ x }}{% endcall %}", ["x"]),
        ("{% macro m() %}{% endmacro %}{% call m() %}{{ x }}{% endcall %}{{ n() }}", ["n"]),
        ("{% macro m() %}{{ x }}{% endmacro %}{% set n = m %}{{ n() }}", ["x"]),
        ("{% macro m() %}{{ m() }}{{ m() }}{{ x }}{% endmacro %}{{ m() }}", ["x"]),
        ("{% block b %}{{ x }}{% endblock %}{% set x = 1 %}{{ self.b() }}", ["x"]),
        ("{% set ns.n = 1 %}", ["ns"]),
        # What guards say of other names.
        ("{% if a is defined %}{{ b }}{% endif %}", []),
        ("{% if question is not defined %}{{ b }}{% else %}{{ c }}{% endif %}", ["c"]),
        ("{{ question | default(b) }}{{ a | default(c) }}", ["c"]),
    ],
)
def test_names_follow_the_flow(source: str, names: list[str]) -> None:
    assert undefined(source) == names


def test_a_tag_of_an_extension_renders_its_body() -> None:
    source = "{% generation %}{% set x = 1 %}{{ x }}{{ y }}{% endgeneration %}"
    source += "{% for m in items %}{% break %}{{ z }}{% endfor %}"
    assert undefined(source, environment="transformers") == ["y"]


@pytest.mark.parametrize("depth", [50, 300])
def test_a_deep_template_takes_no_longer(depth: int) -> None:
    macros = "".join(
        f"{{% macro m{n} () %}}{{{{ m{n + 1}() }}}}{{{{ m{n + 1}() }}}}{{% endmacro %}}" for n in range(depth)
    )
    ways = "{% if a %}" + "{% elif b %}{% set x = 1 %}" * depth + "{% endif %}"
    assert sorted(undefined_names(Environment().parse(macros + ways + "{{ x }}{{ m0() }}"), ())) == ["a", "b"]


def test_notes_are_those_of_strict_rows() -> None:
    """Random templates, one name left out at a time: `make fuzz FUZZ_ARGS="undefined_names --requests N"` has more."""
    random, counts = Random(4), flow.Counts()
    for _ in range(part_of(120)):
        flow.check(FlowTemplates(random), counts)
    assert counts.noted > 5 * counts.unreachable
    assert counts.silent > 20


def test_globals_of_an_environment_are_given() -> None:
    source = "{% if not question %}{{ raise_exception('x') }}{% endif %}{{ strftime_now('%Y') }}"
    assert undefined(source, environment="transformers") == []
    assert undefined(source) == ["raise_exception", "strftime_now"]


def test_guards_are_not_found_by_text() -> None:
    source = "{{ a if b is defined }}{{ c | replace('d', 'e') }}{{ f(g | d, h is undefined) }}"
    assert guarded_names(Environment().parse(source)) == {"b", "g", "h"}


def test_a_template_warns_once_for_a_schema() -> None:
    template = pp.JinjaTemplate("{{ questoin }}\n{{ context }}{{ question }}")
    with pytest.warns(pp.PromptWarning) as caught:
        template.render(SAMPLES)
    template.render(SAMPLES)  # a warning would be an error here
    template.stream(SAMPLES).read_all()
    template(SAMPLES)
    (warning,) = caught
    assert warning.filename == __file__
    undefined_name = "is no column, and the template doesn't set it, so it is undefined"
    assert str(warning.message).splitlines() == [
        f"line 1: 'questoin' {undefined_name}; did you mean 'question'?",
        f"  line 2: 'context' {undefined_name}; `is defined` or `default` says that it may be missing",
        "(JinjaTemplate.required_columns lists the variables)",
    ]
    with pytest.warns(pp.PromptWarning, match="'context' is no column"):
        template.render(SAMPLES.append_column("questoin", pa.array(["x"])))
    with pytest.warns(pp.PromptWarning, match="'questoin' is no column"):
        pickle.loads(pickle.dumps(template))(SAMPLES.to_batches()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(pp.PromptWarning):
                pp.JinjaTemplate("{{ a }}").render(SAMPLES)
