"""Messages as JSON by copying escaped texts, and message by message: the same bytes, and the same refusals."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from comparing import clean
from few_shots import texts
from marks import UNWARNED
from test_layouts import CONFIGS, META, TURNS, train

ODD = ['a"b\\', "\n\t\x00\x1f", "\u2028é😀\x7f", "", "plain", "{", "x" * 5000 + '"' + "é" * 5000]
ROWS = 3000  # several pieces of work
CHAT = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
CASES: dict[str, dict[str, Any]] = {
    "raw": {
        "prompt_template": [
            {"content": "{q}\n", "role": "user", "name": 'a"b', "n": [1.5, None]},
            {"role": "user", "content": ""},
        ]
    },
    "meta": {"prompt_template": {"round": TURNS}, "meta_template": META},
    "five-shot": {**CONFIGS["five-shot messages"], "examples": train()},
    "own shots": {
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {"begin": ["</E>"], "round": TURNS},
            "ice_token": "</E>",
        },
        "ice_template": {"type": "PromptTemplate", "template": {"round": TURNS}},
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "examples": pa.table({"q": ODD, "hint": ODD[::-1], "a": ODD}),
        "meta_template": CHAT,
    },
    "labels": {
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {name: {"round": [{"role": "HUMAN", "prompt": f'{{q}}"{name}\n'}]} for name in "AB"},
        },
        "inferencer": {"type": "PPLInferencer"},
        "meta_template": CHAT,
    },
}
READER = {"input_columns": ["q", "hint"], "output_column": "a"}


def samples(rows: int = ROWS, **changes: Any) -> pa.Table:
    columns = {
        "q": [ODD[row % len(ODD)] for row in range(rows)],
        "hint": pa.array([f"plain {row}" for row in range(rows)]).dictionary_encode(),
        "a": pa.array([None if row % 5 == 0 else row for row in range(rows)]),
        "shots": [[row % len(ODD), (row * 3) % len(ODD)][: row % 3] for row in range(rows)],
    }
    return pa.table({**columns, **changes})


def renderers(name: str, **changes: Any) -> tuple[pp.Renderer, pp.Renderer]:
    config = {"reader": READER, **CASES[name], **changes}
    return tuple(pp.Renderer(**{**config, "output": form}) for form in ("messages", "messages_json"))  # type: ignore[return-value]


@UNWARNED
@pytest.mark.parametrize("name", CASES)
def test_json_of_many_rows_is_what_python_writes_of_the_messages(name: str) -> None:
    messages, as_json = renderers(name)
    found, want = texts(as_json.render(samples())), clean(texts(messages.render(samples())))
    assert [json.loads(text) for text in found] == want
    assert [json.dumps(json.loads(text), ensure_ascii=False) for text in found] == found


@UNWARNED
@pytest.mark.parametrize("name", CASES)
def test_a_row_that_needs_more_than_copying_changes_no_other(name: str) -> None:
    """One value that is a placeholder: all rows are put together message by message."""
    _, as_json = renderers(name)
    hostile = pa.chunked_array([pa.array(["{a} {q}", *samples()["q"].to_pylist()[1:]])])
    plain, mixed = texts(as_json.render(samples())), texts(as_json.render(samples(q=hostile)))
    each = len(plain) // ROWS
    assert plain[each:] == mixed[each:]
    assert plain[:each] != mixed[:each]


@UNWARNED
@pytest.mark.parametrize("name", ["five-shot", "own shots"])
@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_batches_of_any_size_and_threads_give_the_same(name: str, strings: str) -> None:
    for renderer in renderers(name, strings=strings):
        whole = texts(renderer.render(samples()))
        for rows in (1, 700, 2999):
            parts = renderer.stream(samples().to_reader(max_chunksize=rows)).read_all()
            assert texts(parts) == whole
        pp.set_threads(1)
        try:
            assert texts(renderer.render(samples())) == whole
        finally:
            pp.set_threads(None)


def test_limits_are_those_of_texts_without_escapes() -> None:
    """A text of 900 quotes is 1,800 bytes of JSON."""
    table = pa.table({"q": ['"' * 900] * 100})
    fits, passes = ({"prompt_bytes": size} for size in (1000, 800))
    template = [{"role": "user", "content": "{q}"}]
    (text, *_) = texts(pp.Renderer(template, output="messages_json", limits=fits).render(table))
    assert json.loads(text) == [{"role": "user", "content": '"' * 900}]
    said = []
    for form in ("messages", "messages_json"):
        with pytest.raises(pp.RenderError) as raised:
            pp.Renderer(template, output=form, limits=passes).render(table)
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_what_is_wrong_is_said_of_the_first_row() -> None:
    """Rows are put together side by side, and the first one that can't be is named."""
    when = [None] * 2000 + [pa.scalar(0, pa.timestamp("us"))] * 2000
    messages = pa.array(
        [[{"role": "user", "content": "x", "at": at}] for at in when],
        pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("at", pa.timestamp("us"))])),
    )
    renderer = pp.Renderer([{"expand_column": "talk"}, {"role": "user", "content": "{q}"}], output="messages_json")
    with pytest.raises(pp.RenderError, match="row 2000"):
        renderer.render(pa.table({"talk": messages, "q": ["1"] * 4000}))


def test_roles_of_a_later_smaller_batch_are_a_slice_of_the_kept_ones() -> None:
    renderer, _ = renderers("five-shot")
    for rows in (2000, 3, 0, 2500):
        table = renderer.render(samples(rows))
        again = pa.ipc.open_stream(sink_of(table)).read_all()
        assert again.equals(table)
        assert texts(table) == texts(renderers("five-shot")[0].render(samples(rows)))


def sink_of(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
