"""Variables that no column gives: what a Jinja template warns of, and what guards a variable."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from jinja2 import Environment
from promptpress._engine.table_renderer import engine_of
from promptpress._jinja.survey import guarded_names

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
