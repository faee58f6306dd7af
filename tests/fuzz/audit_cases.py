"""Random tables and configurations in which each finding of the audit occurs often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from .draw import Draw

SENTENCES = (
    "the long river runs north",
    "a quiet evening in spring",
    "first of the three towers",
    "entailment of the premise",
)
COLUMNS = ("q", "ctx", "opt", "why", "a")
ODD = (
    "{a}", "{why}", "see {q} there", "{context} {foo}", "\\text{context}", "{", "x {wh", "y}", "<|im_end|> x", "</s>",
    "<think>", "<H> here", "[INST]", "<b>", "a\x07b", "a\u202eb", "a\u200bb", "\ufffd", "\ufeffx", "u\r\nv\nw",
    "</E>", "</S>end", "<AIS_IMAGE_START>", "None", "", " ", "same", "Same!", "é{opt}",
)  # fmt: skip
ICE_TOKEN, SEP_TOKEN = "</E>", "</S>"
TEXT_META = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<H>", "end": "\n"},
        {"role": "BOT", "begin": "<B>", "end": "\n", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "begin": "<Y>", "end": "\n"}],
    "end": "<end>",
}
API_META = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}


@dataclass
class Case:
    """The arguments of a renderer, its samples, and those of an audit."""

    config: dict[str, Any]
    samples: pa.Table
    examples: pa.Table | None
    options: dict[str, Any] = field(default_factory=dict)


def text(draw: Draw) -> str | None:
    if draw.chance(14):
        return None
    if draw.chance(3):
        return draw.choice(ODD)
    if draw.chance(3):
        sentence = draw.choice(SENTENCES)
        return draw.pick(sentence, f"Is it {sentence}?", f"un{sentence}ish", sentence.upper())
    return draw.pick("1+1", "same", "two words", "4", "\u7b54\u6848", "yes")


def table(draw: Draw, rows: int, *, plain: bool = False) -> pa.Table:
    columns = {name: [text(draw) for _ in range(rows)] for name in COLUMNS}
    if draw.chance(2):
        few = draw.subset(SENTENCES, 2, 1)
        columns["a"] = [draw.choice(few) for _ in range(rows)]
    if draw.chance(3):
        columns["q"] = [draw.pick("same", "Same!", "1+1") for _ in range(rows)]
    kind = pa.string() if plain else draw.pick(pa.string(), pa.string(), pa.large_string(), pa.string_view())
    return pa.table({name: pa.array(values, kind) for name, values in columns.items()})


def body(draw: Draw, *, shots: bool) -> str:
    """A string template, in which examples may have a place."""
    pieces = draw.some(("{q}", "{q}", "{ctx}", "{opt}", "{why}", "{a}", SENTENCES[0], " ", "Q: ", "{{why}}"), 5)
    if shots and not draw.chance(8):
        pieces.insert(draw.randrange(len(pieces) + 1), ICE_TOKEN)
    if draw.chance(4):
        pieces.insert(draw.randrange(len(pieces) + 1), SEP_TOKEN)
    return draw.pick("", " ", "\n").join(pieces)


def dialogue(draw: Draw, *, shots: bool, api: bool) -> dict[str, Any]:
    """A dialogue, some of whose text generation never reaches."""
    out: dict[str, Any] = {}
    begin: list[Any] = []
    if draw.chance(3):
        fallback = {} if api and draw.chance(2) else {"fallback_role": "HUMAN"}
        begin.append({"role": "SYSTEM", **fallback, "prompt": body(draw, shots=False)})
    if shots:
        begin.append(ICE_TOKEN)
    if draw.chance(6):
        begin.append("a string ")
    if begin:
        out["begin"] = begin
    turns: list[dict[str, Any]] = []
    for _ in range(draw.pick(1, 1, 2)):
        turns.append({"role": "HUMAN", "prompt": body(draw, shots=False)})
        turns.append({"role": "BOT", "prompt": draw.pick("", body(draw, shots=False))})
    if draw.chance(8):
        turns.insert(0, {"role": "SYSTEM", "prompt": "{opt}"})
    out["round"] = turns
    if draw.chance(4):
        out["end"] = [{"role": "HUMAN", "prompt": body(draw, shots=False)}]
    return out


def prompt_template(draw: Draw, form: str, *, shots: bool, api: bool) -> dict[str, Any]:
    def template_of_label() -> Any:
        return dialogue(draw, shots=shots, api=api) if form == "dialogue" else body(draw, shots=shots)

    template: Any = {"x": template_of_label(), "y": template_of_label()} if draw.chance(4) else template_of_label()
    out = {"type": "PromptTemplate", "template": template}
    if shots:
        out["ice_token"] = ICE_TOKEN
    if draw.chance(3):
        out["sep_token"] = SEP_TOKEN
    return out


def ice_template(draw: Draw, form: str) -> Any:
    if form == "dialogue" and draw.chance(2):
        turns = dialogue(draw, shots=False, api=True)
        return {"type": "PromptTemplate", "template": {"round": turns["round"]}}
    template: Any = body(draw, shots=False)
    if draw.chance(5):
        template = dict.fromkeys(("x", "y"), template)
        return {"type": "PromptTemplate", "template": template}
    return {"type": "PromptTemplate", "template": template}


def messages(draw: Draw, rows: int) -> pa.Array:
    cells: list[Any] = []
    for _ in range(rows):
        turns = [
            {"role": draw.pick("user", "assistant"), "content": text(draw) or "x"} for _ in range(draw.pick(0, 1, 2))
        ]
        cells.append(None if draw.chance(12) else turns)
    return pa.array(cells, pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])))


def case_of(draw: Draw) -> Case:
    rows = 30 if draw.chance(12) else draw.randint(1, 6)
    samples = table(draw, rows)
    form = draw.pick("text", "text", "dialogue", "dialogue", "raw", "turns")
    reader = {"input_columns": draw.subset(COLUMNS[:4], 3, 1), "output_column": None if draw.chance(10) else "a"}
    config: dict[str, Any] = {"reader": reader, "substitution": draw.pick("harness", "harness", "single_pass")}
    options = {"limits": {"bytes": draw.pick(0, 40, 120)}} if draw.chance(6) else {}
    if form == "turns":
        return turns(draw, config, rows, options)
    examples = None
    if draw.chance(2):
        examples = shots_of(draw, samples)
        config["retriever"] = retriever(draw, len(examples))
        if config["retriever"]["type"] == "IndexColumn":
            lists = [draw.some(range(len(examples)), 2) for _ in range(rows)]
            samples = samples.append_column("shots", pa.array(lists, pa.list_(pa.int64())))
    if form == "raw":
        add_raw(draw, config, shots=examples is not None)
        samples = samples.append_column("hist", messages(draw, rows))
    else:
        add_templates(draw, config, form, shots=examples is not None)
    return Case(config, samples, examples, options)


def shots_of(draw: Draw, samples: pa.Table) -> pa.Table:
    """Examples: the samples themselves, or others, of which one may be a sample."""
    if draw.chance(6):
        return samples
    examples = table(draw, draw.randint(2, 5), plain=True)
    if draw.chance(4):
        examples = examples.set_column(4, "a", pa.array([draw.pick("x", "y") for _ in range(len(examples))]))
    if draw.chance(3):
        rows = [row for row in samples.slice(0, 1).to_pylist() if None not in row.values()]
        examples = pa.concat_tables([examples, pa.Table.from_pylist(rows, examples.schema)])
    return examples


def add_raw(draw: Draw, config: dict[str, Any], *, shots: bool) -> None:
    """Add templates of raw messages."""
    messages: list[Any] = [{"role": "system", "content": "Say."}] if draw.chance(3) else []
    if shots:
        messages.append(ICE_TOKEN)
        message = {"role": "user", "content": body(draw, shots=False)}
        raw = {"type": "RawPromptTemplate", "messages": [message]}
        config["ice_template"] = draw.pick(raw, ice_template(draw, "text"))
    if draw.chance(2):
        messages.append({"expand_column": draw.pick("hist", "hist", "ctx")})
    messages.append({"role": draw.pick("user", "user", "assistant"), "content": body(draw, shots=False)})
    config["prompt_template"] = {"type": "RawPromptTemplate", "messages": messages, "ice_token": ICE_TOKEN}


def add_templates(draw: Draw, config: dict[str, Any], form: str, *, shots: bool) -> None:
    """Add templates of strings or dialogues, and what decides how they are rendered."""
    api = form == "dialogue" and draw.chance(2)
    config["prompt_template"] = prompt_template(draw, form, shots=shots, api=api)
    if shots:
        config["ice_template"] = ice_template(draw, form)
    if form == "dialogue":
        config["meta_template"] = API_META if api else TEXT_META
    if draw.chance(3):
        config["mode"] = "ppl"
        if not isinstance(config["prompt_template"]["template"], dict) or form == "dialogue":
            config["labels"] = ["x", "y"]
    elif draw.chance(4):
        config["inferencer"] = {"type": "GenInferencer", "gen_field_replace_token": draw.pick("[here]", "{why}")}
    if draw.chance(8):
        config["dialect"] = "aisbench"


def retriever(draw: Draw, count: int) -> dict[str, Any]:
    kind = draw.pick("FixKRetriever", "FixKRetriever", "RandomRetriever", "SlidingWindowRetriever", "IndexColumn")
    if kind == "FixKRetriever":
        return {"type": kind, "fix_id_list": draw.subset(range(count), 3, 1)}
    if kind == "RandomRetriever":
        return {"type": kind, "ice_num": draw.randint(1, min(2, count)), "seed": draw.randrange(9)}
    if kind == "SlidingWindowRetriever":
        return {"type": kind, "k": draw.randint(1, min(2, count))}
    return {"type": kind, "column": "shots"}


def turns(draw: Draw, config: dict[str, Any], rows: int, options: dict[str, Any]) -> Case:
    """Conversations of AISBench, whose last answer no request shows."""
    lists: dict[str, list[list[str]]] = {"question": [], "answer": []}
    for _ in range(rows):
        count = draw.randint(1, 3)
        for texts in lists.values():
            texts.append([text(draw) or "x" for _ in range(count)])
    pair = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    config["prompt_template"] = {"type": "MultiTurnPromptTemplate", "template": {"round": pair}}
    config |= {"dialect": "aisbench", "meta_template": draw.pick(TEXT_META, API_META)}
    config["inferencer"] = {"type": "MultiTurnGenInferencer", "infer_mode": draw.pick("every_with_gt", "last")}
    return Case(config, pa.table(lists), None, options)
