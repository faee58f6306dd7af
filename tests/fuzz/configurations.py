"""Whole cases of OpenCompass's dialect: a configuration, samples and the train split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from .arrays import any_type, chunked_of
from .draw import Draw
from .templates import (
    CALM_TOKENS,
    EXPANDED,
    ICE_TOKENS,
    NAMES,
    ODD_NAMES,
    SEP_TOKENS,
    World,
    meta_template,
    prompt_template,
    raw_template,
)  # fmt: skip

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
Types = Callable[[Draw], pa.DataType]
LABELS = (["A", "B"], ["A"], [0, 1], ["A", "nowhere"], [None, "B"], [1.5, True], ["A", "A"], [])


@dataclass
class Case:
    """Arguments for a renderer, the tables that go with them, and what else decides a prompt's text."""

    config: dict[str, Any]
    samples: pa.Table
    train: pa.Table | None
    model: str = "plain_model"
    notes: dict[str, Any] = field(default_factory=dict)


def case_of(draw: Draw, rows: int | None = None, other_type: Types = any_type) -> Case:
    """A case. Most are valid; the rest are refused by some rule.

    `rows` is how many samples it has; None: some. `other_type` draws the types of columns that aren't texts.
    """
    single_pass = draw.chance(3)
    names = draw.subset(NAMES if single_pass or draw.chance(2) else NAMES + ODD_NAMES, 4, 1)
    tokens = CALM_TOKENS[:1] if single_pass else ICE_TOKENS
    separators = CALM_TOKENS[1:] if single_pass else SEP_TOKENS
    world = World(draw, names, draw.choice(tokens), draw.pick(None, draw.choice(separators)), single_pass)
    few_shot = draw.chance(2)
    output_column = draw.choice([*names, *names, *([] if few_shot else [None, "gone"])])
    samples, train = tables(world, output_column, rows, other_type)
    raw = draw.chance(5)
    mode = draw.pick("gen", "ppl")
    config: dict[str, Any] = {"substitution": "single_pass" if single_pass else "harness"}
    if few_shot:
        ice_raw = raw != draw.chance(10)
        if not raw and draw.chance(5):
            config["ice_template"] = prompt_template(world, with_ice=True)
        else:
            config["ice_template"] = (raw_template if ice_raw else prompt_template)(world)
            config["prompt_template"] = (raw_template if raw else prompt_template)(world, with_ice=True)
        config["retriever"] = retriever(world, train.num_rows)
        if config["retriever"]["type"] == "IndexColumn":
            samples = with_shots(draw, samples, train.num_rows)
    else:
        config["prompt_template"] = (raw_template if raw else prompt_template)(world, with_ice=draw.chance(2))
        config["retriever"] = {"type": "ZeroRetriever"}
        if draw.chance(3):
            config["retriever"]["ice_eos_token"] = draw.pick("", "[eos]")
    config["reader"] = {"input_columns": names, "output_column": output_column}
    config["inferencer"] = inferencer(draw, mode)
    if mode == "ppl" and (raw or draw.chance(2)):
        (config if draw.chance(2) else config["inferencer"])["labels"] = list(draw.choice(LABELS))
    config["output"] = draw.pick("messages", "prompt_list") if raw else draw.pick("text", "messages", "prompt_list")
    if config["output"] != "prompt_list" and not draw.chance(5):
        config["meta_template"] = meta_template(world, raw=raw)
    if draw.chance(5):
        config["tokens"] = {7: "<seven>"}
    if config["output"] == "messages" and draw.chance(4):
        config["output"] = "messages_json"
    if draw.chance(3):
        config["strings"] = draw.pick("large_string", "string_view")
    return Case(config, samples, train)


def inferencer(draw: Draw, mode: str) -> dict[str, Any]:
    """Masks that are placeholders themselves, and ppl with a normalising string, which keeps the separator."""
    made: dict[str, Any] = {"type": "PPLInferencer" if mode == "ppl" else "GenInferencer"}
    if mode == "gen" and draw.chance(4):
        made["gen_field_replace_token"] = draw.pick("?", "{q}", "{a}", "{", "}")
    if mode == "ppl" and draw.chance(2):
        made["normalizing_str"] = "Answer: "
    return made


def retriever(world: World, train: int) -> dict[str, Any]:
    """All retrievers that choose by themselves, and a column of choices; separators that make placeholders."""
    draw = world.draw
    made: dict[str, Any] = {
        "type": draw.pick("FixKRetriever", "RandomRetriever", "SlidingWindowRetriever", "IndexColumn")
    }
    separators = ["", "\n", "--", "{q}\n"] + ([] if world.single_pass else ["{", "}"])
    for name in ("ice_separator", "ice_eos_token"):
        if draw.chance(2):
            made[name] = draw.choice(separators)
    if made["type"] == "FixKRetriever":
        made["fix_id_list"] = [draw.randint(-1 if train else 0, max(train - 1, 0)) for _ in range(draw.randint(0, 3))]
    elif made["type"] == "RandomRetriever":
        made["ice_num"] = draw.randint(0, min(train, 4))
        if draw.chance(2):
            made["seed"] = draw.randint(0, 2**32 - 1)
    elif made["type"] == "SlidingWindowRetriever":
        made["k"] = draw.randint(0, 3)
    else:
        made["column"] = "shots"
    return made


def with_shots(draw: Draw, samples: pa.Table, train: int) -> pa.Table:
    """Samples with a column of row numbers, which is no field of theirs."""
    low, high = (-1 if train else 0), max(train - 1, 0)
    shots = [[draw.randint(low, high) for _ in range(draw.randint(0, 3 if train else 0))] for _ in range(len(samples))]
    make = draw.pick(pa.list_, pa.large_list)
    column = pa.array(shots, make(draw.pick(pa.int64(), pa.int64(), pa.int32(), pa.int8())))
    return samples.add_column(draw.randint(0, samples.num_columns), "shots", column)


def tables(
    world: World, output_column: str | None, rows: int | None = None, other_type: Types = any_type
) -> tuple[pa.Table, pa.Table]:
    """Samples and train split of one schema; the train split's types are sometimes others."""
    draw = world.draw
    odd = draw.chance(2)
    kinds = {name: other_type(draw) if odd and draw.chance(2) else text_type(draw) for name in world.names}
    if output_column in kinds and not draw.chance(10):
        # Labels are looked up in a label map and sorted: mostly what can be a key there.
        kinds[output_column] = draw.pick(pa.string(), pa.string(), pa.int64())
    if draw.chance(4):
        kinds[EXPANDED] = MESSAGES
    if rows is None:
        rows = draw.pick(0, 1, 2, 5, 20, 40) if not draw.chance(3) else 40
    samples = table_of(world, kinds, output_column, rows)
    if draw.chance(6):
        kinds = {name: kind if name in (output_column, EXPANDED) else other_type(draw) for name, kind in kinds.items()}
    return samples, table_of(world, kinds, output_column, draw.pick(0, 1, 2, 3, 5, 8))


def text_type(draw: Draw) -> pa.DataType:
    return draw.pick(
        pa.string(),
        pa.string(),
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
    )


def table_of(world: World, kinds: dict[str, pa.DataType], output_column: str | None, length: int) -> pa.Table:
    columns = {name: column_of(world, name, kind, output_column, length) for name, kind in kinds.items()}
    # Not by `pa.table`, to which an empty name or a dict's order could mean something else.
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema([pa.field(n, k) for n, k in kinds.items()]))


def talk(world: World) -> list[dict[str, str]]:
    draw = world.draw
    roles = [draw.pick("user", "assistant") for _ in range(draw.randint(0, 3))]
    return [{"role": role, "content": world.value(draw)} for role in roles]


def column_of(world: World, name: str, kind: pa.DataType, output_column: str | None, length: int) -> pa.ChunkedArray:
    draw = world.draw
    if name == EXPANDED:
        talks = [None if draw.chance(5) else talk(world) for _ in range(length)]
        return pa.chunked_array([pa.array(talks, MESSAGES)])
    if name == output_column and kind in (pa.string(), pa.int64()) and not draw.chance(6):
        choices = ("A", "B", "GOLD {q}") if kind == pa.string() else (0, 1)
        return pa.chunked_array([pa.array([draw.choice(choices) for _ in range(length)], kind)])
    return chunked_of(draw, kind, length, world.value)
