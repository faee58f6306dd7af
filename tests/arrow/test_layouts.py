"""Every layout of the input and the output, every split of the samples, any number of threads: the same bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from comparing import clean
from marks import UNWARNED
from models.plain_model import render as render_plain

ROWS = [
    {"q": "How many legs has a spider?", "hint": "more than six", "a": "8"},
    {"q": "", "hint": "", "a": ""},
    {"q": "{a} or {hint}?", "hint": "{q}", "a": "{"},
    {"q": None, "hint": "{{a}}", "a": "B"},
    {"q": "蜘蛛有几条腿？", "hint": None, "a": "八"},  # noqa: RUF001
    {"q": "🕷" * 9, "hint": "a longer text, so that a view needs a buffer of its own", "a": None},
    {"q": "x" * 40, "hint": "}", "a": "A"},
]
TRAIN = [{"q": f"{n} + {n}?", "hint": "{a}", "a": str(2 * n)} for n in range(6)]
META = {
    "begin": "<s>",
    "end": "</s>",
    "round": [
        {"role": "HUMAN", "begin": "<H>", "end": "\n", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<B>", "end": "\n", "api_role": "BOT", "generate": True},
    ],
}
TURNS = [{"role": "HUMAN", "prompt": "{q} ({hint})"}, {"role": "BOT", "prompt": "= {a}"}]
FIVE_SHOTS = {
    "prompt_template": {
        "type": "PromptTemplate",
        "template": {
            "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Count."}, "</E>"],
            "round": TURNS,
        },
        "ice_token": "</E>",
    },
    "ice_template": {"type": "PromptTemplate", "template": {"round": TURNS}},
    "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 4, 5]},
    "meta_template": META,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "zero-shot": {"prompt_template": "{q}\nHint: {hint}\nAnswer: {a}"},
    "five-shot text": {**FIVE_SHOTS, "output": "text"},
    "five-shot messages": {**FIVE_SHOTS, "output": "messages"},
    "prompt list": {**FIVE_SHOTS, "output": "prompt_list"},
    "ppl": {
        "prompt_template": {"type": "PromptTemplate", "template": {"A": "{q} {a} yes", "B": "{q} {a} no", "": ""}},
        "inferencer": {"type": "PPLInferencer"},
    },
    "index column": {
        "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}={a}", "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": "{q}={a}"},
        "retriever": {"type": "IndexColumn", "column": "shots", "ice_separator": ";"},
    },
    "raw messages": {
        "prompt_template": {
            "type": "RawPromptTemplate",
            "messages": [{"role": "system", "content": "{hint}"}, {"role": "user", "content": "{q}"}],
        },
    },
    "single pass": {"prompt_template": "{q}\n{{hint}}\n{a}", "substitution": "single_pass"},
}
for config in CONFIGS.values():
    config["reader"] = {"input_columns": ["q", "hint"], "output_column": "a"}
SHOTS: list[list[int]] = [[], [0], [5, 4, 3], [-1], [1, 1], [], [2]]

LAYOUTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "dictionary of large_string": pa.dictionary(pa.uint32(), pa.large_string()),
}
STRINGS = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}


def table_of(rows: list[dict[str, Any]], layout: pa.DataType, shots: list[list[int]]) -> pa.Table:
    columns = {name: pa.array([row[name] for row in rows], pa.string()).cast(layout) for name in ("q", "hint", "a")}
    return pa.table({**columns, "shots": pa.array(shots, pa.list_(pa.int64())), "id": pa.array(range(len(rows)))})


def one_chunk(layout: pa.DataType) -> pa.Table:
    return table_of(ROWS, layout, SHOTS)


def many_chunks(layout: pa.DataType) -> pa.Table:
    """Chunks of all lengths, empty ones too, and cut at other rows in each column."""
    whole = one_chunk(layout)
    cuts = {"q": [0, 0, 1, 3, 3, 7], "hint": [0, 2, 2, 7], "a": [0, 7, 7], "shots": [0, 4, 5, 7], "id": [0, 0, 6, 7]}
    return pa.table(
        {
            name: pa.chunked_array(
                [whole[name].chunk(0)[start:end] for start, end in itertools.pairwise(ends)], whole[name].type
            )
            for name, ends in cuts.items()
        }
    )


def sliced(layout: pa.DataType) -> pa.Table:
    """The rows in the middle of longer arrays."""
    around = table_of([{"q": "before {a}", "hint": "b", "a": "c"}] * 9, layout, [[3]] * 9)
    padded = pa.concat_tables([around, one_chunk(layout), around]).combine_chunks()
    return padded.slice(9, len(ROWS))


def no_rows(layout: pa.DataType) -> pa.Table:
    return table_of([], layout, [])


def all_null(layout: pa.DataType) -> pa.Table:
    return table_of([{"q": None, "hint": None, "a": None}] * 5, layout, [[0]] * 5)


SHAPES = {shape.__name__: shape for shape in (one_chunk, many_chunks, sliced, no_rows, all_null)}


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    pp.set_threads(request.param)
    yield request.param
    pp.set_threads(2)


def train(layout: pa.DataType = LAYOUTS["string"]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in TRAIN], pa.string()).cast(layout) for name in TRAIN[0]})


def samples_for(name: str, samples: pa.Table) -> pa.Table:
    """Only the configuration that reads the indices gets them: elsewhere they would be a field like any other."""
    return samples if name == "index column" else samples.drop_columns(["shots"])


def want(name: str, samples: pa.Table) -> list[Any]:
    return clean(render_plain(CONFIGS[name], samples.to_pylist(), TRAIN))


def prompts(table: Any) -> list[Any]:
    return clean(table["prompt"].to_pylist())


def string_types(kind: pa.DataType) -> set[pa.DataType]:
    """The types of all strings in a type."""
    if pa.types.is_struct(kind):
        return set().union(*(string_types(field.type) for field in kind.fields))
    return string_types(kind.value_type) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else {kind}


@UNWARNED
@pytest.mark.parametrize("strings", STRINGS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CONFIGS)
def test_every_layout_gives_the_models_requests(name: str, layout: str, shape: str, strings: str, threads: int) -> None:
    assert threads
    samples = samples_for(name, SHAPES[shape](LAYOUTS[layout]))
    renderer = pp.Renderer(**CONFIGS[name], examples=train(LAYOUTS[layout]), strings=strings)
    table = renderer.render(samples, keep=["id"])
    assert prompts(table) == want(name, samples)
    assert table.schema == renderer.output_schema(samples.schema, keep=["id"])
    assert string_types(table.schema.field("prompt").type) == {STRINGS[strings]}
    each = 3 if name == "ppl" else 1
    assert table["id"].to_pylist() == [row for row in samples["id"].to_pylist() for _ in range(each)]


@UNWARNED
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("name", CONFIGS)
def test_every_split_into_batches_gives_the_same(name: str, size: int, threads: int) -> None:
    assert threads
    samples = samples_for(name, one_chunk(LAYOUTS["string"]))
    renderer = pp.Renderer(**CONFIGS[name], examples=train())
    whole = renderer.render(samples)
    batches = samples.to_batches(max_chunksize=size)
    reader = renderer.stream(pa.RecordBatchReader.from_batches(samples.schema, batches))
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema == whole.schema
    assert reader.read_all().combine_chunks().equals(whole.combine_chunks())
    assert renderer.render(pa.Table.from_batches(batches)).combine_chunks().equals(whole.combine_chunks())
    assert [prompt for batch in batches for prompt in prompts(renderer(batch))] == prompts(whole)


@UNWARNED
@pytest.mark.parametrize("name", CONFIGS)
def test_a_call_keeps_all_columns_and_gives_back_what_it_got(name: str) -> None:
    samples = samples_for(name, one_chunk(LAYOUTS["string"]))
    renderer = pp.Renderer(**CONFIGS[name], examples=train())
    batch = samples.to_batches()[0]
    for given, kind in [(samples, pa.Table), (batch, pa.RecordBatch)]:
        result = renderer(given)
        assert isinstance(result, kind)
        assert result.schema.names[: len(samples.schema)] == samples.schema.names
        assert prompts(result) == want(name, samples)


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 3}, {"type": "SlidingWindowRetriever", "k": 2}]
)
def test_retrievers_that_go_by_position_count_through_the_stream(retriever: dict[str, Any]) -> None:
    config = {**CONFIGS["index column"], "retriever": retriever}
    samples = one_chunk(LAYOUTS["string"]).drop_columns(["shots"]).slice(0, 6)
    renderer = pp.Renderer(**config, examples=train())
    whole = renderer.render(samples)
    assert prompts(whole) == clean(render_plain(config, samples.to_pylist(), TRAIN))
    for size in (1, 2, 4):
        reader = renderer.stream(
            pa.RecordBatchReader.from_batches(samples.schema, samples.to_batches(max_chunksize=size))
        )
        assert prompts(reader.read_all()) == prompts(whole)
    with pytest.raises((pp.TemplateError, pp.RenderError), match="retrieve"):
        renderer(samples)
    shots = samples.append_column("shots", renderer.retrieve(samples.num_rows))
    chosen = pp.Renderer(
        **CONFIGS["index column"] | {"retriever": {"type": "IndexColumn", "column": "shots"}}, examples=train()
    )
    assert prompts(chosen(shots)) == prompts(whole)


@UNWARNED
def test_labels_that_are_values_need_the_whole_table() -> None:
    config = {"prompt_template": "{q}{a}", "inferencer": {"type": "PPLInferencer"}, "reader": CONFIGS["ppl"]["reader"]}
    samples = pa.table({"q": ["1", "2", "3"], "a": ["B", "A", "B"]})
    renderer = pp.Renderer(**config)
    table = renderer.render(samples)
    assert table["label"].to_pylist() == ["A", "B"] * 3
    assert prompts(table) == clean(render_plain(config, samples.to_pylist(), []))
    for call in (renderer, renderer.stream):
        with pytest.raises((pp.TemplateError, pp.RenderError), match="labels="):
            call(samples)


def test_mixed_layouts_in_one_table_and_in_the_examples() -> None:
    columns = {
        name: one_chunk(layout)[name] for name, layout in zip(("q", "hint", "a"), LAYOUTS.values(), strict=False)
    }
    samples = pa.table(columns)
    renderer = pp.Renderer(**CONFIGS["five-shot text"], examples=train(LAYOUTS["string_view"]))
    assert prompts(renderer.render(samples)) == want("five-shot text", samples)


def test_buffers_at_odd_addresses() -> None:
    """As frames that were unpickled without a copy have them; reading offsets there is undefined."""

    def odd(data: bytes) -> pa.Buffer:
        return pa.py_buffer(b"\0" + data).slice(1)

    offsets = odd(b"".join(n.to_bytes(4, "little") for n in (0, 1, 3)))
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, odd(b"abc")])
    number = pa.Array.from_buffers(pa.int64(), 2, [None, odd((7).to_bytes(8, "little") * 2)])
    assert any(buffer.address % 8 for array in (text, number) for buffer in array.buffers() if buffer)
    samples = pa.table({"q": text, "n": number})
    renderer = pp.Renderer("{q}{n}", examples=samples)
    assert renderer.render(samples, keep=["q"])["prompt"].to_pylist() == ["a7", "bc7"]
    assert renderer(samples.to_batches()[0]).column("prompt").to_pylist() == ["a7", "bc7"]
