"""Rows whose values form placeholders are filled in apart: the rows around them come out as they do alone."""

from __future__ import annotations

import gc
import random
import warnings
import weakref
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress_workbench.files.write.json_lines import LineWriter, Piece

TURNS = {"round": [{"role": "HUMAN", "prompt": "Q: {q}\n{n}{k}"}, {"role": "BOT", "prompt": "A: {a}"}]}
META = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN", "begin": "<h>", "end": "</h>"},
        {"role": "BOT", "api_role": "BOT", "begin": "<a>", "generate": True},
    ]
}
READER = {"input_columns": ["q", "n", "k", "late"], "output_column": "a"}
WAYS: dict[str, dict[str, Any]] = {
    "string": {"prompt_template": "Q: {q} of {n}\nA:"},
    "strings, printed": {"prompt_template": "{k}{q}{n}", "strings": "large_string"},
    "text": {"prompt_template": TURNS, "meta_template": META, "output": "text"},
    "messages": {"prompt_template": TURNS, "meta_template": META, "output": "messages"},
    "views": {"prompt_template": TURNS, "meta_template": META, "output": "messages", "strings": "string_view"},
    "json": {"prompt_template": TURNS, "meta_template": META, "output": "messages_json"},
    "labels": {
        "prompt_template": {label: {"round": [*TURNS["round"], {"role": "BOT", "prompt": label}]} for label in "AB"},
        "inferencer": {"type": "PPLInferencer"},
        "output": "text",
    },
    "examples": {
        "prompt_template": {"begin": ["</E>"], **TURNS},
        "ice_template": TURNS,
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "ice_token": "</E>",
        "examples": pa.table(
            {"q": ["1", "{n}"], "n": ["x", "y"], "k": ["é", "z"], "a": ["2", "{q}"], "late": ["", ""]}
        ),
        "output": "text",
    },
}
BROUGHT = ("{a}", "{n}", "{late}", "{k}", "{", "{q")


def renderer(way: str) -> pp.Renderer:
    settings = {"reader": READER, "substitution": "harness", "retriever": {"type": "ZeroRetriever"}, **WAYS[way]}
    if "ice_token" in settings:
        token = settings.pop("ice_token")
        for name in ("prompt_template", "ice_template"):
            settings[name] = {"type": "PromptTemplate", "template": settings[name], "ice_token": token}
    return pp.Renderer(**settings)


def table(draw: random.Random, rows: int, share: float) -> pa.Table:
    """Draw samples of which a share brings in a placeholder, half of one, or a value that brings in others."""

    def text(_: int) -> str | None:
        words = draw.choice(["", "one", r"\frac{1}{2} é", "some words " * draw.randrange(9), None])
        return f"{words}{draw.choice(BROUGHT)}{words}" if draw.random() < share else words

    few = [text(0) for _ in range(4)]
    return pa.table(
        {
            "q": pa.array(map(text, range(rows)), pa.string()),
            "n": pa.array(map(text, range(rows)), draw.choice([pa.string(), pa.large_string(), pa.string_view()])),
            "k": draw.choice([pa.array(draw.choices(few, k=rows)).dictionary_encode(), pa.array(range(rows))]),
            "a": [text(0) for _ in range(rows)],
            "late": [draw.random() for _ in range(rows)],
            "shots": [draw.choices([0, 1], k=2) for _ in range(rows)],
        }
    )


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Any:
    pp.set_threads(request.param)
    yield request.param
    pp.set_threads(None)


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
@pytest.mark.parametrize("share", [0.004, 0.2, 1])
@pytest.mark.parametrize("way", WAYS)
def test_rows_come_out_as_they_do_alone(way: str, share: float, threads: int) -> None:
    draw = random.Random(f"{way} {share} {threads}")
    samples, engine = table(draw, 160, share), renderer(way)
    whole = engine.render(samples)
    assert engine.last_run is not None
    filled, first = engine.last_run.rows, engine.last_run.first_row
    alone, counts = [], []
    for row in range(samples.num_rows):
        alone += engine.render(samples.slice(row, 1))["prompt"].to_pylist()
        counts.append(engine.last_run.rows)
    assert whole["prompt"].to_pylist() == alone
    assert (filled, first) == (sum(counts), counts.index(1) if any(counts) else None)


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
@pytest.mark.parametrize("way", ["string", "strings, printed"])
def test_parts_fit_together(way: str, threads: int) -> None:
    samples, engine = table(random.Random(f"{way} {threads}"), 5000, 0.002), renderer(way)
    whole = engine.render(samples)["prompt"].to_pylist()
    assert engine.last_run is not None
    filled = engine.last_run.rows
    parts = engine.stream(samples.to_batches(max_chunksize=59)).read_all()["prompt"].to_pylist()
    assert whole == parts
    assert engine.last_run.rows == filled > 0


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
@pytest.mark.parametrize("way", ["string", "messages"])
def test_lines_with_filled_rows_are_written_whole(way: str) -> None:
    samples, engine = table(random.Random(way), 300, 0.05), renderer(way)
    rendered = engine.render(samples)
    pieces = [Piece("literal", '{"n": '), Piece("row"), Piece("literal", ', "p": '), Piece("request", "", "prompt")]
    writer = LineWriter(rendered.schema, [*pieces, Piece("literal", "}\n")])
    assert writer.frame is not None
    expected = [line for part in writer.lines(rendered.combine_chunks().to_batches()[0]) for line in part.to_pylist()]
    (part,) = engine._engine.lines(samples.to_reader(), writer.frame)
    texts = rendered["prompt"].combine_chunks()
    assert part.lines.to_pylist() == expected
    texts = [texts] if way == "string" else texts.flatten().flatten()
    assert part.text_bytes == sum(len(text.encode()) for column in texts for text in column.to_pylist())


def test_a_table_that_was_warned_of_is_dropped_when_it_is_let_go() -> None:
    engine = renderer("string")
    samples = pa.table({name: ["{n}"] for name in ("q", "n", "k", "a", "late")})
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rendered = engine.render(samples)
        is_there = weakref.ref(rendered)
        del rendered
        assert is_there() is None
    finally:
        gc.enable()
