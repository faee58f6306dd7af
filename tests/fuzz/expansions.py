"""Columns of lists that are messages or aren't, beside OpenCompass's own classes where they are installed.

Every output refuses the rows that the harness raises for, and `spans` counts the messages that it gives for others.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import promptpress as pp
import pyarrow as pa
from real.harness.installed import OPENCOMPASS

from . import fresh, stages
from .draw import Draw
from .oracle import DifferenceError

HANG = 60.0
"""Seconds that a case may take: it is several renders."""

OUTPUTS = ("messages", "prompt_list", "messages_json", "openai")
LAST = {"role": "user", "content": "hi {q}"}
ROLES, TEXTS = ("user", "assistant", "system"), ("", "hi", "é", "{q}")
Item = Callable[[Draw], Any]
MESSAGE = [("role", pa.string()), ("content", pa.string())]


def message(draw: Draw) -> dict[str, Any]:
    return {"role": draw.choice(ROLES), "content": draw.pick(*TEXTS, None)}


ITEMS: dict[str, tuple[pa.DataType, Item]] = {
    "messages": (pa.struct(MESSAGE), message),
    "other order": (pa.struct(MESSAGE[::-1]), message),
    "more": (pa.struct([*MESSAGE, ("n", pa.int64())]), lambda draw: {**message(draw), "n": draw.pick(None, 7)}),
    "no content": (pa.struct(MESSAGE[:1]), lambda draw: {"role": draw.choice(ROLES)}),
    "no role": (pa.struct(MESSAGE[1:]), lambda draw: {"content": draw.choice(TEXTS)}),
    "prompts": (
        pa.struct([("role", pa.string()), ("prompt", pa.string())]),
        lambda draw: {"role": "HUMAN", "prompt": draw.choice(TEXTS)},
    ),
    "other keys": (pa.struct([("k", pa.string())]), lambda _: {"k": "v"}),
    "no keys": (pa.struct([]), lambda _: {}),
    "texts": (pa.string(), lambda draw: draw.choice(TEXTS)),
    "views": (pa.string_view(), lambda draw: draw.choice(TEXTS)),
    "ints": (pa.int64(), lambda draw: draw.pick(0, 1)),
    "bools": (pa.bool_(), lambda draw: draw.pick(True, False)),
    "floats": (pa.float64(), lambda _: 1.5),
    "nulls": (pa.null(), lambda _: None),
    "bytes": (pa.binary(), lambda _: b"x"),
    "lists of texts": (pa.list_(pa.string()), lambda _: ["a"]),
    "lists of messages": (pa.list_(pa.struct(MESSAGE)), lambda draw: [message(draw)]),
    "maps": (pa.map_(pa.string(), pa.int64()), lambda _: [("k", 1)]),
    "words": (pa.dictionary(pa.int8(), pa.string()), lambda draw: draw.choice(TEXTS)),
}
LISTS = (pa.list_, pa.list_, pa.large_list, pa.list_view, pa.large_list_view)


@dataclass
class Case:
    """A table whose column `m` is expanded, and whether the rows come as examples."""

    table: pa.Table
    in_examples: bool


def make(seed: int, number: int) -> Case:
    """Draw the case of a number."""
    draw = Draw.of(seed, number, "expansions")
    kind, item = ITEMS[[*ITEMS][number % len(ITEMS)]]
    rows = draw.pick(1, 1, 3)
    null = draw.pick(False, False, True)
    cell = lambda: [None if null and draw.chance(4) else item(draw) for _ in range(draw.pick(0, 1, 2))]  # noqa: E731
    cells = [None if draw.chance(6) else cell() for _ in range(rows)]
    column = pa.array(cells, pa.list_(kind)) if kind != pa.null() else pa.array(cells, pa.list_(pa.null()))
    target = draw.choice(LISTS)(kind)
    if target != column.type:
        column = fresh.fresh_list([cell if cell.is_valid else None for cell in column], target, column.is_null())
    if draw.chance(3):
        column = pa.concat_arrays([column, column]).slice(rows) if draw.chance(2) else column
    return Case(pa.table({"q": [draw.choice(TEXTS) for _ in range(rows)], "m": column}), draw.chance(4))


@cache
def reference() -> tuple[Any, Any] | None:
    """OpenCompass's template and parser; None where it isn't installed."""
    if OPENCOMPASS.missing() is not None:
        return None
    OPENCOMPASS.load()
    from opencompass.models.base_api import APITemplateParser
    from opencompass.openicl.icl_raw_prompt_template import RawPromptTemplate

    return RawPromptTemplate([{"expand_column": "m"}, LAST]), APITemplateParser(None)


def messages_of(row: dict[str, Any]) -> list[Any] | None:
    """The messages that the harness gives for a row; None where it raises."""
    harness = reference()
    if harness is None:
        cell = row["m"] or []
        if not all(isinstance(message, dict) and {"role", "content"} <= message.keys() for message in cell):
            return None
        return [*cell, {"role": "user", "content": "hi " + row["q"]}]
    template, parser = harness
    try:
        return list(parser.parse_template(template.generate_item(row), mode="gen"))
    except (TypeError, AssertionError):
        return None


def check(_seed: int, _number: int, case: Case) -> int:
    """Compare all outputs."""
    stages.enter("reference")
    rows = case.table.to_pylist()
    wanted = [messages_of(row) for row in rows]
    refused = next((n for n, of_row in enumerate(wanted) if of_row is None), None)
    for output in OUTPUTS:
        stages.enter(output)
        if case.in_examples:
            check_example(case.table, output, wanted)
            continue
        renderer = pp.Renderer([{"expand_column": "m"}, LAST], output=output, substitution="harness")
        verbs = {
            "render": lambda renderer=renderer: renderer.render(case.table),
            "spans": lambda renderer=renderer: renderer.render(case.table, spans=True),
            "stream": lambda renderer=renderer: renderer.stream(case.table.to_reader()).read_all(),
            "call": lambda renderer=renderer: renderer(case.table),
        }
        for row in range(len(rows)):
            verbs[f"explain {row}"] = lambda renderer=renderer, row=row: renderer.explain(case.table, row)
        for verb, work in verbs.items():
            refused_row = refused
            if verb.startswith("explain"):
                row = int(verb.split()[1])
                refused_row = row if wanted[row] is None else None
            try:
                made = work()
            except pp.RenderError as error:
                if refused_row is None or error.row != refused_row or error.column != "m":
                    raise DifferenceError(
                        f"{verb} as {output}: an error", f"{error}; the harness refuses row {refused_row}"
                    ) from error
                continue
            if refused_row is not None:
                raise DifferenceError(f"{verb} as {output}: not refused", f"row {refused_row} of {rows}")
            if verb == "render" and output == "messages_json":
                compare([json.loads(prompt) for prompt in made["prompt"].to_pylist()], wanted)
            if verb == "spans":
                numbers = [sorted({span["message"] for span in spans}) for spans in made["spans"].to_pylist()]
                compare(
                    numbers,
                    [
                        [n for n, message in enumerate(all_) if message["content"]]
                        for all_ in wanted
                        if all_ is not None
                    ],
                )
    return 1


def check_example(table: pa.Table, output: str, wanted: list[list[Any] | None]) -> None:
    """The first row as an example of a sample: it is refused, or stands before the sample's own message."""
    template = {"type": "RawPromptTemplate", "messages": ["</E>", LAST]}
    ice = {"type": "RawPromptTemplate", "messages": [{"expand_column": "m"}, LAST]}
    samples = pa.table({"q": ["Q"], "a": ["A"]})
    reader = {"input_columns": ["q"], "output_column": "q"}
    try:
        retriever = {"type": "FixKRetriever", "fix_id_list": [0]}
        renderer = pp.Renderer(template, ice, retriever, table, reader=reader, output=output)
        made = renderer.render(samples)
    except (pp.RenderError, pp.TemplateError) as error:
        if wanted[0] is not None or error.column != "examples.m" or error.row != 0:
            raise DifferenceError(
                f"examples as {output}: an error", f"{error}; the harness gives {wanted[0]}"
            ) from error
        return
    if wanted[0] is None:
        raise DifferenceError(f"examples as {output}: not refused", f"row 0 of {table.to_pylist()}")
    if output == "messages_json":
        compare(
            [json.loads(prompt) for prompt in made["prompt"].to_pylist()],
            [[*wanted[0], {"role": "user", "content": "hi Q"}]],
        )


def compare(rendered: Any, wanted: Any) -> None:
    if rendered != wanted:
        raise DifferenceError("other messages than the harness gives", f"found {rendered!r}, wanted {wanted!r}")


def run(seed: int, number: int) -> int:
    """Make and check the case of a number."""
    stages.enter("building")
    return check(seed, number, make(seed, number))


warnings.simplefilter("ignore", pp.PromptWarning)
