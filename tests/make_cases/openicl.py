"""OpenICL: tokens for columns, a column that the label decides, prompts without a template."""

from __future__ import annotations

from typing import Any

from .build import File, case
from .parts import ZERO, fix

COLUMNS = [("q", "string", ["1+1?", "</A>"]), ("a", "string", ["A", "B"]), ("n", "int64", [7, None])]
TRAIN = [("q", "string", ["x", "</Q>"]), ("a", "string", ["B", "A"]), ("n", "int64", [0, 1])]
TOKENS = {"q": "</Q>", "a": "</A>"}


def template(body: Any, **more: Any) -> dict[str, Any]:
    return {"type": "PromptTemplate", "template": body, "column_token_map": TOKENS, **more}


def with_ice(body: Any, **more: Any) -> dict[str, Any]:
    return template(body, ice_token="</E>", **more)


BASE = {
    "dialect": "openicl",
    "mode": "gen",
    "retriever": ZERO,
    "reader": {"input_columns": ["q", "n"], "output_column": "a"},
}
MAP = {"selected_column_name": "a", "selected_column_map": {"A": "first", "B": "second"}}
PPL = {"mode": "ppl"}

FILES = {
    "tokens": File(
        "Tokens stand for columns, and are replaced in the order of their map",
        settings=BASE,
        samples=COLUMNS,
        cases={
            "each": case(prompt_template=template("Q: </Q>\nA: </A>")),
            "braces are text": case(prompt_template=template("{q} </Q> {{a}}")),
            "a token within another": case(
                prompt_template={**template("</Q></Q>>"), "column_token_map": {"q": "</Q>", "n": "</Q>>"}}
            ),
            "the other order of the map": case(
                prompt_template={**template("</Q></Q>>"), "column_token_map": {"n": "</Q>>", "q": "</Q>"}}
            ),
            "values are looked into": case(
                prompt_template=template("</Q>"), reader={"input_columns": ["q"], "output_column": "n"}
            ),
            "the answer is masked": case(
                prompt_template=template("</Q>=</A>"), inferencer={"gen_field_replace_token": "?"}
            ),
            "numbers and nulls": case(prompt_template={**template("</N>"), "column_token_map": {"n": "</N>"}}),
            "no tokens at all": case(prompt_template={**template("as it is </Q>"), "column_token_map": {}}),
            "a separator token stays": case(prompt_template=template("</Q><S>", sep_token="<S>")),
            "other alphabets": case(prompt_template={**template("问</题>答"), "column_token_map": {"q": "</题>"}}),
        },
    ),
    "examples": File(
        "Examples, and what stands behind them and behind the prompt",
        settings={**BASE, "ice_template": with_ice("</E></Q>=</A>"), "retriever": fix(0, 1)},
        samples=COLUMNS,
        examples=TRAIN,
        cases={
            "an ICE template alone": case(),
            "a prompt template": case(prompt_template=with_ice("</E>|</Q>=</A>")),
            "a prompt template without an ICE token loses them": case(prompt_template=template("</Q>=</A>")),
            "separator and end": case(retriever=fix(0, 1, ice_separator=" & ", ice_eos_token=" => ")),
            "a prompt_eos_token": case(retriever=fix(0, prompt_eos_token="<eos>")),
            "none chosen": case(retriever=fix()),
            "from the end": case(retriever=fix(-1)),
            "ZeroRetriever": case(retriever=ZERO),
            "without an ICE template": case(ice_template=None),
            "without an ICE template, with a prompt template": case(
                ice_template=None, prompt_template=with_ice("</E>|</Q>")
            ),
            "a label map": case(ice_template=with_ice({"A": "</E>A </Q>", "B": "</E>B </Q>"})),
        },
    ),
    "without a template": File(
        "Samples and examples without a template are their columns, a space between them",
        settings=BASE,
        samples=COLUMNS,
        examples=TRAIN,
        cases={
            "gen": case(),
            "gen with a mask": case(inferencer={"gen_field_replace_token": "?"}),
            "ppl": case(**PPL),
            "examples": case(retriever=fix(0, 1)),
            "examples in ppl": case(retriever=fix(0), labels=["A", "C"], **PPL),
            "a prompt_eos_token": case(retriever={**ZERO, "prompt_eos_token": "<eos>"}),
        },
    ),
    "labels": File(
        "ppl: a template for each label, and a column whose text the label decides",
        settings={**BASE, **PPL},
        samples=COLUMNS,
        examples=TRAIN,
        cases={
            "a label map": case(prompt_template=with_ice({"A": "</E></Q> A", "B": "</E></Q> B </A>"})),
            "a selected column": case(prompt_template=with_ice("</E></Q>=</A>", **MAP)),
            "a selected column of a label map": case(
                prompt_template=with_ice({"A": "</E>1 </A>", "B": "</E>2 </A>"}, **MAP)
            ),
            "texts that are no strings": case(
                prompt_template=with_ice(
                    "</E>=</A>", selected_column_name="a", selected_column_map={"A": 7, "B": None, "C": 1.5, "D": True}
                ),
                labels=["A", "B", "C", "D"],
            ),
            "the column's values": case(prompt_template=with_ice("</E></Q>=</A>")),
            "given ones": case(prompt_template=with_ice("</E></Q>=</A>"), labels=["x", "y"]),
            "examples by their own labels": case(
                prompt_template=with_ice("</E></Q>=</A>", **MAP),
                ice_template=with_ice("</E></Q>=</A>", **MAP),
                retriever=fix(0, 1),
            ),
            "gen takes the first of a label map": case(
                prompt_template=with_ice({"B": "</E>B </Q>", "A": "</E>A </Q>"}), mode="gen"
            ),
            "gen chooses by the selected column": case(
                prompt_template=with_ice({"B": "</E>B </Q>", "A": "</E>A </Q>"}, **MAP), mode="gen"
            ),
            "gen chooses by another column": case(
                prompt_template=with_ice(
                    {"B": "</E>B </Q>", "1+1?": "</E>1 </Q>"}, selected_column_name="q", selected_column_map={}
                ),
                mode="gen",
            ),
        },
    ),
}
