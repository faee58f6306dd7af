"""`index=`: the number of each request's sample, counted over the whole stream, before all other columns."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

QA = pa.table({"id": list("abcde"), "q": ["1", "2", "3", "4", "5"], "a": ["x", "y", "x", "z", "y"]})
TALKS = pa.table(
    {
        "id": list("abcd"),
        "question": [["a", "b"], [], ["c"], ["d", "e", "f"]],
        "answer": [["1", "2"], [], ["3"], ["4", "5", "6"]],
    }
)
CHATS = pa.table(
    {
        "id": list("abc"),
        "dialogue": [
            [{"role": "user", "content": "u"}, {"role": "assistant", "content": "v"}] * 2,
            [{"role": "user", "content": "u"}],
            [{"role": "user", "content": "w"}, {"role": "assistant", "content": "x"}],
        ],
    }
)
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
PAIR = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
TURNS = {
    "prompt_template": {
        "type": "MultiTurnPromptTemplate",
        "template": {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]},
    },
    "dialect": "aisbench",
}
CHAT = {"reader": {"input_columns": ["dialogue"], "output_column": None}}
SHOTS = {
    "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
    "ice_template": {"type": "PromptTemplate", "template": "{q}={a}"},
    "retriever": {"type": "RandomRetriever", "ice_num": 1},
    "reader": {"input_columns": ["q"], "output_column": "a"},
    "examples": pa.table({"q": ["6", "7", "8"], "a": ["u", "v", "w"]}),
}
# What makes a renderer, the samples, and the sample of each request.
MODES: dict[str, tuple[dict[str, Any], pa.Table, list[int]]] = {
    "gen": ({"prompt_template": "{q}"}, QA, [0, 1, 2, 3, 4]),
    "examples": (SHOTS, QA, [0, 1, 2, 3, 4]),
    "messages": ({"prompt_template": PAIR, "meta_template": META}, QA, [0, 1, 2, 3, 4]),
    "openai": ({"prompt_template": PAIR, "meta_template": META, "output": "openai"}, QA, [0, 1, 2, 3, 4]),
    "ppl": (
        {"prompt_template": "{q}", "mode": "ppl", "labels": ["A", "B"]},
        QA,
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    ),
    "every turn": (
        {**TURNS, "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"}},
        TALKS,
        [0, 0, 2, 3, 3, 3],
    ),
    "last turns": (
        {**TURNS, "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "last"}},
        TALKS,
        [0, 2, 3],
    ),
    "whole conversations": (TURNS, TALKS, [0, 1, 2, 3]),
    "chats": ({**CHAT, "inferencer": {"type": "ChatInferencer", "infer_mode": "every_with_gt"}}, CHATS, [0, 0, 2]),
}
KEEPS: dict[str, list[str]] = {"nothing": [], "a column": ["id"]}


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_the_samples(mode: str, keep: str) -> None:
    config, samples, numbers = MODES[mode]
    renderer, names = pp.Renderer(**config), KEEPS[keep]
    plain = renderer.render(samples, names)
    whole = renderer.render(samples, names, index="n")
    assert whole.column_names == ["n", *plain.column_names]
    assert whole.schema == renderer.output_schema(samples.schema, names, index="n")
    assert whole.schema.field("n").type == pa.int64()
    assert whole["n"].to_pylist() == numbers
    assert whole.drop_columns(["n"]) == plain
    for name in names:
        assert whole[name].to_pylist() == [samples[name][n].as_py() for n in numbers]
    # Whatever the batches are.
    for sizes in ([1] * len(samples), [2, len(samples) - 2], [0, 1, 0, len(samples) - 1]):
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        parts = [samples.slice(start, size).combine_chunks() for start, size in zip(starts, sizes, strict=True)]
        batches = [pa.record_batch([c.combine_chunks() for c in part.columns], schema=samples.schema) for part in parts]
        assert renderer.stream(batches, names, index="n").read_all().combine_chunks() == whole.combine_chunks()
        chunked = renderer.render(pa.concat_tables(parts), names, index="n")
        assert chunked.combine_chunks() == whole.combine_chunks()
    sliced = renderer.render(samples.slice(2), names, index="n")
    if mode != "examples":  # which go by the position
        assert sliced["n"].to_pylist() == [n - 2 for n in numbers if n >= 2]
    empty = renderer.render(samples.slice(0, 0), names, index="n")
    assert (len(empty), empty.schema) == (0, whole.schema)


def test_labels_of_a_column() -> None:
    renderer = pp.Renderer("{q}", mode="ppl", reader={"input_columns": ["q"], "output_column": "a"})
    table = renderer.render(QA.slice(0, 2), index="n")
    assert table.to_pylist() == [
        {"n": row, "label": label, "prompt": str(row + 1)} for row in range(2) for label in ("x", "y")
    ]


def test_more_rows_than_a_slice_has() -> None:
    samples = pa.table({"q": [str(n) for n in range(140_000)]})
    for config, times in (({}, 1), ({"mode": "ppl", "labels": ["A", "B", "C"]}, 3)):
        renderer = pp.Renderer("{q}", **config)
        numbers = [n for n in range(len(samples)) for _ in range(times)]
        assert renderer.render(samples, index="n")["n"].to_pylist() == numbers
        stream = renderer.stream(samples.to_batches(max_chunksize=50_000), index="n")
        assert stream.read_all()["n"].to_pylist() == numbers


CLASHES = {
    "a kept column": ({"index": "id", "keep": ["id"]}, "a kept column is called 'id' too; call the index 'id_index'"),
    "the prompt": ({"index": "prompt"}, "call the index 'prompt_index', say, or rename that by names="),
    "the label": ({"index": "label"}, "an output column is called 'label' too"),
}


@pytest.mark.parametrize("call", ["render", "stream", "output_schema"])
@pytest.mark.parametrize("name", CLASHES)
def test_two_columns_of_one_name(name: str, call: str) -> None:
    arguments, message = CLASHES[name]
    renderer = pp.Renderer("{q}", mode="ppl", labels=["A"])
    with pytest.raises(pp.RenderError) as raised:
        getattr(renderer, call)(QA.schema if call == "output_schema" else QA, **arguments)
    assert raised.value.code == "duplicate_output_column"
    assert message in str(raised.value)


def test_a_column_that_is_not_kept_is_no_clash() -> None:
    assert pp.Renderer("{q}").render(QA, index="id").column_names == ["id", "prompt"]


@pytest.mark.parametrize("index", ["", "a\0b"])
def test_no_name_for_a_column(index: str) -> None:
    with pytest.raises(pp.RenderError) as raised:
        pp.Renderer("{q}").render(QA, index=index)
    assert raised.value.code == "invalid_column_name"


def test_no_str() -> None:
    with pytest.raises(TypeError, match="index: expected the name of a column, found True"):
        pp.Renderer("{q}").render(QA, index=True)  # type: ignore[arg-type]


def test_an_earlier_request_doesnt_change_a_later_one() -> None:
    renderer = pp.Renderer("{q}")
    for index in (None, "n", "m", None):
        names = ["prompt"] if index is None else [index, "prompt"]
        assert renderer.render(QA, index=index).column_names == names
        assert renderer.output_schema(QA.schema, index=index).names == names
    assert renderer(QA).column_names == ["id", "q", "a", "prompt"]
