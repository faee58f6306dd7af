"""`tokens`: the texts of token ids in a meta template."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import SAMPLES, texts
from test_layouts import META, TURNS, many_chunks


def spoken(tokens: Any, begin: Any) -> str:
    meta = {"round": [{"role": "HUMAN", "begin": begin, "end": [2, "!"]}, {"role": "BOT"}], "eos_token_id": 7}
    renderer = pp.Renderer({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, meta_template=meta, tokens=tokens)
    assert renderer.eos_token_id == 7
    return str(texts(renderer.render(SAMPLES))[0])


def test_tokens_become_text() -> None:
    table = {1: "<one>", 2: "</two>"}
    for tokens in (table, table.get, MappingProxyType(table), lambda token: table[token]):
        assert spoken(tokens, [1, "x", 1]) == "<one>x<one>1+1?</two>!"


@pytest.mark.parametrize("tokens", [None, {}, {1: "<one>"}, lambda _: None])
def test_a_token_without_text_is_named(tokens: Any) -> None:
    with pytest.raises(pp.TemplateError, match=r"token id [12] has no text"):
        spoken(tokens, [1])


@pytest.mark.parametrize("text", [5, b"x", "\ud800"], ids=repr)
def test_a_token_whose_text_is_none_is_named(text: Any) -> None:
    for tokens in ({1: text, 2: ""}, lambda _: text):
        with pytest.raises(pp.TemplateError, match=r"tokens\["):
            spoken(tokens, [1])


def test_an_error_of_a_tokens_function_comes_through() -> None:
    def tokens(token: int) -> str:
        raise KeyError(token)

    with pytest.raises(KeyError):
        spoken(tokens, [1])


def test_eos_token_id_is_no_part_of_a_prompt() -> None:
    assert pp.Renderer("{q}").eos_token_id is None
    renderer = pp.Renderer({"round": TURNS}, meta_template={**META, "eos_token_id": [1, 2]}, output="text")
    assert renderer.eos_token_id == [1, 2]
    plain = pp.Renderer({"round": TURNS}, meta_template=META, output="text")
    samples = many_chunks(pa.string()).drop_columns(["shots"])
    assert texts(renderer.render(samples)) == texts(plain.render(samples))
