"""Messages as JSON by copying escaped texts, and message by message: the same bytes, and the same refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from comparing import clean
from generators.few_shots import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED, heavy
from test_layouts import CONFIGS, META, TURNS, train

LONG = part_of(5000)
ODD = ['a"b\\', "\n\t\x00\x1f", "\u2028é😀\x7f", "", "plain", "{", "x" * LONG + '"' + "é" * LONG]
ROWS = 9001  # several pieces of work, more than there are threads
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
    rendered, want = texts(as_json.render(samples())), clean(texts(messages.render(samples())))
    assert [json.loads(text) for text in rendered] == want
    assert [json.dumps(json.loads(text), ensure_ascii=False) for text in rendered] == rendered


@UNWARNED
@pytest.mark.parametrize("name", CASES)
def test_a_row_that_needs_more_than_copying_changes_no_other(name: str) -> None:
    """One value that is a placeholder: all rows are put together message by message."""
    _, as_json = renderers(name)
    plain = texts(as_json.render(samples()))
    each = len(plain) // ROWS
    for row in (0, 4095, ROWS - 2):
        values = samples()["q"].to_pylist()
        values[row] = "{a} {q}"
        mixed = texts(as_json.render(samples(q=pa.chunked_array([pa.array(values)]))))
        changed = slice(row * each, (row + 1) * each)
        assert plain[: changed.start] + plain[changed.stop :] == mixed[: changed.start] + mixed[changed.stop :]
        assert plain[changed] != mixed[changed]


@UNWARNED
@pytest.mark.parametrize("name", ["five-shot", "own shots"])
@pytest.mark.parametrize("strings", ["string", "string_view", *heavy("large_string")])
def test_batches_of_any_size_and_threads_give_the_same(name: str, strings: str) -> None:
    for renderer in renderers(name, strings=strings):
        whole = texts(renderer.render(samples()))
        for rows in (300, 4097, ROWS - 1):
            parts = renderer.stream(samples().to_reader(max_chunksize=rows)).read_all()
            assert texts(parts) == whole
        pp.set_threads(1)
        try:
            assert texts(renderer.render(samples())) == whole
        finally:
            pp.set_threads(None)


KINDS: dict[str, Any] = {
    "strings": pa.string(),
    "large strings": pa.large_string(),
    "views": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
ODD_ROWS = st.dictionaries(st.integers(0, ROWS - 1), st.sampled_from([*ODD, "{a", "{hint}x", None]), max_size=6)


@UNWARNED
@settings(deadline=None, max_examples=part_of(40))
@given(
    st.sampled_from(list(KINDS)),
    ODD_ROWS,
    st.lists(st.integers(-(10**6), 10**6) | st.none(), min_size=1, max_size=9),
    st.sampled_from(["{q}", '"{q}{hint}"\n', "{hint} {q}{a}", "nothing", "é{a}{q}{q}"]),
    st.sampled_from([1, 4096, 4097, ROWS]),
)
def test_odd_rows_among_plain_ones(
    kind: str, odd: dict[int, str | None], numbers: list[int | None], text: str, rows: int
) -> None:
    """The column that has them is read part by part, or known as a whole; the numbers are printed part by part."""
    values = [odd.get(row, f"q {row}") for row in range(rows)]
    table = pa.table(
        {
            "q": pa.array(values, pa.string()).cast(KINDS[kind]),
            "hint": ["two\nlines" if row % 97 == 0 else "one" for row in range(rows)],
            "a": [numbers[row % len(numbers)] for row in range(rows)],
        }
    ).slice(rows // 3)
    template = [{"role": "user", "content": text, "n": '"'}]
    reader = {"input_columns": ["q", "hint", "a"], "output_column": None}
    messages, as_json = (pp.Renderer(template, reader=reader, output=form) for form in ("messages", "messages_json"))
    want = [json.dumps(request, ensure_ascii=False) for request in clean(texts(messages.render(table)))]
    assert texts(as_json.render(table)) == want


@pytest.mark.parametrize("row", [0, 4095, 4096, ROWS - 1])
@pytest.mark.parametrize("bad", [b"\xff", b"\xe6\x97", "日本".encode()[1:]])
def test_invalid_utf_8_is_found_in_its_row(row: int, bad: bytes) -> None:
    values = [b'"plain"'] * ROWS
    values[row] = bad
    table = pa.table({"q": pa.array(values, pa.binary()).view(pa.string()), "a": [b"" for _ in values]})
    with pytest.raises(pp.RenderError, match="invalid UTF-8") as caught:
        pp.Renderer([{"role": "user", "content": "{q}"}], output="messages_json").render(table)
    assert (caught.value.row, caught.value.column) == (row, "q")


def test_rows_much_longer_than_the_first_ones() -> None:
    """The first requests give an estimate of the memory of all."""
    number = pa.array([10**15 if row > ROWS * 2 // 3 else 1 for row in range(ROWS)])
    table = pa.table({"q": ['"' * (900 if row > ROWS // 2 else 1) for row in range(ROWS)], "a": number})
    text = pp.Renderer("{q}{a}").render(table)["prompt"].to_pylist()
    assert text == [f"{q}{a}" for q, a in zip(*table.to_pydict().values(), strict=True)]
    as_json = pp.Renderer([{"role": "user", "content": "{q}{a}"}], output="messages_json").render(table)
    assert [json.loads(request)[0]["content"] for request in texts(as_json)] == text


@pytest.mark.parametrize("column", ["", "a"])
def test_texts_of_which_nothing_is_known_beforehand(column: str) -> None:
    """Numbers alone, and strings of which the first ones are empty."""
    long = [0 if row < 5000 else 10**12 + row for row in range(ROWS)]
    text = ["" if row < 5000 else f"\n{row}" for row in range(ROWS)]
    table = pa.table({"n": long, "a": text})
    as_json = pp.Renderer([{"role": "user", "content": f"{{{column or 'n'}}}"}], output="messages_json")
    contents = [json.loads(request)[0]["content"] for request in texts(as_json.render(table))]
    assert contents == (text if column else [str(n) for n in long])
    assert pp.Renderer("{n}{a}").render(table)["prompt"].to_pylist() == [
        f"{n}{a}" for n, a in zip(long, text, strict=True)
    ]


@pytest.mark.parametrize("value", ['"', "plain"])
def test_values_that_rows_pick_from(value: str) -> None:
    """They are escaped once for all rows, those behind nulls aside."""
    picks = [None if row % 7 == 0 else row % 3 for row in range(ROWS)]
    column = pa.DictionaryArray.from_arrays(pa.array(picks, pa.int8()), [value * 30, "", value * 50_000])
    table = pa.table({"q": column}).slice(5)
    as_json = pp.Renderer([{"role": "user", "content": "{q}\n"}], output="messages_json", strings="large_string")
    contents = [json.loads(text)[0]["content"] for text in texts(as_json.render(table.slice(0, 500)))]
    assert contents == [f"{text}\n" for text in table["q"].slice(0, 500).to_pylist()]
    lengths = [len(text) for text in texts(as_json.render(table))]
    each = [
        len(json.dumps([{"role": "user", "content": f"{text}\n"}])) for text in (*column.dictionary.to_pylist(), None)
    ]
    assert lengths == [each[3 if pick is None else pick] for pick in picks[5:]]


REFUSED = """
import resource, sys
import promptpress as pp, pyarrow as pa

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

template = [{"role": "user", "content": "x" * 20_000 + sys.argv[1]}]
limits = {"batch_bytes": 900_000_000}
renderer = pp.Renderer(template, output="messages_json", strings="large_string", limits=limits)
table = pa.table({"q": ['"'] * 50_000, "a": list(range(50_000))})
renderer.render(table.slice(0, 10))
before = peak()
try:
    renderer.render(table)
except pp.RenderError as error:
    print(error.code, peak() - before)
"""


@pytest.mark.parametrize("field", ["{q}", "{a}"])
def test_what_passes_a_limit_is_refused_before_memory_is_allocated(field: str) -> None:
    """A gigabyte of literals, of which nothing is written: in a process of its own, whose peak is this render's."""
    done = subprocess.run([sys.executable, "-c", REFUSED, field], capture_output=True, text=True, check=True)
    code, kilobytes = done.stdout.split()
    assert code == "limit_exceeded"
    assert int(kilobytes) < 200 << 10


@pytest.mark.parametrize("dialect", ["opencompass", "aisbench"])
@pytest.mark.parametrize("template", ["{q}{hint}", 'Q: "{q}"\n', {"round": [{"role": "HUMAN", "prompt": "{q}"}]}])
def test_requests_that_are_texts(dialect: str, template: Any) -> None:
    """Those without a byte are what they are without JSON: a text, or a list of nothing."""
    renderer = pp.Renderer(prompt_template=template, reader=READER, dialect=dialect, output="messages_json")
    table = samples(hint=[""] * ROWS)
    rendered = texts(renderer.render(table))
    one_by_one = [texts(renderer.render(table.slice(row, 1)))[0] for row in range(len(ODD))]
    assert rendered == [one_by_one[row % len(ODD)] for row in range(ROWS)]
    wrapped = 'Q: "{}"\n' if isinstance(template, str) and '"' in template else "{}"
    expected = [wrapped.format(value) for value in ODD]
    empty = [] if dialect == "aisbench" and not isinstance(template, str) else ""
    assert [json.loads(text) for text in one_by_one] == [text or empty for text in expected]


def test_limits_are_those_of_texts_without_escapes() -> None:
    """A text of 900 quotes is 1,800 bytes of JSON."""
    table = pa.table({"q": ['"' * 900] * 100})
    fits, passes = ({"prompt_bytes": size} for size in (1000, 800))
    template = [{"role": "user", "content": "{q}"}]
    (text, *_) = texts(pp.Renderer(template, output="messages_json", limits=fits).render(table))
    assert json.loads(text) == [{"role": "user", "content": '"' * 900}]
    errors = []
    for form in ("messages", "messages_json"):
        with pytest.raises(pp.RenderError) as raised:
            pp.Renderer(template, output=form, limits=passes).render(table)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_an_error_names_the_first_wrong_row() -> None:
    """Rows are put together side by side, and the first one that can't be is named."""
    when = [None] * 2000 + [pa.scalar(0, pa.timestamp("us"))] * 2000
    messages = pa.array(
        [[{"role": "user", "content": "x", "at": time}] for time in when],
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
