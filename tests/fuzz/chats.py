"""Cases of `ChatInferencer`: chats of string columns, list columns and messages, with a template or without."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .configurations import MESSAGES, Case
from .draw import Draw
from .templates import NAMES, ODD_NAMES, World, meta_template, prompt_template

ODD_METAS: tuple[Any, ...] = (
    {"round": []}, {"round": [{"role": "HUMAN", "begin": "?"}]}, {"round": [], "reserved_roles": ["x"]},
)  # fmt: skip


def case_of(draw: Draw, rows: int | None = None) -> Case:
    """A case of so many samples; None: some."""
    single_pass = draw.chance(3)
    names = draw.subset(NAMES if single_pass else NAMES + ODD_NAMES, 3, 1)
    world = World(draw, names, "</E>", draw.pick(None, "<SEP>"), single_pass)
    answer = draw.choice([*names, None, "gone"])
    columns = [name for name in names if name != answer or draw.chance(6)] or [names[0]]
    shape = draw.pick("strings", "lists", "messages", "dialogue")
    if shape == "messages" and len(columns) > 1:
        shape = "dialogue"
    samples = table(world, shape, names, columns, rows or draw.pick(1, 5, 30))
    if shape == "dialogue":
        columns.insert(draw.randint(0, len(columns)), "dialogue")
    config: dict[str, Any] = {
        "reader": {"input_columns": columns, "output_column": answer},
        "inferencer": {"type": "ChatInferencer"},
        "output": draw.pick("text", "messages", "prompt_list"),
        "substitution": "single_pass" if single_pass else "harness",
    }
    if draw.chance(2):
        config["inferencer"]["infer_mode"] = draw.pick("last", "every_with_gt", "every_with_gt")
    if len(columns) > 1 or draw.chance(2):
        config["prompt_template"] = prompt_template(world, with_ice=draw.chance(2))
    if not draw.chance(4):
        config["meta_template"] = draw.choice(ODD_METAS) if draw.chance(10) else meta_template(world, raw=False)
    return Case(config, samples, None, model="chat_model")


def table(world: World, shape: str, names: list[str], columns: list[str], rows: int) -> pa.Table:
    """Columns of one shape; the harness decides row by row what they are."""
    draw = world.draw
    rare = draw.chance(15)  # nulls, which are refused

    def text() -> str | None:
        if rare and draw.chance(4):
            return None
        return draw.pick("section", "a section of {q}", "sec") if draw.chance(6) else world.value(draw)

    def column(name: str) -> pa.Array:
        if shape == "strings":
            return pa.array([text() for _ in range(rows)], draw.pick(pa.string(), pa.large_string(), pa.string_view()))
        if shape == "lists":
            lists = [[text() for _ in range(draw.randint(0, 4))] for _ in range(rows)]
            return pa.array(lists, draw.pick(pa.list_, pa.large_list)(pa.string()))
        if shape == "messages" and name == columns[0]:
            return talks(draw, text, rows)
        return pa.array([text() for _ in range(rows)], pa.string()) if draw.chance(2) else pa.array(range(rows))

    made = {name: column(name) for name in names}
    if shape == "dialogue":
        made["dialogue"] = talks(draw, text, rows)
    made["unread"] = pa.array([0] * rows)
    order = draw.subset(list(made), len(made), len(made))
    return pa.Table.from_arrays([made[name] for name in order], order)


def talks(draw: Draw, text: Any, rows: int) -> pa.Array:
    roles = ("user", "assistant", "user", "assistant", "system", "tool", "HUMAN", None)
    each = [
        [{"role": draw.choice(roles), "content": text()} for _ in range(draw.randint(0, 6))]
        + ([{"role": "assistant", "content": "gold"}] if not draw.chance(30) else [])
        for _ in range(rows)
    ]
    return pa.array(each, MESSAGES)
