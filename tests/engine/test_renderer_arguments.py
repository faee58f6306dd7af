"""Arguments of a renderer: types by class or name, bare templates, values that follow from the configuration."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import PROMPT, RAW, READER, SAMPLES, SHOT, texts
from marks import UNWARNED
from test_layouts import META, TURNS


class PromptTemplate:
    """Stands for a harness's class: only its name counts."""


class RawPromptTemplate:
    pass


class FixKRetriever:
    pass


class PPLInferencer:
    pass


@pytest.mark.parametrize(
    "kind",
    [PromptTemplate, "PromptTemplate", "opencompass.openicl.icl_prompt_template.PromptTemplate", "a.b.PromptTemplate"],
)
def test_type_is_a_class_or_a_name_whose_last_part_decides(kind: Any) -> None:
    renderer = pp.Renderer({"type": kind, "template": "Q {q}"})
    assert texts(renderer.render(SAMPLES)) == ["Q 1+1?", "Q 2+2?", "Q 3+3?"]


@UNWARNED
def test_every_part_may_be_named_by_its_class() -> None:
    few = pp.Renderer(
        {**PROMPT, "type": PromptTemplate},
        {**SHOT, "type": PromptTemplate},
        {"type": FixKRetriever, "fix_id_list": range(1, 3)},
        SAMPLES,
        READER,
        {"type": PPLInferencer},
        labels=["x"],
    )
    assert few.labels == ["x"]
    assert texts(few.render(SAMPLES))[0] == "2+2?=4\n3+3?=6\n1+1?=2"
    raw = pp.Renderer({"type": RawPromptTemplate, "messages": RAW})
    assert raw == pp.Renderer({"type": f"{__name__}.RawPromptTemplate", "messages": RAW})
    assert texts(raw.render(SAMPLES))[0][1] == {"role": "user", "content": "1+1?"}


@pytest.mark.parametrize(
    ("template", "want"),
    [
        ("{q}", "1+1?"),
        ({"type": "PromptTemplate", "template": "{q}"}, "1+1?"),
        ({"template": "{q}"}, "1+1?"),
        (MappingProxyType({"template": "{q}"}), "1+1?"),
        ({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, "1+1?"),
        ({"only label": "{q}"}, "1+1?"),
        (RAW, [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
        (tuple(RAW), [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
        ({"messages": RAW}, [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
    ],
    ids=repr,
)
def test_a_template_may_be_bare(template: Any, want: Any) -> None:
    assert texts(pp.Renderer(template).render(SAMPLES))[0] == want
    assert texts(pp.Renderer(ice_template=template).render(SAMPLES))[0] == want


def test_the_reader_takes_names_in_one_string() -> None:
    for columns in ("q a", ["q", "a"], ("q", "a"), None):
        renderer = pp.Renderer("{q}{a}", reader={"input_columns": columns, "output_column": "a"})
        assert texts(renderer.render(SAMPLES)) == ["1+1?", "2+2?", "3+3?"]
    assert texts(pp.Renderer("{q}{a}", reader={"output_column": None}).render(SAMPLES))[0] == "1+1?2"


def test_the_rest_of_the_inferencer_is_ignored() -> None:
    renderer = pp.Renderer("{q}", inferencer={"type": "GenInferencer", "max_out_len": 512, "save_every": object()})
    assert texts(renderer.render(SAMPLES))[0] == "1+1?"


@pytest.mark.parametrize("kind", ["PPLInferencer", "LLInferencer", "x.y.PPLInferencer", PPLInferencer])
def test_the_inferencer_decides_the_mode(kind: Any) -> None:
    renderer = pp.Renderer({"A": "{q}", "B": "{a}"}, inferencer={"type": kind})
    assert renderer.labels == ["A", "B"]
    assert renderer.render(SAMPLES).column_names == ["label", "prompt"]
    assert pp.Renderer({"A": "{q}", "B": "{a}"}, inferencer={"type": kind}, mode="gen").labels is None


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({"prompt_template": RAW}, True),
        ({"prompt_template": RAW, "meta_template": [{"role": "system", "content": "S"}]}, True),
        ({"prompt_template": {"round": TURNS}, "meta_template": META}, True),
        ({"prompt_template": {"round": TURNS}, "meta_template": META, "output": "text"}, False),
        (
            {"prompt_template": {"round": TURNS}, "meta_template": {"round": [{"role": "HUMAN"}, {"role": "BOT"}]}},
            False,
        ),
        ({"prompt_template": {"round": TURNS}}, False),
        ({"prompt_template": {"round": TURNS}, "output": "messages"}, False),
        ({"prompt_template": "{q}", "meta_template": META}, False),
    ],
    ids=[
        "raw",
        "list meta",
        "api_role",
        "asked for text",
        "no api_role",
        "no meta",
        "messages without meta",
        "a string is its own request",
    ],
)
def test_the_output_follows_from_the_configuration(arguments: dict[str, Any], messages: bool) -> None:
    samples = pa.table({"q": ["1"], "a": ["2"], "hint": ["h"]})
    schema = pp.Renderer(**arguments).output_schema(samples.schema)
    assert pa.types.is_list(schema.field("prompt").type) == messages
    assert pp.Renderer(**arguments).render(samples).schema == schema
