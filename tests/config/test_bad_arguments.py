"""Bad arguments and samples get an error that names the place."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from parts.bad_input_parts import META, SAMPLES, SHOTS, TURNS, invalid_utf8

BAD_RENDERERS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("nothing", {}, ["prompt_template"]),
    ("template of a wrong type", {"prompt_template": 3}, ["prompt_template"]),
    ("unknown type of template", {"prompt_template": {"type": "X", "template": "a"}}, ["prompt_template", "'X'"]),
    (
        "unknown role",
        {
            "prompt_template": {"begin": [{"role": "SYSTEM", "prompt": "x"}], "round": TURNS},
            "meta_template": META,
        },
        [
            "prompt_template.begin[0]: role 'SYSTEM' is not in the meta template (it has 'HUMAN', 'BOT') "
            "and has no fallback_role"
        ],
    ),
    (
        "unknown role and fallback",
        {
            "prompt_template": {"begin": [{"role": "S", "fallback_role": "T", "prompt": "x"}], "round": TURNS},
            "meta_template": META,
        },
        ["prompt_template.begin[0]", "'S'", "'T'", "'HUMAN', 'BOT'"],
    ),
    ("unknown mode", {"prompt_template": "x", "mode": "chat"}, ["mode: 'chat'", "gen", "ppl"]),
    ("unknown output", {"prompt_template": "x", "output": "xml"}, ["output: 'xml'", "messages"]),
    ("unknown dialect", {"prompt_template": "x", "dialect": "helm"}, ["dialect: 'helm'", "opencompass"]),
    ("unknown substitution", {"prompt_template": "x", "substitution": "no"}, ["substitution: 'no'", "harness"]),
    ("unknown layout", {"prompt_template": "x", "strings": "utf8"}, ["strings: 'utf8'", "string_view"]),
    ("unknown retriever", {"prompt_template": "x", "retriever": {"type": "BM25Retriever"}}, ["retriever", "BM25"]),
    ("retriever without type", {"prompt_template": "x", "retriever": {}}, ["retriever", "type"]),
    (
        "shots without ids",
        {**SHOTS, "retriever": {"type": "FixKRetriever"}, "examples": SAMPLES},
        ["retriever", "fix_id_list"],
    ),
    (
        "shots out of range",
        {**SHOTS, "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 3]}, "examples": SAMPLES},
        ["retriever.fix_id_list", "3"],
    ),
    (
        "shots that are no numbers",
        {**SHOTS, "retriever": {"type": "FixKRetriever", "fix_id_list": ["a"]}, "examples": SAMPLES},
        ["retriever.fix_id_list[0]"],
    ),
    ("shots without examples", {**SHOTS, "retriever": {"type": "FixKRetriever", "fix_id_list": [0]}}, ["examples"]),
    ("meta template of a wrong type", {"prompt_template": "x", "meta_template": "y"}, ["meta_template"]),
    ("names of a wrong key", {"prompt_template": "x", "names": {"promt": "y"}}, ["names", "promt"]),
]


@pytest.mark.parametrize(("arguments", "words"), [b[1:] for b in BAD_RENDERERS], ids=[b[0] for b in BAD_RENDERERS])
def test_bad_input_of_the_renderer(arguments: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer(**arguments)
    for word in words:
        assert word in str(caught.value)


BAD_SAMPLES: list[tuple[str, pa.Table, list[str], list[str]]] = [
    ("duplicate columns", pa.table([["a"], ["b"]], names=["question", "question"]), [], ["question"]),
    ("unknown column to keep", SAMPLES, ["zzz"], ["zzz", "question"]),
    ("name taken", SAMPLES.append_column("prompt", pa.array(["", "", ""])), ["prompt"], ["prompt", "names"]),
    ("invalid UTF-8", invalid_utf8(), [], ["row 1", "question"]),
    (
        "a time that Python can't hold",
        pa.table({"question": pa.array([2**62], pa.timestamp("s"))}),
        [],
        ["row 0", "question"],
    ),
]


@pytest.mark.parametrize(("samples", "keep", "words"), [b[1:] for b in BAD_SAMPLES], ids=[b[0] for b in BAD_SAMPLES])
def test_bad_samples_of_the_renderer(samples: pa.Table, keep: list[str], words: list[str]) -> None:
    renderer = pp.Renderer(prompt_template="{question}")
    with pytest.raises(pp.RenderError) as caught:
        renderer.render(samples, keep=keep)
    for word in words:
        assert word in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_what_is_no_table() -> None:
    with pytest.raises(TypeError, match="table"):
        pp.Renderer(prompt_template="{question}").render(["x"])
    with pytest.raises(TypeError, match="table"):
        pp.Renderer(prompt_template="{question}", examples=[1])
