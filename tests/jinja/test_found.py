"""Faults that attacks on JinjaTemplate found, compared with Jinja2."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

jinja2 = pytest.importorskip("jinja2")

pytestmark = UNWARNED

NAN = float("nan")
ROWS = pa.table(
    {
        "number": [NAN, 1.5, None, NAN],
        "numbers": [[NAN, 1.5], [1.5], [1.5, None], [0.1, NAN]],
        "text": ["99999999999 {}", "99999999999999999", "x", "{:>10}"],
    }
)


def same_as_jinja(source: str, table: pa.Table = ROWS) -> pp.JinjaTemplate:
    """Render by both."""
    engine = jinja2.Environment().from_string(source)
    template = pp.JinjaTemplate(source)
    assert template.render(table)["prompt"].to_pylist() == [engine.render(**row) for row in table.to_pylist()]
    return template


@pytest.mark.parametrize(
    "source",
    [
        "{{ number in [number] }} {{ number in (1, number) }}",
        "{{ [number] == [number] }} {{ {'a': number} == {'a': number} }} {{ number == number }}",
        "{{ [1.0, number].index(number) }}",
        "{% set ns = namespace(x=number) %}{% for n in numbers %}{{ n in [ns.x] }}{% set ns.x = n %}{% endfor %}",
        "{{ (number if numbers|length > 1 else numbers[0]) in [numbers[0], number] }}",
    ],
)
def test_nan_in_a_container_equals_itself(source: str) -> None:
    same_as_jinja(source)


def test_numbers_that_cannot_be_nan_stay_compiled() -> None:
    template = same_as_jinja("{{ n in [n, 2] }}{{ [n] == [1] }}", pa.table({"n": [1, 2, None, 4]}))
    assert template.last_run is not None
    assert template.last_run.compiled == 4


@pytest.mark.parametrize("source", ["{{ self }}", "{{ [self, text] }}", "{{ self is callable }}{{ text }}"])
def test_self(source: str) -> None:
    same_as_jinja(source)


@pytest.mark.parametrize("source", ["{{ {}.items }}", "{{ joiner() ~ text }}", "{{ [text, {}.keys] }}"])
def test_addresses_are_no_constants(source: str) -> None:
    template = pp.JinjaTemplate(source)
    assert all(" at 0x" in text for text in template.render(ROWS)["prompt"].to_pylist())
    assert template.last_run is not None
    assert template.last_run.compiled == 0


@pytest.mark.parametrize(
    "expression",
    [
        "text is sameas ()",
        "text is divisibleby ()",
        "number is divisibleby ()",
        "text is true(1)",
        "[text]|join(zz=1)",
        "[text]|join(1, 2, 3)",
        "[text]|tojson(1, 2, 3)",
    ],
)
def test_wrong_numbers_of_arguments(expression: str) -> None:
    source = "{{ " + expression + " }}"
    with pytest.raises(TypeError):
        jinja2.Environment().from_string(source).render(**ROWS.to_pylist()[0])
    with pytest.raises(pp.RenderError, match="row 0: TypeError: "):
        pp.JinjaTemplate(source).render(ROWS)


@pytest.mark.parametrize("filtered", ["length", "default(1)|length", "first|int"])
def test_a_filter_block_that_gives_no_text(filtered: str) -> None:
    source = "{% filter " + filtered + " %}{{ text }}{% endfilter %}"
    with pytest.raises(pp.RenderError, match="row 0: TypeError: sequence item 0: expected str instance, int found"):
        pp.JinjaTemplate(source).render(ROWS)


def test_filter_blocks_stay_compiled() -> None:
    for filtered in ("upper", "trim|safe", "default('x')"):
        template = same_as_jinja("{% filter " + filtered + " %}{{ text }}{% endfilter %}")
        assert template.last_run is not None
        assert template.last_run.compiled == 4


@pytest.mark.parametrize(
    "source",
    [
        "{{ text.format(number) }}",
        "{{ '{} 99999999999 {{99999999999}}'.format(text) }}",
        "{{ '{0:>5} 99999999999'.format(text) }}",
        "{{ '%s 99999999999' % text }}",
        "{{ '%%9999999999 %s'|format(text) }}",
    ],
)
def test_numbers_next_to_fields_are_no_widths(source: str) -> None:
    same_as_jinja(source)


@pytest.mark.parametrize(
    "expression",
    [
        "'{:>99999999999}'.format(1)",
        "'{:{}99999999999}'.format(1, 9)",
        "'{{{0:99999999999}}}'.format(1)",
        "'{a[}]:99999999999}'.format(a={'}': 1})",
        "'%99999999999d' % 1",
        "'%5%%99999999999d' % (1, 1)",
        "'%.99999999999f' % 1",
        "'%-5.99999999999f' % 1",
        "'%(a)99999999999d' % {'a': 1}",
    ],
)
def test_widths_stay_bounded(expression: str) -> None:
    def rendered(source: str) -> Any:
        return pp.JinjaTemplate(source).render(ROWS)

    with pytest.raises(pp.RenderError, match="limit exceeded"):
        rendered("{{ " + expression + " ~ text }}")


@pytest.mark.parametrize("name", ["text", "number", "flag", "words", "record", "record.name"])
@pytest.mark.parametrize("use", ["'a' if {} else 'b'", "not ({})", "({}) and 1", "({}) ~ '<'", "[{}]", "{}"])
def test_what_is_called_safe_is_true_as_its_text_is(name: str, use: str) -> None:
    values = {
        "text": ["", None, "x"],
        "number": [0, None, 1],
        "flag": [False, None, True],
        "words": [[], None, [""]],
        "record": [{"name": ""}, {"name": None}, {"name": "x"}],
    }
    same_as_jinja("{{ " + use.format(f"{name}|safe") + " }}", pa.table(values))
