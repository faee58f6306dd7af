"""`errors="column"`: rows that can't be rendered are null, and all others as they would be without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from marks import UNWARNED
from promptpress.engine import RequestsHash

pytestmark = UNWARNED


def texts(count: int, bad: set[int]) -> pa.Array:
    """Texts, some of which aren't UTF-8."""
    values = [b"\xff\xfe" if n in bad else f"question {n}".encode() for n in range(count)]
    return pa.array(values, pa.binary()).view(pa.string())


def table(count: int, bad: set[int]) -> pa.Table:
    return pa.table({"id": list(range(count)), "q": texts(count, bad), "a": ["A"] * count})


EXAMPLES = pa.table({"q": [f"e{n}" for n in range(12)], "a": list("abcdefghijkl")})
SHOTS = {"type": "PromptTemplate", "template": "</E>{q} -> {a}", "ice_token": "</E>"}


def few_shot(retriever: dict, **more: object) -> pp.Renderer:
    return pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>Q: {q}", "ice_token": "</E>"},
        ice_template=SHOTS,
        retriever=retriever,
        examples=EXAMPLES,
        reader={"input_columns": ["q"], "output_column": "a"},
        **more,
    )


META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
RENDERERS = {
    "plain": lambda: pp.Renderer("Q: {q}"),
    "view": lambda: pp.Renderer("Q: {q}", strings="string_view"),
    "labels": lambda: pp.Renderer({"A": "{q} A", "B": "{q} B"}, mode="ppl"),
    "mixed labels": lambda: pp.Renderer("{q}", mode="ppl", labels=[None, 1, "x"]),
    "column labels": lambda: pp.Renderer("{q}", mode="ppl", reader={"input_columns": ["q"], "output_column": "a"}),
    "messages": lambda: pp.Renderer(DIALOGUE, meta_template=META),
    "json": lambda: pp.Renderer(DIALOGUE, meta_template=META, output="messages_json"),
    "random": lambda: few_shot({"type": "RandomRetriever", "ice_num": 2, "seed": 3, "ice_separator": "|"}),
    "window": lambda: few_shot({"type": "SlidingWindowRetriever", "k": 3}),
}


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("bad", [set(), {0}, {9}, {3, 4, 5}, {0, 2, 4, 6, 8}, set(range(10))], ids=str)
def test_the_other_rows_are_what_they_were(name: str, bad: set[int]) -> None:
    renderer = RENDERERS[name]()
    good = renderer.render(table(10, set()), keep=["id"], index="row", hashes=True).to_pylist()
    rendered = renderer.render(table(10, bad), keep=["id"], index="row", hashes=True, errors="column")
    assert rendered.schema == renderer.output_schema(
        table(10, set()).schema, keep=["id"], index="row", hashes=True, errors="column"
    )
    assert rendered.num_rows == len(good)
    for row, expected in zip(rendered.to_pylist(), good, strict=True):
        error = row.pop("error")
        if row["row"] in bad:
            assert error.startswith('invalid_utf8: column "q": ')
            assert "row " not in error.split(":")[0]
            assert row == {**expected, "prompt": None, "hash": None}
        else:
            assert error is None
            assert row == expected


@pytest.mark.parametrize("name", [name for name in RENDERERS if name != "column labels"])
@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("bad", [{0}, {3, 4, 5}, {9}], ids=str)
def test_streams_give_what_tables_give(name: str, size: int, bad: set[int]) -> None:
    renderer, samples = RENDERERS[name](), table(10, bad)
    whole = renderer.render(samples, keep=["id"], index="row", errors="column")
    stream = renderer.stream(samples.to_batches(size), keep=["id"], index="row", errors="column")
    assert stream.schema == whole.schema
    assert stream.read_all().to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("name", ["plain", "labels", "messages", "random"])
@pytest.mark.parametrize("spans", [True, "detailed"])
def test_spans_stand_next_to_what_is_rendered(name: str, spans: bool | str) -> None:
    renderer = RENDERERS[name]()
    good = renderer.render(table(10, set()), index="row", spans=spans).to_pylist()
    rendered = renderer.render(table(10, {2, 5}), index="row", spans=spans, hashes=True, errors="column")
    assert rendered.column_names[-4:] == ["prompt", "spans", "hash", "error"]
    for row, expected in zip(rendered.to_pylist(), good, strict=True):
        assert row["spans"] == (None if row["row"] in (2, 5) else expected["spans"])
    expected = RequestsHash()
    expected.update(rendered["prompt"].combine_chunks())
    assert rendered.schema.metadata[b"promptpress.hash"].decode() == expected.hexdigest()


def test_many_errors_among_many_rows() -> None:
    bad = {n for n in range(5000) if n % 97 == 5 or 2000 <= n < 2300}
    rendered = pp.Renderer("Q: {q}").render(table(5000, bad), errors="column")
    assert [n for n, error in enumerate(rendered["error"].to_pylist()) if error is not None] == sorted(bad)
    assert rendered["prompt"].null_count == len(bad)


def test_turns_of_a_conversation_that_fails_are_one_request() -> None:
    turns = {"round": [{"role": "HUMAN", "prompt": "Q:{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": turns},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
        meta_template=META,
    )
    questions = pa.ListArray.from_arrays([0, 2, 3, 3, 5], texts(5, {2}))
    samples = pa.table({"question": questions, "answer": [["1", "2"], ["3"], [], ["4", "5"]], "id": [7, 8, 9, 10]})
    with pytest.raises(pp.RenderError) as raised:
        renderer.render(samples)
    assert raised.value.row == 1
    rendered = renderer.render(samples, keep=["id"], index="row", errors="column")
    rows = [(row["row"], row["id"], row["turn"], row["error"] is None) for row in rendered.to_pylist()]
    assert rows == [(0, 7, 0, True), (0, 7, 1, True), (1, 8, None, False), (3, 10, 0, True), (3, 10, 1, True)]
    good = renderer.render(samples.filter(pc.not_equal(samples["id"], 8)))["prompt"].to_pylist()
    assert [row for row in rendered["prompt"].to_pylist() if row is not None] == good


def test_what_is_wrong_with_the_table_is_raised() -> None:
    renderer = pp.Renderer(
        inferencer={"type": "ChatInferencer"}, reader={"input_columns": ["m"], "output_column": None}
    )
    with pytest.raises(pp.RenderError, match="m"):
        renderer.render(pa.table({"q": ["x"]}), errors="column")
    with pytest.raises(TypeError, match="errors: expected 'raise' or 'column' or 'skip', found 'drop'"):
        pp.Renderer("{q}").render(pa.table({"q": ["x"]}), errors="drop")  # type: ignore[arg-type]


def test_a_kept_column_named_error_is_refused() -> None:
    samples = pa.table({"q": ["x"], "error": ["y"]})
    with pytest.raises(pp.RenderError, match="names="):
        pp.Renderer("{q}").render(samples, keep=["error"], errors="column")
    with pytest.raises(pp.RenderError, match="two output columns would be called 'error'"):
        pp.Renderer("{q}", names={"prompt": "error"}).render(samples, errors="column")


def test_the_column_has_the_given_name() -> None:
    renderer = pp.Renderer("{q}", names={"error": "why"})
    assert renderer.render(pa.table({"q": ["x"]}), errors="column").column_names == ["prompt", "why"]


EXOTIC = {
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "runs of views": pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 2], pa.int32()), pa.array(["a", "b"], pa.string_view())
    ),
    "dictionary of moments in lists": pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()),
        pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array([1], pa.timestamp("s"))),
    ),
}


@pytest.mark.parametrize("column", EXOTIC.values(), ids=EXOTIC)
def test_columns_of_which_pyarrow_makes_no_empty_array(column: pa.Array) -> None:
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"]).buffers())
    rendered = pp.Renderer("{b}").render(pa.table({"b": bad, "x": column}), errors="column")
    assert rendered["prompt"].to_pylist() == ["ok", None]
    assert rendered["error"][1].as_py().startswith("invalid_utf8")


@pytest.mark.parametrize("name", ["random", "window"])
@pytest.mark.parametrize("output", ["prompt_list", "messages", "openai", "messages_json"])
def test_dialogues_with_examples_by_position(name: str, output: str) -> None:
    """The type of messages is that of the renderer's own retriever, also after a row has failed."""
    retriever = {
        "random": {"type": "RandomRetriever", "ice_num": 1},
        "window": {"type": "SlidingWindowRetriever", "k": 1},
    }
    renderer = pp.Renderer(
        {"template": {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q}"}]}, "ice_token": "</E>"},
        {"template": DIALOGUE},
        retriever[name],
        EXAMPLES,
        {"input_columns": ["q"], "output_column": "a"},
        output=output,  # type: ignore[arg-type]
        meta_template=None if output == "prompt_list" else META,
    )
    good = renderer.render(table(6, set()))["prompt"].to_pylist()
    for rendered in (
        renderer.render(table(6, {1, 4}), errors="column"),
        renderer.stream(table(6, {1, 4}).to_batches(2), errors="column").read_all(),
    ):
        assert rendered.schema == renderer.output_schema(table(6, set()).schema, errors="column")
        assert rendered["prompt"].to_pylist() == [None if n in (1, 4) else good[n] for n in range(6)]


def by_column(**more: object) -> pp.Renderer:
    return few_shot({"type": "IndexColumn", "column": "shots"}, **more)


def chosen(*shots: list[int]) -> pa.Table:
    return pa.table({"q": pa.array(["x"] * len(shots), pa.string()), "shots": pa.array(shots, pa.list_(pa.int64()))})


@pytest.mark.parametrize("errors", ["raise", "column"])
def test_no_rows_are_no_rows_whatever_the_examples_are(errors: str) -> None:
    """No sample shows the examples, so nobody asks for their texts."""
    renderer = by_column(limits={"prompt_bytes": 3})
    rendered = renderer.render(chosen(), errors=errors)  # type: ignore[arg-type]
    assert rendered.schema == renderer.output_schema(chosen().schema, errors=errors)  # type: ignore[arg-type]
    assert rendered.num_rows == 0
    with pytest.raises(pp.RenderError, match="prompt_bytes"):
        renderer.render(chosen([0]))
    assert renderer.render(chosen([0]), errors="column")["error"][0].as_py().startswith("limit_exceeded")


def test_without_labels_there_are_no_requests_and_no_errors() -> None:
    renderer = by_column(mode="ppl", labels=[])
    rendered = renderer.render(chosen([0], [99]), index="row", errors="column")
    assert rendered.schema == renderer.output_schema(chosen().schema, index="row", errors="column")
    assert rendered.num_rows == 0
    with pytest.raises(pp.RenderError, match="row 1"):
        renderer.render(chosen([0], [99]))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_row_that_fails_is_raised_for_any_split(size: int, threads: int) -> None:
    """Choices are read before texts; yet a row whose text is bad comes before a later one whose choice is."""
    samples = pa.table({"q": texts(5, {1, 4}), "shots": pa.array([[0], [0], None, [99], [99]], pa.list_(pa.int64()))})
    pp.set_threads(threads)
    try:
        for call in (
            lambda: by_column().render(samples),
            lambda: by_column().stream(samples.to_batches(size)).read_all(),
            lambda: by_column().render(pa.Table.from_batches(samples.to_batches(size))),
        ):
            with pytest.raises(pp.RenderError, match="invalid UTF-8") as raised:
                call()
            assert (raised.value.row, raised.value.column) == (1, "q")
    finally:
        pp.set_threads(None)
    errors = by_column().render(samples, errors="column")["error"].to_pylist()
    codes = [None, "invalid_utf8", "null_value", "example_index_out_of_range", "example_index_out_of_range"]
    assert [error and error.split(":")[0] for error in errors] == codes


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("bad", [set(), {0}, {9}, {3, 4, 5}, {0, 2, 4, 6, 8}, set(range(10))], ids=str)
def test_rows_that_are_left_out(name: str, bad: set[int]) -> None:
    renderer, samples = RENDERERS[name](), table(10, bad)
    options: dict[str, Any] = {"keep": ["id"], "index": "row", "hashes": True}
    with_errors = renderer.render(samples, **options, errors="column").to_pylist()
    expected = [row for row in with_errors if row.pop("error") is None]
    skipped = renderer.render(samples, **options, errors="skip")
    assert skipped.schema == renderer.output_schema(samples.schema, **options, errors="skip")
    assert skipped.to_pylist() == expected
    assert renderer.last_run is not None
    assert (renderer.last_run.samples, renderer.last_run.errors.rows) == (10, len(bad))
    assert [error.row for error in renderer.last_run.errors.first] == sorted(bad)[:3]
    for error in renderer.last_run.errors.first:
        assert error.message.startswith('invalid_utf8: column "q": ')
    total = RequestsHash(name == "json")
    for chunk in skipped["prompt"].chunks:
        total.update(chunk)
    assert skipped.schema.metadata[b"promptpress.hash"].decode() == total.hexdigest()
    if name == "column labels":
        return
    for size in (1, 3):
        stream = renderer.stream(samples.to_batches(size), **options, errors="skip")
        assert stream.read_all().to_pylist() == expected
        assert renderer.last_run.errors.rows == len(bad)


def test_rows_of_templates_that_are_left_out() -> None:
    template = pp.JinjaTemplate("{{ 6 // n }}")
    numbers = pa.table({"n": [1, 0, 2, 0, 3, 0, 0], "s": pa.array(list("abcdefg"), pa.string_view())})
    for size in (1, 2, 10):
        stream = template.stream(numbers.to_batches(size), keep="all", index="row", errors="skip")
        assert stream.read_all().to_pylist() == [
            {"row": 0, "n": 1, "s": "a", "prompt": "6"},
            {"row": 2, "n": 2, "s": "c", "prompt": "3"},
            {"row": 4, "n": 3, "s": "e", "prompt": "2"},
        ]
        assert template.last_run is not None
        assert (template.last_run.rows, template.last_run.errors.rows) == (7, 4)
        assert [error.row for error in template.last_run.errors.first] == [1, 3, 5]
    chat = pp.ChatTemplate("{{ messages[0].content }}{{ raise_exception('no') if messages | length > 1 }}")
    message = {"role": "user", "content": "Hi."}
    assert chat.render({"messages": [[message], [message, message]]}, errors="skip")["prompt"].to_pylist() == ["Hi."]
    assert chat.last_run is not None
    assert chat.last_run.errors.first == [(1, 'template_raised: column "messages": TemplateError: no')]


@pytest.mark.parametrize("make", [lambda: pp.Renderer("{q}"), lambda: pp.JinjaTemplate("{{ q }}")])
def test_all_columns_are_kept(make: Callable[[], Any]) -> None:
    renderer, samples = make(), pa.table({"q": ["x"], "all": [1]})
    assert renderer.render(samples, keep="all").column_names == ["q", "all", "prompt"]
    assert renderer.output_schema(samples.schema, keep="all").names == ["q", "all", "prompt"]
    assert renderer.stream(samples, keep="all").schema.names == ["q", "all", "prompt"]
    assert renderer.render(samples, keep=["all"]).column_names == ["all", "prompt"]
    with pytest.raises(
        pp.RenderError, match=r"column 'prompt' is kept and has the name of an output column.*names="
    ) as e:
        renderer.render(pa.table({"q": ["x"], "prompt": ["y"]}), keep="all")
    assert e.value.code == "duplicate_output_column"
    with pytest.raises(TypeError, match="expected a sequence of column names or 'all', found the str 'q'"):
        renderer.render(samples, keep="q")
