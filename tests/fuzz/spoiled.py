"""Cases whose tables have rows that can't be rendered, each for one of the reasons that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from . import chats, configurations, media, openicl
from .configurations import MESSAGES, Case
from .draw import Draw

META = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN", "begin": "<H>"},
        {"role": "BOT", "api_role": "BOT", "begin": "<B>", "generate": True},
    ]
}
BEYOND_YEARS = 253402300800
"""Seconds of the first moment after the year 9999, which Python's datetime has no value for."""


def case_of(draw: Draw) -> Case:
    """Return a case of any harness with few rows, of which some are spoiled."""
    make = draw.pick(
        few_shots, few_shots, anything, anything, chats.case_of, media.case_of, openicl.case_of, turns, brought_in
    )
    case = make(draw)
    case = replace(case, config=dict(case.config), samples=case.samples.slice(0, draw.pick(0, 1, 4, 8, 8)))
    for _ in range(draw.pick(0, 1, 1, 2, 3)):
        draw.choice(WAYS)(draw, case)
    if draw.chance(12):
        case.config["strings"] = draw.pick("string", "large_string", "string_view")
    return case


def anything(draw: Draw) -> Case:
    return configurations.case_of(draw, draw.pick(0, 1, 5, 8))


def few_shots(draw: Draw) -> Case:
    """A valid configuration with examples: every retriever, form of template and output, gen and ppl."""
    retriever: dict[str, Any] = draw.pick(
        {"type": "RandomRetriever", "ice_num": draw.randint(0, 3), "seed": draw.randint(0, 9)},
        {"type": "SlidingWindowRetriever", "k": draw.randint(0, 7)},
        {"type": "FixKRetriever", "fix_id_list": draw.some(range(4), 3)},
        {"type": "IndexColumn", "column": "shots"},
    )
    is_dialogue, by_label = draw.chance(1.5), draw.chance(4)
    shot: Any = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
    body: Any = {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q} {t}"}, {"role": "BOT", "prompt": "{a}"}]}
    if draw.chance(3):
        body["round"][0]["role"] = "SYSTEM"
        body["round"][0]["fallback_role"] = "HUMAN"
    if not is_dialogue:
        shot, body = "{q} -> {a}", "{t}</E>Q: {q}\nA: "
    if by_label:
        shot, body = {"A": shot, "B": shot}, ({"A": body, "B": body} if draw.chance(2) else body)
    mode = draw.pick("gen", "ppl")
    config: dict[str, Any] = {
        "prompt_template": {"template": body, "ice_token": "</E>"},
        "ice_template": {"template": shot},
        "retriever": retriever,
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "mode": mode,
        "output": draw.pick("text", "messages", "prompt_list", "messages_json", "openai"),
    }
    if draw.chance(2):
        config["meta_template"] = META
    if mode == "ppl" and draw.chance(1.5):
        config["labels"] = draw.pick([], ["A"], ["A", "B"], ["A", "B"])
    samples = pa.table(
        {
            "q": [f"q{n}" for n in range(8)],
            "t": pa.array(range(8), draw.pick(pa.int64(), pa.timestamp("s"))),
            "a": [draw.pick("A", "B") for _ in range(8)],
            "shots": pa.array([draw.some(range(6), 3) for _ in range(8)], pa.list_(pa.int64())),
        }
    )
    labels = ["A", "B", "A", "B", draw.pick("A", "C"), "A"]
    train = pa.table({"q": [f"e{n}" for n in range(6)], "t": pa.array(range(6), samples["t"].type), "a": labels})
    return Case(config, samples, train)


def brought_in(draw: Draw) -> Case:
    """A configuration whose template names few columns; values bring in another one, which may have no text."""
    case = few_shots(draw)
    case.config["substitution"] = draw.pick("harness", "harness", "harness", "single_pass")
    if draw.chance(2):
        case.config["prompt_template"] = {"template": "</E>{q}", "ice_token": "</E>"}
    rows = len(case.samples)
    asking = pa.array([draw.pick(f"q{n}", f"q{n}", "{w}", "a {w}{t} b", "{v}", "{{w}") for n in range(rows)])
    replaced(case, "q", asking)
    bad = {n for n in range(rows) if draw.chance(3)}
    odd = draw.pick(
        bad_texts(draw, [draw.pick("w", "{v}", "{q}", None) for _ in range(rows)], bad),
        pa.array([10**7 if n in bad else n for n in range(rows)], pa.date32()),
        pa.array([BEYOND_YEARS if n in bad else n for n in range(rows)], pa.timestamp("s")),
        pa.array([[BEYOND_YEARS] if n in bad else None for n in range(rows)], pa.list_(pa.timestamp("s"))),
    )
    good = pa.array([draw.pick("v", "{w}", "{x}") for _ in range(rows)])
    case.samples = case.samples.append_column("w", odd).append_column("v", good)
    return case


def turns(draw: Draw) -> Case:
    """Conversations of list columns, or of one column of messages that is expanded."""
    config: dict[str, Any] = {
        "prompt_template": {
            "type": "MultiTurnPromptTemplate",
            "template": {"round": [{"role": "HUMAN", "prompt": "{q} {t}"}, {"role": "BOT", "prompt": "{a}"}]},
        },
        "inferencer": {
            "type": "MultiTurnGenInferencer",
            "infer_mode": draw.pick("every_with_gt", "every_with_gt", "last"),
        },
        "dialect": "aisbench",
        "meta_template": META,
        "output": draw.pick("text", "messages", "messages_json", "openai"),
    }
    rows = [draw.randint(0, 3) for _ in range(8)]
    lists = {
        name: pa.array([[f"{name}{row}.{n}" for n in range(count)] for row, count in enumerate(rows)])
        for name in ("q", "a")
    }
    if draw.chance(2):
        config = {
            "prompt_template": {
                "type": "RawPromptTemplate",
                "messages": [{"role": "system", "content": "S {t}"}, {"expand_column": "m"}],
            },
            "output": draw.pick("messages", "messages_json", "openai", "prompt_list"),
        }
        if draw.chance(2):
            config["meta_template"] = [{"role": "system", "content": "be brief"}]
    talks = [[{"role": "user", "content": f"m{row}.{n}"} for n in range(count)] for row, count in enumerate(rows)]
    columns = {**lists, "t": pa.array([str(n) for n in range(8)]), "m": pa.array(talks, MESSAGES)}
    return Case(config, pa.table(columns), None)


def replaced(case: Case, name: str, column: pa.Array | pa.ChunkedArray) -> None:
    """Put another column in the place of one of the samples'."""
    index = case.samples.schema.get_field_index(name)
    case.samples = case.samples.set_column(index, name, column)


def some_rows(draw: Draw, rows: int) -> set[int]:
    return {n for n in range(rows) if draw.chance(3)}


def bad_texts(draw: Draw, texts: list[Any], rows: set[int]) -> pa.Array:
    """Return an array of strings, of which some aren't UTF-8."""
    raw = [None if text is None else b"t\xff" if n in rows else text.encode() for n, text in enumerate(texts)]
    kind = draw.pick(pa.string(), pa.large_string())
    binary = pa.binary() if kind == pa.string() else pa.large_binary()
    return pa.array(raw, binary).view(kind)


def column_of(draw: Draw, case: Case, *kinds: Callable[[pa.DataType], bool]) -> str | None:
    """Return the name of a column of one of these kinds."""
    fields = [field for field in case.samples.schema if any(kind(field.type) for kind in kinds)]
    return draw.choice(fields).name if fields else None


def is_spoiled(column: pa.ChunkedArray) -> bool:
    """Return whether Python can't read a value of a column any more."""
    try:
        column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return True
    return False


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def is_list_of_texts(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) and is_text(kind.value_type)


def is_list(kind: pa.DataType) -> bool:
    return is_list_of_texts(kind) or kind == MESSAGES


def no_utf8(draw: Draw, case: Case) -> None:
    """Texts, or texts in lists, that aren't UTF-8."""
    name = column_of(draw, case, is_text, is_list_of_texts)
    if name is None or is_spoiled(case.samples[name]):
        return
    column = case.samples[name].combine_chunks()
    if is_text(column.type):
        replaced(case, name, bad_texts(draw, column.to_pylist(), some_rows(draw, len(column))))
        return
    lists = column.to_pylist()
    items = [item for texts in lists for item in texts or ()]
    ends = [0]
    for texts in lists:
        ends.append(ends[-1] + len(texts or ()))
    offsets = pa.array(ends, pa.int32())
    mask = pa.array([texts is None for texts in lists], pa.bool_())
    values = bad_texts(draw, items, some_rows(draw, len(items)))
    replaced(case, name, pa.ListArray.from_arrays(offsets, values, mask=mask))


def no_moment(draw: Draw, case: Case) -> None:
    """Moments that Python has no value for, with a zone or without."""
    name = "t" if "t" in case.samples.column_names else column_of(draw, case, is_text)
    if name is None:
        return
    rows = some_rows(draw, len(case.samples))
    kind = pa.timestamp("s", draw.pick(None, None, "UTC"))
    moments = [BEYOND_YEARS if n in rows else n for n in range(len(case.samples))]
    replaced(case, name, pa.array(moments, pa.int64()).cast(kind))


def no_shots(draw: Draw, case: Case) -> None:
    """Choices of examples that don't exist, that are null, or that hold a null."""
    if "shots" not in case.samples.column_names or not pa.types.is_list(case.samples["shots"].type):
        return
    lists = case.samples["shots"].to_pylist()
    for row in some_rows(draw, len(lists)):
        lists[row] = draw.pick(None, [99], [-99], [0, None], [0, 99])
    replaced(case, "shots", pa.array(lists, pa.list_(pa.int64())))


def no_list(draw: Draw, case: Case) -> None:
    """Lists that are null, or longer than the others of their row."""
    name = column_of(draw, case, is_list)
    if name is None or is_spoiled(case.samples[name]):
        return
    column = case.samples[name].combine_chunks()
    lists: list[Any] = column.to_pylist()
    for row in some_rows(draw, len(lists)):
        lists[row] = draw.pick(None, [], [None], (lists[row] or []) + (lists[row] or []))
    replaced(case, name, pa.array(lists, column.type))


def no_role(draw: Draw, case: Case) -> None:
    """Messages with a role that nobody knows, or without one."""
    fields = [field for field in case.samples.schema if field.type == MESSAGES]
    if not fields:
        return
    name = draw.choice(fields).name
    lists = case.samples[name].to_pylist()
    for row in some_rows(draw, len(lists)):
        lists[row] = [{"role": draw.pick("tutor", None, "tool"), "content": draw.pick("x", None)}]
    replaced(case, name, pa.array(lists, MESSAGES))


def small_limit(draw: Draw, case: Case) -> None:
    """A limit that some prompts pass."""
    limits = {"prompt_bytes": draw.pick(1, 10, 20, 40, 80)}
    if draw.chance(4):
        limits = {"batch_bytes": draw.pick(100, 300, 1000)}
    case.config["limits"] = limits


def long_text(draw: Draw, case: Case) -> None:
    """Some long texts, with a limit between them and the others."""
    name = column_of(draw, case, is_text)
    if name is None:
        return
    rows = some_rows(draw, len(case.samples))
    replaced(case, name, pa.array(["x" * 400 if n in rows else "x" for n in range(len(case.samples))]))
    case.config["limits"] = {"prompt_bytes": 300}


def other_output(draw: Draw, case: Case) -> None:
    """Another form of output, to which some rows' roles may be unknown."""
    case.config["output"] = draw.pick("text", "messages", "prompt_list", "messages_json", "openai")


def refusal(draw: Draw, case: Case) -> None:
    """A finding of media that is refused."""
    if case.model == "media_model":
        case.config["refuse"] = [draw.pick("untagged_text", "media_tag")]


def bad_example(draw: Draw, case: Case) -> None:
    """An example that can't be rendered."""
    if case.train is None or not len(case.train) or "q" not in case.train.column_names:
        return
    index = case.train.schema.get_field_index("q")
    rows = some_rows(draw, len(case.train))
    case.train = case.train.set_column(index, "q", bad_texts(draw, ["x"] * len(case.train), rows))


WAYS = (no_utf8, no_utf8, no_moment, no_moment, no_shots, no_shots, no_list, no_role, small_limit, long_text)
WAYS += (other_output, refusal, bad_example)
