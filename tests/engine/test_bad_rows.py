"""`errors="column"` where a bad row has labels of any type, drawn examples, or is a chat; and streams gone on with."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import engine_of

pytestmark = UNWARNED

EXAMPLES = pa.table({"q": list("abcdefgh"), "a": list("ABCDEFGH")})
BAD = b"\xff"


def texts(*values: str | bytes) -> pa.Array:
    raw = [value if isinstance(value, bytes) else value.encode() for value in values]
    return pa.array(raw, pa.binary()).view(pa.string())


def check(renderer: pp.Renderer, bad: pa.Table, good: pa.Table, rows: set[int]) -> pa.Table:
    """All rows but these are what they are in a table without bad ones, and streams say the same."""
    rendered = renderer.render(bad, index="row", hashes=True, spans=True, errors="column")
    expected = renderer.render(good, index="row", hashes=True, spans=True).to_pylist()
    good_rows = [row for row in rendered.to_pylist() if row.pop("error") is None]
    assert good_rows == [row for row in expected if row["row"] not in rows]
    assert {row["row"] for row in rendered.to_pylist() if row["error"] is not None} == rows
    return rendered


SOME_BAD = [
    texts(BAD, "fine", "well", BAD),
    texts(BAD, "fine", "well", BAD).cast(pa.large_string(), safe=False),
    pa.array([10**7, 0, 1, 10**7], pa.date32()),
    pa.array([2**40, 0, 1, 2**40], pa.timestamp("s")),
    pa.array([[2**40], [0], None, [2**40]], pa.list_(pa.timestamp("s", "UTC"))),
]


@pytest.mark.parametrize("column", SOME_BAD, ids=lambda column: str(column.type))
@pytest.mark.parametrize("template", ["{q}", {"round": [{"role": "HUMAN", "prompt": "Q: {q}"}]}], ids=["text", "turns"])
@pytest.mark.parametrize("output", ["text", "messages", "messages_json"])
def test_a_value_without_text_is_no_error_of_rows_that_do_not_show_it(
    column: pa.Array, template: Any, output: Any
) -> None:
    renderer = pp.Renderer({"template": template}, output=output, substitution="harness")
    samples = pa.table({"q": ["x", "a {w}", "{w}{w}", "y"], "w": column})
    alone = [renderer.render(samples.slice(row, 1), spans=True).to_pylist()[0] for row in range(4)]
    assert renderer.render(samples, spans=True).to_pylist() == alone
    for size in (1, 2, 3):
        batches = samples.to_batches(max_chunksize=size)
        stream = pa.RecordBatchReader.from_batches(samples.schema, batches)
        assert renderer.stream(stream, spans=True).read_all().to_pylist() == alone
    assert renderer.divergence(samples)["row"].to_pylist() == [1, 2]
    assert [span["column"] for span in renderer.explain(samples, 1).to_pylist()].count("w") == 1
    assert pp.stats(renderer, samples).requests == 4
    assert "placeholder_filled" in renderer.audit(samples)["code"].to_pylist()
    wrong = samples.set_column(0, "q", pa.array(["x", "a {w}", "{w}", "y{w}"]))
    with pytest.raises(pp.RenderError) as raised:
        renderer.render(wrong)
    assert (raised.value.row, raised.value.column) == (3, "w")
    errors = renderer.render(wrong, errors="column")["error"].to_pylist()
    assert [error is not None for error in errors] == [False, False, False, True]


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [None, 1], [True, False], [1.5, float("inf")], [2**63, 1], ["a", "b"], [None, "b"], [0, "b"]],
    ids=str,
)
@pytest.mark.parametrize("strings", ["string", "string_view"])
def test_labels_of_bad_rows_are_those_of_good_ones(labels: list[Any], strings: Any) -> None:
    renderer = pp.Renderer("{q}", mode="ppl", labels=labels, strings=strings)
    good = pa.table({"q": ["x", "y", "z"]})
    rendered = check(renderer, pa.table({"q": texts("x", BAD, "z")}), good, {1})
    assert rendered["label"].to_pylist() == renderer.render(good)["label"].to_pylist()


@pytest.mark.parametrize(
    "answers",
    [
        pa.array([3, 1, 2], pa.int8()),
        pa.array([2**63, 1, 2], pa.uint64()),
        pa.array([True, False, True]),
        pa.array([0.5, 1, 2]),
        pa.array([3, None, 2]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
    ],
    ids=lambda answers: str(answers.type),
)
def test_labels_that_are_a_column_s_values(answers: pa.Array) -> None:
    renderer = pp.Renderer("{q}", mode="ppl", reader={"input_columns": ["q"], "output_column": "a"})
    good = pa.table({"q": ["x", "y", "z"], "a": answers})
    rendered = check(renderer, good.set_column(0, "q", texts(BAD, "y", "z")), good, {0})
    assert rendered["label"].to_pylist() == renderer.render(good)["label"].to_pylist()


def test_as_many_labels_as_the_limit_allows() -> None:
    labels = [str(n) for n in range(100_001)]
    renderer = pp.Renderer("{q}", mode="ppl", labels=labels, limits={"labels": len(labels)})
    rendered = renderer.render(pa.table({"q": texts(BAD)}), errors="column")
    assert rendered["label"].to_pylist() == labels


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 2}, {"type": "SlidingWindowRetriever", "k": 2}]
)
def test_a_column_of_any_name_may_stand_among_the_samples(retriever: dict[str, Any]) -> None:
    template = {"type": "PromptTemplate", "template": "</E>{q}{promptpress.choice}", "ice_token": "</E>"}
    renderer = pp.Renderer(template, "{q} {a}", retriever, EXAMPLES, {"input_columns": ["q"], "output_column": "a"})
    good = pa.table({"q": ["x", "y", "z"], "a": list("123"), "promptpress.choice": ["own"] * 3})
    check(renderer, good.set_column(0, "q", texts("x", BAD, "z")), good, {1})


def open_icl(retriever: dict[str, Any], **more: Any) -> pp.Renderer:
    template = {"type": "PromptTemplate", "ice_token": "</E>"}
    return pp.Renderer(
        {**template, "template": "</E></Q>", "column_token_map": {"q": "</Q>"}},
        {**template, "template": "</E></Q> </A>", "column_token_map": {"q": "</Q>", "a": "</A>"}},
        retriever,
        EXAMPLES,
        {"input_columns": ["q"], "output_column": "a"},
        dialect="openicl",
        **more,
    )


OPENICL = (
    {"type": "RandomRetriever", "ice_num": 2, "seed": 1, "prompt_eos_token": "!"},
    {"type": "SlidingWindowRetriever", "k": 2, "prompt_eos_token": "!"},
    {"type": "FixKRetriever", "fix_id_list": [3]},
    {"type": "ZeroRetriever"},
)


@pytest.mark.parametrize("retriever", OPENICL, ids=lambda retriever: retriever["type"])
@pytest.mark.parametrize("labels", [None, ["a", "b"], [0, 1]], ids=str)
def test_openicl_s_bad_rows(retriever: dict[str, Any], labels: list[Any] | None) -> None:
    more = {} if labels is None else {"mode": "ppl", "labels": labels}
    good = pa.table({"q": ["x", "y", "z"], "a": list("123")})
    check(open_icl(retriever, **more), good.set_column(0, "q", texts(BAD, "y", "z")), good, {0})


@pytest.mark.parametrize("retriever", OPENICL, ids=lambda retriever: retriever["type"])
def test_openicl_s_streams_go_on_where_they_were(retriever: dict[str, Any]) -> None:
    renderer = open_icl(retriever)
    samples = pa.table({"q": [str(n) for n in range(9)], "a": ["1"] * 9})
    rest = engine_of(renderer).stream(samples.slice(4).to_reader(), RenderOptions(), first=4).read_all()
    assert rest["prompt"].to_pylist() == renderer.render(samples)["prompt"].to_pylist()[4:]


def messages(*contents: str | bytes) -> pa.Array:
    """Chats of two messages each."""
    roles = pa.array(["user", "assistant"] * (len(contents) // 2))
    talk = pa.StructArray.from_arrays([roles, texts(*contents)], ["role", "content"])
    return pa.ListArray.from_arrays(list(range(0, len(contents) + 1, 2)), talk)


@pytest.mark.parametrize("mode", ["last", "every_with_gt"])
@pytest.mark.parametrize("shape", ["texts", "lists", "messages"])
def test_a_chat_that_is_no_text_is_one_row_s(mode: str, shape: str) -> None:
    if shape == "messages":
        reader: dict[str, Any] = {"input_columns": ["q"], "output_column": None}
        good, bad = (pa.table({"q": messages("x", "y", word, "b", "e", "f")}) for word in ("a", BAD))
    else:
        reader = {"input_columns": ["q"], "output_column": "a"}
        columns = [texts("x", "y", "z"), texts("x", BAD, "z")]
        answers: Any = ["1", "2", "3"]
        if shape == "lists":
            columns = [pa.ListArray.from_arrays([0, 1, 2, 3], column) for column in columns]
            answers = [[answer] for answer in answers]
        good, bad = (pa.table({"q": column, "a": answers}) for column in columns)
    renderer = pp.Renderer(inferencer={"type": "ChatInferencer", "infer_mode": mode}, reader=reader)
    rendered = check(renderer, bad, good, {1})
    why = "invalid UTF-8 at byte 0 of the value '\ufffd'" if shape == "texts" else "a text isn't UTF-8"
    assert [error for error in rendered["error"].to_pylist() if error] == [f'invalid_utf8: column "q": {why}']
    stream = renderer.stream(bad.to_batches(max_chunksize=2), index="row", hashes=True, spans=True, errors="column")
    assert stream.read_all().to_pylist() == rendered.to_pylist()
