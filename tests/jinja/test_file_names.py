"""The name of a file in the place of a template."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pytest


@pytest.mark.parametrize("make", [pp.JinjaTemplate, pp.ChatTemplate])
@pytest.mark.parametrize("name", ["chatml.jinja", "models/qwen3/chat_template.jinja", "a.j2", "tokenizer_config.json"])
def test_the_name_of_a_file_is_no_template(make: Any, name: str) -> None:
    with pytest.warns(pp.PromptWarning, match="is the name of a file, and would be the text of every prompt"):
        make(name)


@pytest.mark.parametrize("make", [pp.JinjaTemplate, pp.ChatTemplate])
@pytest.mark.parametrize("source", ["Read a.jinja", "{{ q }}.jinja", "", "jinja"])
def test_texts_are_templates(make: Any, source: str) -> None:
    make(source)
