"""Messages that a column brings among raw messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from fuzz import expansions
from generators.few_shots import rendered_or_refused, texts
from marks import UNWARNED

EXTRA: dict[str, tuple[Any, pa.DataType]] = {
    "date": (0, pa.date32()),
    "timestamp": (0, pa.timestamp("us")),
    "time zone": (0, pa.timestamp("us", "UTC")),
    "decimal": (1, pa.decimal128(5, 2)),
    "binary": (b"x", pa.binary()),
    "uint64": (2**64 - 1, pa.uint64()),
    "map": ([("k", 1)], pa.map_(pa.string(), pa.int64())),
    "float32": (0.5, pa.float32()),
    "dictionary": ("x", pa.dictionary(pa.int8(), pa.string())),
}


@pytest.mark.parametrize("output", ["messages", "messages_json"])
@pytest.mark.parametrize("kind", EXTRA)
def test_expanded_messages_may_hold_further_fields(kind: str, output: Any) -> None:
    value, data_type = EXTRA[kind]
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("extra", data_type)])
    talk = pa.array([[{"role": "user", "content": "c", "extra": value}]], pa.list_(message))
    samples = pa.table({"talk": talk, "q": ["1"]})
    renderer = pp.Renderer([{"expand_column": "talk"}, {"role": "user", "content": "{q}"}], output=output)
    table, error = rendered_or_refused(renderer, samples)
    if table is None:
        assert "talk" in error or "extra" in error
        return
    (prompt,) = texts(table)
    messages = json.loads(prompt) if output == "messages_json" else prompt
    assert len(messages) == 2
    want = talk.to_pylist()[0][0]
    # JSON has no such value: what stands for it must at least be its text, or the value itself.
    extra = messages[0]["extra"]
    assert extra == want["extra"] or extra == str(want["extra"])
    assert {key: messages[0][key] for key in ("role", "content")} == {"role": "user", "content": "c"}


TALK = [{"role": "user", "content": "c"}]
ODD_TALKS: dict[str, Callable[[], pa.Array]] = {
    "dictionary of lists": lambda: pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([TALK])),
    "run ends of lists": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([TALK])),
    "large_list": lambda: pa.array([TALK], pa.large_list(pa.array(TALK).type)),
    "list_view": lambda: pa.array([TALK], pa.list_view(pa.array(TALK).type)),
    "fixed_size_list": lambda: pa.array([TALK], pa.list_(pa.array(TALK).type, 1)),
    "content of an extension type": lambda: pa.ListArray.from_arrays(
        pa.array([0, 1], pa.int32()),
        pa.StructArray.from_arrays(
            [pa.array(["user"]), pa.ExtensionArray.from_storage(pa.json_(), pa.array(["c"]))], ["role", "content"]
        ),
    ),
}


@pytest.mark.parametrize("kind", ODD_TALKS)
def test_messages_of_a_column_never_vanish(kind: str) -> None:
    samples = pa.table({"talk": ODD_TALKS[kind](), "q": ["1"]})
    renderer = pp.Renderer([{"expand_column": "talk"}, {"role": "user", "content": "{q}"}])
    table, error = rendered_or_refused(renderer, samples)
    if table is None:
        assert "talk" in error
    else:
        (prompt,) = texts(table)
        assert prompt == [*TALK, {"role": "user", "content": "1"}]


@pytest.mark.parametrize("output", ["messages", "messages_json", "prompt_list"])
def test_nulls_among_messages_are_refused(output: Any) -> None:
    for talk in (pa.array([[None]]), pa.array([[None]], pa.list_(pa.array(TALK).type))):
        samples = pa.table({"talk": talk, "q": ["1"]})
        with pytest.raises(pp.RenderError, match="row 0"):
            pp.Renderer([{"expand_column": "talk"}, {"role": "user", "content": "{q}"}], output=output).render(samples)


MERGED = [{"role": "system", "content": "S: "}]


@pytest.mark.parametrize("output", ["messages", "messages_json"])
def test_messages_of_no_rows_are_no_rows(output: Any) -> None:
    """Whatever the column's type: there is nothing in it to read."""
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    template = [{"role": "user", "content": "</E>"}, "</E>", {"expand_column": "talk"}]
    renderer = pp.Renderer(
        {"type": "RawPromptTemplate", "messages": template, "ice_token": "</E>"},
        {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{q}"}], "ice_token": "</E>"},
        retriever={"type": "RandomRetriever", "ice_num": 1},
        reader={"input_columns": ["q"], "output_column": "q"},
        examples=pa.table({"q": ["a", "b"]}),
        meta_template=MERGED,
        output=output,
    )
    for data_type in (pa.list_(message), pa.list_(message, 0), pa.list_(pa.null())):
        samples = pa.table({"q": pa.array([], pa.string()), "talk": pa.array([], data_type)})
        table = renderer.render(samples)
        assert (table.num_rows, table.schema) == (0, renderer.output_schema(samples.schema))


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_merging_goes_by_who_speaks_in_each_row(strings: Any) -> None:
    talks = [
        [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        [],
        [{"role": "user", "content": None}],
        None,
        [{"role": "user", "content": "v"}, {"role": "system", "content": "t"}],
    ]
    samples = pa.table({"talk": talks, "q": ["1", "2", "3", "4", "5"]})
    renderer = pp.Renderer(
        [{"expand_column": "talk"}, {"role": "user", "content": "{q}"}], meta_template=MERGED, strings=strings
    )
    merged = [
        [f"{m['role'][0]}:{m['content']}" for m in prompt] for prompt in renderer.render(samples)["prompt"].to_pylist()
    ]
    assert merged == [
        ["s:S: s", "u:u", "u:1"],
        ["s:S: ", "u:2"],
        ["s:S: ", "u:None", "u:3"],
        ["s:S: ", "u:4"],
        ["u:v", "s:S: t", "u:5"],
    ]
    sliced = pa.concat_tables([samples.slice(3, 2), samples.slice(0, 2)]).combine_chunks().slice(1)
    assert renderer.render(sliced)["prompt"].to_pylist() == [
        renderer.render(samples)["prompt"].to_pylist()[n] for n in (4, 0, 1)
    ]


def test_the_error_names_the_column_of_a_content_that_cannot_be_merged() -> None:
    talks = [[{"role": "user", "content": "u"}], [{"role": "system", "content": None}]]
    renderer = pp.Renderer([{"expand_column": "talk"}], meta_template=MERGED)
    with pytest.raises(pp.RenderError, match="must be a str, found None") as caught:
        renderer.render(pa.table({"talk": talks}))
    assert (caught.value.row, caught.value.column, caught.value.code) == (1, "talk", "unmergeable_content")


NO_MESSAGES: dict[str, list[Any]] = {
    "numbers": [7, 8],
    "texts": ["Hello", "role"],
    "truth values": [True],
    "other dicts": [{"speaker": "user"}],
    "half a message": [{"role": "user"}],
    "lists": [[{"role": "user", "content": "c"}]],
}


@pytest.mark.parametrize("output", ["messages", "messages_json", "prompt_list", "openai"])
@pytest.mark.parametrize("kind", NO_MESSAGES)
def test_what_is_no_message_is_refused_in_every_output(kind: str, output: Any) -> None:
    samples = pa.table({"talk": [[], NO_MESSAGES[kind]], "q": ["1", "2"]})
    renderer = pp.Renderer([{"expand_column": "talk"}, {"role": "user", "content": "{q}"}], output=output)
    spans, explain = (lambda table: renderer.render(table, spans=True)), (lambda table: renderer.explain(table, 1))
    for work in (renderer.render, spans, explain):
        with pytest.raises(pp.RenderError, match="its messages need role and content") as caught:
            work(samples)
        assert (caught.value.code, caught.value.row, caught.value.column) == ("incomplete_message", 1, "talk")
    assert renderer.render(samples.slice(0, 1)).num_rows == 1


@UNWARNED
@pytest.mark.parametrize("output", ["messages", "messages_json", "prompt_list", "openai"])
@pytest.mark.parametrize("kind", NO_MESSAGES)
def test_examples_hold_messages_or_are_refused(kind: str, output: Any) -> None:
    turn = {"role": "user", "content": "{q}"}
    renderer = pp.Renderer(
        {"type": "RawPromptTemplate", "messages": ["</E>", turn]},
        {"type": "RawPromptTemplate", "messages": [{"expand_column": "talk"}, turn]},
        retriever={"type": "IndexColumn", "column": "shots"},
        examples=pa.table({"q": ["e", "f"], "talk": [[], NO_MESSAGES[kind]]}),
        reader={"input_columns": ["q"], "output_column": "q"},
        output=output,
    )
    assert renderer.render(pa.table({"q": ["1"], "shots": [[0]]})).num_rows == 1
    with pytest.raises(pp.RenderError, match="its messages need role and content") as caught:
        renderer.render(pa.table({"q": ["1"], "shots": [[1]]}))
    assert (caught.value.row, caught.value.column) == (1, "examples.talk")


@UNWARNED
def test_columns_of_all_types_are_refused_or_expanded() -> None:
    assert sum(expansions.run(0, number) for number in range(300)) == 300


@UNWARNED
@pytest.mark.full
def test_many_columns_of_all_types_are_refused_or_expanded() -> None:
    assert sum(expansions.run(0, number) for number in range(300, 4_000)) == 3_700
