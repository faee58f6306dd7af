"""Token ids in a meta template: those that a prompt shows need a text, and no others."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

SAMPLES = pa.table({"q": ["1+1"], "a": ["2"]})
TURNS = [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]


def meta(**ids: Any) -> dict[str, Any]:
    """A meta template; `human_begin=[1]` and so on give its roles token ids."""
    out: dict[str, Any] = {
        "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
    }
    human, bot, system = *out["round"], *out["reserved_roles"]
    for name, parts in ids.items():
        role, key = name.split("_")
        {"human": human, "bot": bot, "system": system}[role][key] = parts
    return out


EVERYWHERE = meta(human_begin=[1, 2], human_end=[3], bot_begin=[4], bot_end=[5], system_begin=["<", 6])


@pytest.mark.parametrize("output", ["text", "messages", "messages_json", "prompt_list"])
@pytest.mark.parametrize("mode", ["gen", "ppl"])
def test_a_string_speaks_in_no_role(output: str, mode: str) -> None:
    labels = ["A"] if mode == "ppl" else None
    renderer = pp.Renderer("{q}", meta_template=EVERYWHERE, output=output, mode=mode, labels=labels)
    want = '"1+1"' if output == "messages_json" else "1+1"
    assert renderer.render(SAMPLES)["prompt"].to_pylist() == [want]


@pytest.mark.parametrize("output", ["text", "messages"])
def test_a_role_that_nobody_speaks_in_needs_no_text(output: str) -> None:
    arguments: dict[str, Any] = {"meta_template": meta(system_begin=[1], system_end=[2, None]), "output": output}
    want = pp.Renderer({"round": TURNS}, **{**arguments, "meta_template": meta()}).render(SAMPLES)
    assert pp.Renderer({"round": TURNS}, **arguments).render(SAMPLES).equals(want)
    begin = [{"role": "SYSTEM", "prompt": "Sys"}]
    with pytest.raises(
        pp.TemplateError,
        match=r"meta_template\.reserved_roles\[0\]\.begin\[0\]: token id 1 has no text; give it by tokens=\{1: ...\}",
    ):
        pp.Renderer({"begin": begin, "round": TURNS}, **arguments)
    with pytest.raises(
        pp.TemplateError, match=r"reserved_roles\[0\]\.end\[1\]: expected a str or a token id, found None"
    ):
        pp.Renderer({"begin": begin, "round": TURNS}, **arguments, tokens={1: "a", 2: "b"})


@pytest.mark.parametrize("key", ["human_begin", "human_end"])
@pytest.mark.parametrize("output", ["text", "messages"])
def test_a_role_that_speaks_needs_its_text(key: str, output: str) -> None:
    message = rf"meta_template\.round\[0\]\.{key.partition('_')[2]}\[1\]: token id 7 has no text"
    arguments: dict[str, Any] = {"meta_template": meta(**{key: ["<", 7]}), "output": output}
    with pytest.raises(pp.TemplateError, match=message):
        pp.Renderer({"round": TURNS}, **arguments)
    pp.Renderer({"round": TURNS}, **arguments, tokens={7: "|"})


def test_generation_stops_before_the_end_of_the_role_that_generates() -> None:
    arguments: dict[str, Any] = {"prompt_template": {"round": TURNS}, "meta_template": meta(bot_end=[7])}
    assert pp.Renderer(**arguments, output="text").render(SAMPLES)["prompt"].to_pylist() == ["1+1"]
    with pytest.raises(pp.TemplateError, match=r"round\[1\]\.end\[0\]: token id 7 has no text"):
        pp.Renderer(**arguments, output="text", mode="ppl", labels=["A"])
    # Among messages it doesn't speak at all.
    pp.Renderer(**{**arguments, "meta_template": meta(bot_begin=[6], bot_end=[7])}, output="messages")


def test_a_chat_shows_the_roles_that_it_has() -> None:
    arguments: dict[str, Any] = {
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "inferencer": {"type": "ChatInferencer"},
        "output": "text",
    }
    chat = pp.Renderer(**arguments, meta_template=meta(system_begin=[1], bot_begin="<B>"))
    assert chat.render(SAMPLES)["prompt"].to_pylist() == ["1+1<B>"]
    with pytest.raises(pp.TemplateError, match=r"round\[1\]\.begin\[0\]: token id 4 has no text"):
        pp.Renderer(**arguments, meta_template=EVERYWHERE)
    # Who else speaks is in the data.
    chat = pp.Renderer(**arguments, meta_template=meta(human_begin=[1]))
    with pytest.raises(pp.RenderError, match=r"row 0: meta_template\.round\[0\]\.begin\[0\]: token id 1 has no text"):
        chat.render(SAMPLES)
