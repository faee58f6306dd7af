"""Constants of a Jinja template: variables with the same value in all rows."""

from __future__ import annotations

import pickle
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from jinja2 import Environment

SOURCE = "{{ task.name | upper }} {{ q }}{% for x in xs if x is not none %} {{ x + n }}{% endfor %}{{ flag }}"
CONSTANTS: dict[str, Any] = {"task": {"name": "add"}, "xs": [1, 2.5, None], "n": 3, "flag": True}
ROWS = pa.table({"q": ["1+1?", "2"], "n": [100, 200]})


@pytest.mark.parametrize("environment", ["jinja2", "transformers", "lm_eval"])
def test_they_are_variables_of_every_row(environment: Any) -> None:
    template = pp.JinjaTemplate(SOURCE, environment, constants=CONSTANTS)
    wanted = [Environment().from_string(SOURCE).render(q=q, **CONSTANTS) for q in ROWS["q"].to_pylist()]
    table = template.render(ROWS, spans=True)
    assert table["prompt"].to_pylist() == wanted
    assert [span["source"] for span in table["spans"][0].as_py()] == ["template", "field", "template"]
    assert template.required_columns == ["q"]
    assert [batch["prompt"].to_pylist() for batch in template.stream(ROWS)] == [wanted]
    assert template.last_run is not None
    assert template.last_run.jinja2 == 0


def test_a_template_is_what_it_is_made_of() -> None:
    template = pp.JinjaTemplate(SOURCE, constants=CONSTANTS)
    again = pickle.loads(pickle.dumps(template))
    turned = pp.JinjaTemplate(SOURCE, constants=dict(reversed(CONSTANTS.items())))
    assert again == template == turned
    assert hash(again) == hash(turned)
    assert again.render(ROWS).equals(template.render(ROWS))
    assert template.fingerprint() == turned.fingerprint()
    other = pp.JinjaTemplate(SOURCE, constants={**CONSTANTS, "flag": 1})
    assert other != template
    assert other.fingerprint() != template.fingerprint()
    assert pp.JinjaTemplate("{{ q }}", constants={}) == pp.JinjaTemplate("{{ q }}")
    assert "constants={'a': 1}" in repr(pp.JinjaTemplate("{{ a }}", constants={"a": 1}))


@pytest.mark.parametrize(
    ("constants", "path"),
    [
        ([1], "constants"),
        ({"a b": 1}, "constants"),
        ({"self": 1}, "constants"),
        ({"f": print}, "constants.f"),
        ({"f": {1: 2}}, "constants.f"),
    ],
)
def test_what_is_no_constant(constants: Any, path: str) -> None:
    with pytest.raises(pp.TemplateError) as error:
        pp.JinjaTemplate("{{ q }}", constants=constants)
    assert (error.value.code, error.value.path) == ("wrong_type", path)
