"""Chat templates whose texts were wrong or refused once, beside Jinja2 itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from marks import UNWARNED
from promptpress import ChatTemplate

pytestmark = UNWARNED

TABLE = pa.table({"messages": [[{"role": "user", "content": f"c{number}"}] for number in range(20)]})


def texts(source: str, **arguments: Any) -> list[str]:
    return ChatTemplate(source, **arguments).render(TABLE)["prompt"].to_pylist()


@pytest.mark.parametrize(
    "value",
    [
        "messages[0].items",
        "messages.index ~ ''",
        "joiner()",
        "'%s' | format(messages[0].items)",
        "'{}'.format(messages[0].items)",
        "messages[0].items | trim",
        "messages[0].items | upper",
        "[messages[0].items] | join",
        "[messages[0].items, messages[0].content]",
        "{'a': messages[0].items}",
        "messages[0].items | pprint",
        "messages[0].items ~ messages[0].content",
        "'abc'.upper",
    ],
)
def test_a_text_with_an_address_is_made_for_each_row(value: str) -> None:
    found = texts(f"{{{{ {value} }}}}|{{{{ messages[0].content }}}}")
    assert [text.rpartition("|")[2] for text in found] == [f"c{number}" for number in range(20)]
    assert all(" at 0x" in text.lower() for text in found)


@pytest.mark.parametrize("before", ["", "{% for m in messages %}", "{% if messages %}", "{% set a %}"])
def test_self_is_the_template(before: str) -> None:
    after = {"{% f": "{% endfor %}", "{% i": "{% endif %}", "{% s": "{% endset %}{{ a }}"}.get(before[:4], "")
    found = texts(before + "{{ self }}{{ self is defined }}{{ messages[0].content }}" + after)
    assert found == [f"<TemplateReference None>Truec{number}" for number in range(20)]


def test_a_variable_of_the_name_self_is_a_variable() -> None:
    chat = ChatTemplate("{% set self = messages[0].content %}{{ self }}{% for self in [1, 2] %}{{ self }}{% endfor %}")
    assert chat.render(TABLE)["prompt"].to_pylist() == [f"c{number}12" for number in range(20)]
    assert chat.last_run is not None
    assert chat.last_run.compiled == 19


def test_documents_stay_the_tuple_that_they_are() -> None:
    documents = ({"title": "a", "text": "b"},)
    assert texts("{{ documents }}", documents=documents) == ["({'title': 'a', 'text': 'b'},)"] * 20
    assert texts("{{ documents }}", documents=()) == ["()"] * 20
    assert texts("{{ documents }}", documents=list(documents)) == ["[{'title': 'a', 'text': 'b'}]"] * 20
