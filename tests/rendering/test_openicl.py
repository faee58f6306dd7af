"""`dialect="openicl"`: tokens for columns, a column that the label decides, prompts without a template."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz import oracle, properties
from generators.strategies import Case, openicl_cases
from hypothesis import HealthCheck, given, settings
from marks import UNWARNED

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(400), deadline=None, database=None, suppress_health_check=CHECKS)


def check(case: Case) -> None:
    got = oracle.against(case, oracle.wanted, case.model)
    if got is not None:
        for row in range(case.samples.num_rows):
            properties.explained(case, *got, row)


@UNWARNED
@QUICK
@given(openicl_cases())
def test_random_cases(case: Case) -> None:
    check(case)


@UNWARNED
@pytest.mark.parametrize("token", ["None", "on"])
def test_the_text_of_a_null_may_hold_the_token_of_a_column(token: str) -> None:
    template = {"type": "PromptTemplate", "template": "</A>", "column_token_map": {"a": "</A>", "q": token}}
    samples = pa.table({"a": pa.array([None, "b"], pa.string()), "q": ["Q", "R"]})
    renderer = pp.Renderer(prompt_template=template, dialect="openicl", substitution="harness")
    assert renderer.render(samples)["prompt"].to_pylist() == ["None".replace(token, "Q"), "b"]


SST = {
    "type": "PromptTemplate",
    "template": {"neg": "</E>Bad: </text>\n", "pos": "</E>Good: </text>\n"},
    "column_token_map": {"text": "</text>"},
    "ice_token": "</E>",
}
TRAIN = pa.table({"text": ["dull", "bright"], "label": ["neg", "pos"]})


def test_labels_choose_the_template_of_an_example_and_of_a_request() -> None:
    renderer = pp.Renderer(
        ice_template=SST,
        retriever={"type": "FixKRetriever", "fix_id_list": [0, 1], "ice_separator": "", "ice_eos_token": "--\n"},
        examples=TRAIN,
        reader={"input_columns": ["text"], "output_column": "label"},
        inferencer={"type": "PPLInferencer"},
        dialect="openicl",
    )
    assert renderer.labels == ["neg", "pos"]
    assert renderer.required_columns == ["text"]
    table = renderer.render(pa.table({"text": ["fine </text>"], "label": ["pos"]}))
    shots = "Bad: dull\nGood: bright\n--\n"
    assert table["prompt"].to_pylist() == [f"{shots}Bad: fine </text>\n", f"{shots}Good: fine </text>\n"]


def test_the_label_decides_a_columns_text_in_ppl_and_not_in_gen() -> None:
    template = {
        "type": "PromptTemplate",
        "template": "</E></text> It was </label>.",
        "column_token_map": {"text": "</text>", "label": "</label>"},
        "selected_column_name": "label",
        "selected_column_map": {0: "terrible", 1: "great"},
        "ice_token": "</E>",
    }
    samples = pa.table({"text": ["see </label>"], "label": [1]})
    reader = {"input_columns": "text", "output_column": "label"}
    scored = pp.Renderer(template, reader=reader, labels=[0, 1], mode="ppl", dialect="openicl").render(samples)
    assert scored["label"].to_pylist() == [0, 1]
    assert scored["prompt"].to_pylist() == ["see terrible It was terrible.", "see great It was great."]
    generated = pp.Renderer(template, reader=reader, dialect="openicl").render(samples)
    assert generated["prompt"].to_pylist() == ["see  It was ."]


def test_a_column_chooses_the_template_that_a_sample_is_generated_with() -> None:
    template = {
        "template": {"en": "Q: </q>", "zh": "问: </q>"},
        "column_token_map": {"q": "</q>"},
        "selected_column_name": "lang",
        "selected_column_map": {},
    }
    renderer = pp.Renderer(template, dialect="openicl")
    samples = pa.table({"q": ["a", "b", "c"], "lang": ["zh", "fr", "en"]})
    assert renderer.render(samples)["prompt"].to_pylist() == ["问: a", "Q: b", "Q: c"]
    assert renderer.required_columns == ["q", "lang"]
    assert renderer.explain(samples, 0)["source"].to_pylist() == ["prompt_template", "field"]
    with pytest.raises(pp.RenderError, match='column "lang": the template needs this column'):
        renderer.render(samples.drop(["lang"]))


def test_without_a_template_columns_are_joined_by_spaces() -> None:
    renderer = pp.Renderer(
        retriever={
            "type": "FixKRetriever",
            "fix_id_list": [1],
            "prompt_eos_token": "<eos>",
            "index_split": "train",
            "test_split": "validation",
        },
        examples=TRAIN,
        reader={"input_columns": ["text"], "output_column": "label"},
        dialect="openicl",
    )
    assert renderer.render(pa.table({"text": ["fine"]}))["prompt"].to_pylist() == ["bright pos\nfine<eos>"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column_token_map": {"text": "</E>"}}, 'prompt_template.column_token_map: column "text" has the ice_token'),
        ({"column_token_map": {"text": "<t>", "label": "<t>"}}, 'columns "text" and "label" have the same token'),
        ({"column_token_map": ["text"]}, r"prompt_template.column_token_map: expected a dict"),
        ({"column_token_map": {"text": 1}}, "expected column names and tokens"),
        ({"selected_column_name": "label"}, "prompt_template: selected_column_name needs a selected_column_map"),
        ({"selected_column_map": {}}, "prompt_template: selected_column_map needs a selected_column_name"),
        ({"selected_column_map": 1, "selected_column_name": "a"}, "expected a str for selected_column_name"),
        ({"template": {"a": ["</E>"]}}, "prompt_template.template.a: expected a str, found"),
        ({"template": {"begin": "</E>", "round": []}}, "prompt_template.template.round: expected a str"),
        ({"template": "no token"}, "the ice_token '</E>' of prompt_template does not occur"),
        ({"type": "RawPromptTemplate"}, r"this dialect has no RawPromptTemplate|RawPromptTemplate"),
        ({"type": "MMPromptTemplate"}, "prompt_template.type: this dialect has no MMPromptTemplate"),
    ],
)
def test_wrong_templates(change: dict[str, Any], message: str) -> None:
    with pytest.raises(pp.TemplateError, match=message):
        pp.Renderer({**SST, **change}, dialect="openicl")


def test_what_a_template_needs() -> None:
    with pytest.raises(pp.TemplateError, match="prompt_template: the template needs a column_token_map"):
        pp.Renderer("</text>", dialect="openicl")
    with pytest.raises(pp.TemplateError, match='PromptTemplate needs the key "column_token_map"'):
        pp.Renderer({"type": "PromptTemplate", "template": "</text>"}, dialect="openicl")
    with pytest.raises(pp.TemplateError, match=r"prompt_template\.ice_token: OpenICL's ppl mode needs an ice_token"):
        pp.Renderer({**SST, "ice_token": None}, mode="ppl", dialect="openicl")
    with pytest.raises(pp.RenderError, match='column "text"'):
        pp.Renderer(SST, dialect="openicl").render(pa.table({"other": [1]}))
    with pytest.raises(pp.TemplateError, match="no label 'mid'"):
        pp.Renderer(SST, labels=["mid"], mode="ppl", dialect="openicl")


DESIGN = {
    "type": "PromptTemplate",
    "template": {
        "begin": [
            {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Questions about physics."},
            "</E>",
        ],
        "round": [
            {"role": "HUMAN", "prompt": "</input>\nA. </A>\nB. </B>\nAnswer: "},
            {"role": "BOT", "prompt": "</target>"},
        ],
        "end": "end of dataset prompt template.",
    },
    "column_token_map": {"input": "</input>", "A": "</A>", "B": "</B>", "target": "</target>"},
    "ice_token": "</E>",
}
META = {
    "begin": "meta instruction\n",
    "round": [
        {"role": "HUMAN", "begin": "<|HUMAN|>:", "end": "<eoh>\n"},
        {"role": "THOUGHTS", "begin": "<|Inner Thoughts|>:", "end": "<eot>\n", "prompt": "None"},
        {"role": "BOT", "begin": "<|MOSS|>:", "generate": True, "end": "<eom>\n"},
    ],
    "end": "end of conversion",
    "reserved_roles": [{"role": "SYSTEM", "begin": "<|SYSTEM|>: ", "end": "\n"}],
}
QUESTION = pa.table({"input": ["Which? </B>"], "A": ["low"], "B": ["high"], "target": ["A"]})
READER = {"input_columns": ["input", "A", "B"], "output_column": "target"}


def design(**more: Any) -> list[Any]:
    renderer = pp.Renderer(DESIGN, reader=READER, dialect="meta_prompt_design", **more)
    return renderer.render(QUESTION)["prompt"].to_pylist()


def test_the_early_design_through_a_meta_template() -> None:
    opening = "meta instruction\n<|SYSTEM|>: Questions about physics.\n"
    question = "<|HUMAN|>:Which? high\nA. low\nB. high\nAnswer: <eoh>\n<|Inner Thoughts|>:None<eot>\n<|MOSS|>:"
    assert design(meta_template=META) == [opening + question]
    scored = design(meta_template=META, mode="ppl", labels=["x"])
    assert scored == [opening + question + "A<eom>\nend of dataset prompt template.end of conversion"]


def test_the_early_design_without_a_meta_template_is_what_turns_say_themselves() -> None:
    question = "Questions about physics.Which? high\nA. low\nB. high\nAnswer: "
    assert design() == [question + "end of dataset prompt template."]
    template = {"begin": "go", "round": [{"role": "HUMAN", "begin": "[", "prompt": "{q}", "end": "]"}]}
    renderer = pp.Renderer(template, dialect="meta_prompt_design")
    assert renderer.render(pa.table({"q": [1]}))["prompt"].to_pylist() == ["go[1]"]
    assert renderer.explain(pa.table({"q": [1]}), 0)["source"].to_pylist() == [
        "prompt_template",
        "role.begin",
        "field",
        "role.end",
    ]


def test_a_meta_template_without_a_round_takes_the_dialogues() -> None:
    meta = {key: META[key] for key in ("begin", "end", "reserved_roles")}
    template = {
        "begin": [{"role": "SYSTEM", "prompt": "S"}, {"role": "TOOL", "fallback_role": "SYSTEM", "prompt": "T"}],
        "round": [
            {"role": "HUMAN", "begin": "h:", "prompt": "{q}", "end": "\n"},
            "between\n",
            {"role": "BOT", "begin": "b:", "prompt": "{a}", "end": "\n", "generate": True},
        ],
    }
    samples = pa.table({"q": ["1"], "a": ["2"]})
    opening = "meta instruction\n<|SYSTEM|>: S\n<|SYSTEM|>: T\nh:1\nbetween\nb:"
    renderer = pp.Renderer(template, meta_template=meta, dialect="meta_prompt_design")
    assert renderer.render(samples)["prompt"].to_pylist() == [opening]
    renderer = pp.Renderer(template, meta_template=meta, dialect="meta_prompt_design", mode="ppl", labels=[1])
    assert renderer.render(samples)["prompt"].to_pylist() == [opening + "2\nend of conversion"]
    with pytest.raises(pp.TemplateError, match='"round" is required'):
        pp.Renderer(template, meta_template=meta)


def test_examples_of_the_early_design() -> None:
    renderer = pp.Renderer(
        DESIGN,
        ice_template={**DESIGN, "template": {"round": DESIGN["template"]["round"]}, "ice_token": None},
        retriever={"type": "FixKRetriever", "fix_id_list": [0]},
        examples=pa.table({"input": ["One?"], "A": ["1"], "B": ["2"], "target": ["B"]}),
        reader=READER,
        meta_template=META,
        dialect="meta_prompt_design",
    )
    (prompt,) = renderer.render(QUESTION)["prompt"].to_pylist()
    shot = "<|HUMAN|>:One?\nA. 1\nB. 2\nAnswer: <eoh>\n<|Inner Thoughts|>:None<eot>\n<|MOSS|>:B<eom>\n"
    assert shot + "<|HUMAN|>:Which? high" in prompt
