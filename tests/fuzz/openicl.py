"""Cases of OpenICL: tokens of columns that hold parts of one another, and labels whose text a map decides."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .arrays import any_type, chunked_of
from .configurations import Case, Types
from .draw import Draw

PIECES = (
    *("</Q>", "</Q", "Q>", "<A>", "<S>", "</E>", "</", ">", "{q}", "text ", "\n", "é", "😀", ""),
    *("<X>", "<X", "QA", "问", "问题", "答", "{"),
)
TOKENS = ("</Q>", "</Q", "<A>", "Q>", "</", "{q}", "é", "</E>", "<N>", "<X><X>", "QA", "问", "问题", "")
LABELS = ("A", "B", "C")
COLUMNS = ("q", "ctx", "label", "n", "missing")


def text(draw: Draw) -> str:
    return "".join(draw.some(PIECES, 5))


def case_of(draw: Draw, rows: int | None = None, other_type: Types = any_type) -> Case:
    """A case of so many samples; None: some. `other_type` draws the types of columns that aren't texts."""
    retriever: dict[str, Any] = {"type": "ZeroRetriever"}
    if draw.chance(2):
        retriever = {"type": "FixKRetriever", "fix_id_list": [draw.randint(-2, 1) for _ in range(draw.randint(0, 3))]}
        if draw.chance(2):
            retriever["ice_separator"] = text(draw)
    for name in ("ice_eos_token", "prompt_eos_token"):
        if draw.chance(2):
            retriever[name] = text(draw)
    mode = draw.pick("gen", "ppl")
    config = {
        "prompt_template": draw.pick(None, template(draw, ice=False), template(draw, ice=False)),
        "ice_template": draw.pick(None, template(draw, ice=True)),
        "retriever": retriever,
        "reader": {"input_columns": ["q", "n"], "output_column": "label"},
        "inferencer": draw.pick(None, {"gen_field_replace_token": draw.pick("<X>", "</Q>")}),
        "mode": mode,
        "labels": draw.pick(None, None, ["A", "B"]) if mode == "ppl" else None,
        "dialect": "openicl",
    }
    samples = table(draw, rows or draw.pick(1, 5, 40), other_type)
    return Case(config, samples, table(draw, 3, other_type), model="openicl_model")


def template(draw: Draw, *, ice: bool) -> dict[str, Any]:
    columns = draw.subset(COLUMNS[: draw.pick(4, 4, 5)], 4)
    tokens = draw.choices(TOKENS, k=4) if draw.chance(10) else draw.sample(TOKENS, 4)
    token = draw.pick(None, "</E>", "</E>", "</E>") if ice else draw.pick("</E>", "</E>", "</E>", None, "")

    def with_token() -> str:
        return text(draw) + (token or "") + text(draw)

    body: Any = draw.pick(with_token, with_token, lambda: text(draw))()
    if draw.chance(3):
        body = {label: with_token() for label in draw.subset(LABELS, 3, 1)}
    made = {
        "type": "openicl.PromptTemplate",
        "template": body,
        "column_token_map": dict(zip(columns, tokens, strict=False)),
        "ice_token": token,
        "sep_token": draw.pick(None, "<S>"),
    }
    if draw.chance(2):
        made["selected_column_name"] = draw.pick("label", "label", "q", "n", "other")
        made["selected_column_map"] = {
            label: draw.pick(text(draw), 7, 1.5, None, True) for label in draw.subset(LABELS, 3)
        }
    return made


def table(draw: Draw, rows: int, other_type: Types) -> pa.Table:
    kinds = {
        "q": pa.string(),
        "ctx": other_type(draw),
        "label": pa.string(),
        "n": draw.pick(pa.int64(), other_type(draw)),
    }
    columns = {name: chunked_of(draw, kind, rows, text) for name, kind in kinds.items()}
    columns["label"] = pa.chunked_array([pa.array([draw.choice(LABELS[:2]) for _ in range(rows)])])
    return pa.Table.from_arrays(list(columns.values()), list(columns))
