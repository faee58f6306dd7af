"""Conversations of odd objects are what transformers makes of them: names of types, tuples, dicts of any keys."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amounts import part_of
from generators.odd_objects import odd_conversation

utils = pytest.importorskip("transformers.utils.chat_template_utils")
pytest.importorskip("jinja2")

from promptpress import ChatTemplate, RenderError  # noqa: E402 - skipped without Jinja2

SOURCE = (
    "{% for m in messages %}{% for k, v in m.items() %}{{ k }}={{ v }};{{ v is string }}{{ v is mapping }}"
    "{{ v is sequence }}{{ v is number }}{{ v | tojson }}{% endfor %}|{% endfor %}"
)


def reference(conversation: Any) -> str | None:
    """Return the text of transformers; None if it raises."""
    try:
        text: str = utils.render_jinja_template([conversation], chat_template=SOURCE)[0][0]
        text.encode()
    except Exception:  # whatever the template raises
        return None
    return text


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
@pytest.mark.parametrize("seed", range(part_of(40)))
def test_objects_are_what_transformers_makes_of_them(seed: int) -> None:
    drawn = random.Random(seed)
    template = ChatTemplate(SOURCE)
    for _ in range(100):
        conversation = odd_conversation(drawn)
        wanted = reference(conversation)
        try:
            (got,) = template.render([{"messages": conversation}])["prompt"].to_pylist()
        except RenderError:
            got = None
        assert got == wanted, conversation
