"""Lengths, fingerprints and duplicates of requests, beside plain Python over the same requests."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED
from promptpress_workbench.statistics.statistics import _fitted
from test_origin_totals import text_of

pytestmark = UNWARNED
QUICK = settings(max_examples=part_of(150), deadline=None, database=None)

LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=5), st.sampled_from(["", "a", "é😀", "\0", "None", "x" * 300])))


def parts(text: pa.DataType, listed: Any = pa.list_) -> pa.DataType:
    url = pa.struct([("url", text), ("detail", pa.string())])
    return listed(pa.struct([("type", pa.string()), ("text", text), ("image_url", url)]))


def messages_type(text: pa.DataType, listed: Any = pa.list_) -> pa.DataType:
    return listed(pa.struct([("role", pa.string()), ("prompt", text), ("content", parts(text, listed))]))


def a_part() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=3)),
        st.builds(lambda url: {"type": "image_url", "image_url": {"url": url, "detail": "low"}}, st.text(max_size=3)),
    )


def a_message() -> st.SearchStrategy[Any]:
    roles = st.sampled_from([None, "user", "é"])
    return st.one_of(
        st.builds(lambda role, text: {"role": role, "prompt": text}, roles, st.text(max_size=3)),
        st.builds(lambda role, content: {"role": role, "content": content}, roles, st.lists(a_part(), max_size=3)),
    )


REQUESTS = st.lists(st.one_of(st.none(), st.lists(a_message(), max_size=3)), max_size=6)


def lengths(array: pa.Array, is_json: bool = False) -> list[tuple[Any, Any]]:
    sizes, characters = _core.request_sizes(array, is_json)
    assert sizes.type == characters.type == pa.uint64()
    return list(zip(sizes.to_pylist(), characters.to_pylist(), strict=True))


def hashes(array: pa.Array, is_json: bool = False) -> list[bytes | None]:
    out = _core.request_hashes(array, is_json)
    assert out.type == pa.binary(16)
    return list(out.to_pylist())


def expected_lengths(requests: list[Any]) -> list[tuple[Any, Any]]:
    texts = [None if request is None else text_of(request) for request in requests]
    return [(None, None) if text is None else (len(text.encode()), len(text)) for text in texts]


def same_groups(first: list[Any], second: list[Any]) -> bool:
    """Return true if equal requests have equal fingerprints, and others don't."""
    pairs = {(str(a), b) for a, b in zip(first, second, strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@QUICK
@given(TEXTS, st.sampled_from(LAYOUTS), st.integers(0, 3))
def test_texts_of_every_layout(texts: list[str | None], layout: pa.DataType, offset: int) -> None:
    texts = texts[offset:]
    array = pa.array([None] * offset + texts, pa.string()).cast(layout).slice(offset)
    assert lengths(array) == expected_lengths(texts)
    assert hashes(array) == hashes(pa.array(texts, pa.string()))
    assert same_groups([repr(text) for text in texts], hashes(array))
    assert [text_hash is None for text_hash in hashes(array)] == [text is None for text in texts]


@QUICK
@given(REQUESTS, st.sampled_from(LAYOUTS[:3]), st.sampled_from([pa.list_, pa.large_list]), st.integers(0, 2))
def test_messages_of_every_type(requests: list[Any], text: pa.DataType, listed: Any, offset: int) -> None:
    array = pa.array([None] * offset + requests, messages_type(text, listed)).slice(offset)
    assert lengths(array) == expected_lengths(requests)
    plain = [pp.to_pylist(pa.array([request], array.type))[0] for request in requests]
    assert same_groups([json.dumps(request, sort_keys=True) for request in plain], hashes(array))
    # What a type has beside, in any order, and JSON with nulls or without, say the same.
    wider = pa.list_(pa.struct([("name", pa.int64()), *reversed(list(messages_type(pa.string()).value_type))]))
    as_json = pa.array([None if request is None else json.dumps(request) for request in requests], pa.string())
    without_nulls = pa.array([None if request is None else json.dumps(request) for request in plain], pa.large_string())
    for other, is_json in ((pa.array(requests, wider), False), (as_json, True), (without_nulls, True)):
        assert hashes(other, is_json) == hashes(array)
        assert lengths(other, is_json) == lengths(array)


def test_fingerprints_are_what_they_were() -> None:
    """They are kept in files: a change of these is a change of all.

    Of a text it is what `b3sum` says of its bytes. Of messages it is BLAKE3, under a key that is derived from
    "promptpress request messages 1", of `l` and a count, `d` and a count, and `s`, a length and bytes for each text.
    """
    assert [request_hash.hex() for request_hash in hashes(pa.array(["", "promptpress"])) if request_hash] == [
        "af1349b9f5f9a1a6a0404dea36dcc949",
        "f1ce23a2c7cc8bf779cc5ca71652edd2",
    ]
    request = [{"role": "user", "content": "hi", "name": None}]
    assert [request_hash.hex() for request_hash in hashes(pa.array([request])) if request_hash] == [
        "05559b09c1b722c3045a09139e6e72c2"
    ]


def test_messages_and_the_text_that_shows_them_differ() -> None:
    request = [{"role": "user", "prompt": "a"}]
    of_messages, of_text = hashes(pa.array([request])), hashes(pa.array([json.dumps(request)]))
    assert of_messages != of_text
    assert hashes(pa.array([json.dumps(request)]), True) == of_messages
    assert hashes(pa.array(["no JSON"]), True) == hashes(pa.array(["no JSON"]))
    assert lengths(pa.array(["no JSON", '"é"', "NaN"]), True) == [(7, 7), (2, 1), (3, 3)]


def percentile(sizes: list[int], percent: int) -> int:
    return sorted(sizes)[max(math.ceil(len(sizes) * percent / 100), 1) - 1]


def check_lengths(summary: pp.LengthSummary, sizes: list[int]) -> None:
    assert summary.sum == sum(sizes)
    assert (summary.min, summary.max) == ((min(sizes), max(sizes)) if sizes else (None, None))
    assert summary.mean == (pytest.approx(sum(sizes) / len(sizes)) if sizes else None)
    assert dict(summary.percentiles) == {p: percentile(sizes, p) for p in (1, 5, 25, 50, 75, 95, 99) if sizes}
    bins = summary.histogram.to_pylist()
    assert [length_bin["requests"] for length_bin in bins] == [
        sum(b["start"] <= n < b["end"] for n in sizes) for b in bins
    ]
    assert [length_bin["end"] for length_bin in bins[:-1]] == [length_bin["start"] for length_bin in bins[1:]]
    assert not bins or (bins[0]["start"], bins[-1]["end"]) == (min(sizes), max(sizes) + 1)
    assert len(bins) <= 20


def check(statistics: pp.Statistics, requests: list[Any]) -> None:
    """Statistics beside the requests as Python has them; None is none."""
    texts = {n: text_of(request) for n, request in enumerate(requests) if request is not None}
    assert statistics.requests == len(texts)
    check_lengths(statistics.bytes, [len(text.encode()) for text in texts.values()])
    check_lengths(statistics.characters, [len(text) for text in texts.values()])
    same: dict[str, list[int]] = {}
    for n in texts:
        same.setdefault(json.dumps(requests[n], sort_keys=True), []).append(n)
    groups = sorted((rows for rows in same.values() if len(rows) > 1), key=lambda rows: (-len(rows), rows))
    assert (statistics.repeated, statistics.duplicate_groups) == (sum(len(rows) - 1 for rows in groups), len(groups))
    assert statistics.duplicates.to_pylist() == [{"requests": len(rows), "first": rows[:5]} for rows in groups[:5]]
    size = {n: len(text.encode()) for n, text in texts.items()}
    assert statistics.longest["request"].to_pylist() == sorted(size, key=lambda n: (-size[n], n))[:5]
    assert statistics.shortest["request"].to_pylist() == sorted(size, key=lambda n: (size[n], n))[:5]
    assert statistics.longest["bytes"].to_pylist() == [size[n] for n in statistics.longest["request"].to_pylist()]


@QUICK
@given(TEXTS, st.integers(1, 4))
def test_a_rendered_table(texts: list[str | None], size: int) -> None:
    table = pa.table({"id": range(len(texts)), "prompt": pa.array(texts, pa.string())})
    statistics = pp.stats(table)
    check(statistics, texts)
    streamed = pp.stats(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size)))
    assert streamed.to_dict() == statistics.to_dict()
    assert statistics.samples is statistics.by_origin is statistics.by_column is statistics.tokens is None


@QUICK
@given(st.lists(st.sampled_from(["a", "bb", "{b}", "é😀", ""]), max_size=30), st.integers(1, 7), st.booleans())
def test_a_renderer(values: list[str], size: int, ppl: bool) -> None:
    samples = pa.table({"a": pa.array(values, pa.string()), "b": pa.array(values[::-1], pa.string())})
    template: Any = {"A": "Q: {a}", "B": "{b}"} if ppl else "Q: {a}"
    renderer = pp.Renderer(template, mode="ppl" if ppl else "gen")
    rendered = renderer.render(samples)
    statistics = pp.stats(renderer, samples)
    check(statistics, rendered["prompt"].to_pylist())
    assert statistics.samples == len(values)
    streamed = pp.stats(renderer, samples.to_batches(max_chunksize=size) if values else samples)
    assert streamed.to_dict() == statistics.to_dict()
    for request in statistics.longest.to_pylist():
        assert request["request"] == request["sample"] * (2 if ppl else 1) + (
            "AB".index(request["label"]) if ppl else 0
        )
    assert statistics.by_origin is not None
    assert statistics.by_column is not None
    for table in (statistics.by_origin, statistics.by_column):
        assert sum(table["bytes"].to_pylist()) == statistics.bytes.sum
        assert table["bytes"].to_pylist() == sorted(table["bytes"].to_pylist(), reverse=True)
        assert not len(table) or sum(table["share"].to_pylist()) == pytest.approx(1)
    explained: Counter[str | None] = Counter()
    for row in range(len(values)):
        for label in renderer.labels or [None]:
            for span in renderer.explain(samples, row, label=label).to_pylist():
                explained[span["column"]] += span["end"] - span["start"]
    assert (
        dict(zip(statistics.by_column["column"].to_pylist(), statistics.by_column["bytes"].to_pylist(), strict=True))
        == explained
    )


def test_threads_make_no_difference() -> None:
    samples = pa.table({"q": [f"{n % 997}" * (n % 50) for n in range(20_000)]})
    renderer, before = pp.Renderer("Q: {q}"), _core.threads()
    try:
        results = []
        for threads in (1, 2, 5):
            pp.set_threads(threads)
            results.append(pp.stats(renderer, samples).to_dict())
    finally:
        pp.set_threads(before)
    assert results[0] == results[1] == results[2]


def test_conversations_name_their_turns() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    samples = pa.table({"question": [["a", "bb"], [], ["ccc", "d", "e"]], "answer": [["1", "2"], [], ["3", "4", "5"]]})
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": template},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
    )
    rendered = renderer.render(samples.append_column("n", pa.array([0, 1, 2])), keep=["n"])
    for form in (samples, samples.to_batches(max_chunksize=1)):
        statistics = pp.stats(renderer, form)
        check(statistics, pp.to_pylist(rendered["prompt"]))
        for row in statistics.longest.to_pylist():
            assert rendered["n"][row["request"]].as_py() == row["sample"]
            assert rendered["turn"][row["request"]].as_py() == row["turn"]


def test_labels_of_a_column_and_those_of_no_common_type() -> None:
    samples = pa.table({"q": ["1", "2"], "a": ["y", "x"]})
    by_column = pp.Renderer("{q} {a}", reader={"output_column": "a"}, mode="ppl")
    assert pp.stats(by_column, samples).longest["label"].to_pylist() == ["x", "y", "x", "y"]
    odd = pp.Renderer("{q}", mode="ppl", labels=[1, "A", None])
    assert pp.stats(odd, samples).longest["label"].to_pylist() == ["1", "A", None, "1", "A"]


@pytest.mark.parametrize(
    "samples", [pa.table({"q": pa.array([], pa.string())}), pa.table({"q": ["x" * 1_000_000, ""]})]
)
def test_nothing_and_very_much(samples: pa.Table) -> None:
    statistics = pp.stats(pp.Renderer("Q: {q}"), samples)
    check(statistics, pp.Renderer("Q: {q}").render(samples)["prompt"].to_pylist())
    assert str(statistics)
    assert statistics._repr_html_()


def test_a_column_of_another_name() -> None:
    table = pa.table({"text": ["a", "bb"], "other": [1, 2]})
    assert pp.stats(table, column="text").bytes.sum == 3
    with pytest.raises(KeyError, match=r"no column 'prompt'; it has 'text', 'other'; column= says which"):
        pp.stats(table)
    for wrong in ({"samples": table}, {"samples": table, "column": "text"}):
        with pytest.raises(TypeError, match="samples go with a Renderer, found a Table"):
            pp.stats(table, **wrong)
    with pytest.raises(TypeError, match="the samples are missing"):
        pp.stats(pp.Renderer("{q}"))
    with pytest.raises(TypeError, match="of rendered tables"):
        pp.stats(pp.Renderer("{text}"), table, column="text")


def test_replies_are_refused_as_render_refuses_them() -> None:
    chat = pp.Renderer(inferencer={"type": "ChatInferencer", "infer_mode": "every"}, reader={"input_columns": ["m"]})
    samples = pa.table({"m": [[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "."}]]})
    for act in (chat.render, lambda samples: pp.stats(chat, samples)):
        with pytest.raises(pp.TemplateError, match="needs the model's replies"):
            act(samples)


def test_tokens_are_counted_of_texts_and_not_of_payloads() -> None:
    pytest.importorskip("tokenizers")
    from test_tokenizer import word_tokenizer

    parts = [{"type": "text", "text": "a a"}, {"type": "image_url", "image_url": {"url": "b b b"}}]
    requests: list[Any] = [[{"role": "user", "content": parts}], None, [{"role": "bot", "content": []}]]
    statistics = pp.stats(pa.table({"prompt": requests}), tokenizer=word_tokenizer())
    assert statistics.tokens is not None
    assert (statistics.tokens.sum, statistics.tokens.max, statistics.bytes.sum) == (2, 2, 8)
    renderer = pp.Renderer([{"role": "user", "content": "a {q}"}], output="messages_json")
    statistics = pp.stats(renderer, pa.table({"q": ["x y", "z"]}), tokenizer=word_tokenizer())
    assert statistics.tokens is not None
    assert (statistics.tokens.sum, statistics.bytes.sum) == (5, 8)


def test_hostile_names_are_text() -> None:
    name, label = "<script>\x1b[31m\u202e", "</td>\x07"
    renderer = pp.Renderer({label: f"{{{name}}}"}, mode="ppl")
    statistics = pp.stats(renderer, pa.table({name: ["x", "x"]}))
    html, text = statistics._repr_html_(), str(statistics)
    for page in (html, text):
        assert not set(page) & set("\x1b\x07\u202e")
        assert "\\x1b[31m\\u202e" in page
        assert "\\x07" in page
    assert "<script" not in html
    assert html.count("</td>") == html.count("<td")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_is_known_is_plain_data() -> None:
    plain = pp.stats(pp.Renderer("Q: {q}"), pa.table({"q": ["1", "1"]})).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["duplicates"] == [{"requests": 2, "first": [0, 1]}]


def test_cells_of_a_report_are_cut_or_filled() -> None:
    assert [_fitted("abc", 5, right=side) for side in (False, True)] == ["abc  ", "  abc"]
    assert _fitted("a long name", 7, right=False) == "a lo..."
