"""Batches and streams: what a batch alone can't know, positions over all batches, errors on the way."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import FEW_SHOT, READER, SAMPLES, few_shot_renderer


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 2}, {"type": "SlidingWindowRetriever", "k": 2}], ids=repr
)
def test_a_batch_alone_knows_no_position(retriever: dict[str, Any]) -> None:
    renderer = pp.Renderer(**FEW_SHOT, retriever=retriever)
    for given in (SAMPLES, SAMPLES.to_batches()[0]):
        with pytest.raises(pp.TemplateError, match=r"retrieve\(.*IndexColumn"):
            renderer(given)


def test_a_batch_alone_knows_no_values_of_a_column() -> None:
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    for call in (renderer, renderer.stream):
        with pytest.raises(pp.TemplateError, match="labels="):
            call(SAMPLES)
    assert pp.Renderer("{q}", mode="ppl", reader=READER, labels=["2"])(SAMPLES).num_rows == 3


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 3}, {"type": "SlidingWindowRetriever", "k": 2}]
)
@pytest.mark.parametrize("labels", [None, ["A", "B"]])
def test_positions_count_over_all_batches_of_a_stream(retriever: dict[str, Any], labels: Any) -> None:
    samples = pa.table({"q": [str(n) for n in range(11)], "a": ["x"] * 11})
    renderer = (
        few_shot_renderer(retriever, 11)
        if labels is None
        else pp.Renderer(**FEW_SHOT, retriever=retriever, mode="ppl", labels=labels)
    )
    if labels is not None:
        samples = samples.slice(0, 3)
    whole = renderer.render(samples, keep=["q"])
    for cuts in ([11], [3, 8], [0, 1, 0, 4, 6, 0], [1] * 11):
        batches, start = [], 0
        for length in cuts:
            batches += [
                pa.RecordBatch.from_arrays(
                    [
                        c.combine_chunks() if c.num_chunks != 1 else c.chunk(0)
                        for c in samples.slice(start, length).columns
                    ],
                    schema=samples.schema,
                )
            ]
            start += length
        reader = renderer.stream(iter(batches), keep=["q"])
        assert reader.read_all().combine_chunks().equals(whole.combine_chunks())


def test_a_stream_reads_no_more_than_it_gives() -> None:
    read = []

    def batches() -> Any:
        for n in range(5):
            read.append(n)
            yield pa.record_batch({"q": [str(n)]})

    reader = pp.Renderer("{q}").stream(batches())
    assert read == [0]  # the schema
    assert reader.read_next_batch()["prompt"].to_pylist() == ["0"]
    assert read == [0]
    assert reader.read_next_batch()["prompt"].to_pylist() == ["1"]
    assert len(read) <= 3


BAD_TIME = 2**62
FAULTS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "native": (pa.timestamp("us"), 0, BAD_TIME),
    "time zone": (pa.timestamp("us", "UTC"), 0, BAD_TIME),
    "nested": (pa.list_(pa.timestamp("us")), [0], [BAD_TIME]),
    "nested time zone": (pa.list_(pa.timestamp("us", "UTC")), [0], [BAD_TIME]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_errors_name_the_row_of_the_whole(kind: str) -> None:
    data_type, good, bad = FAULTS[kind]
    rows = pa.table({"q": pa.chunked_array([pa.array([good] * 3, data_type), pa.array([good, bad], data_type)])})
    renderer = pp.Renderer("{q}")
    calls = {
        "render": lambda: renderer.render(rows),
        "stream": lambda: renderer.stream(rows).read_all(),
        "stream of batches": lambda: renderer.stream(iter(rows.to_batches())).read_all(),
        "to_batches": lambda: list(renderer.stream(rows)),
    }
    for name, call in calls.items():
        with pytest.raises(pp.RenderError) as raised:
            call()
        assert "row 4" in str(raised.value), name
        assert '"q"' in str(raised.value), name
        assert (raised.value.row, raised.value.column) == (4, "q"), name


def test_a_stream_goes_on_after_no_error() -> None:
    """The batches before a fault come out; the fault comes as the renderer's own exception."""
    good, bad = pa.array([0], pa.timestamp("us")), pa.array([BAD_TIME], pa.timestamp("us"))
    reader = pp.Renderer("{q}").stream(pa.table({"q": pa.chunked_array([good, bad])}))
    assert reader.read_next_batch().num_rows == 1
    with pytest.raises(pp.RenderError):
        reader.read_next_batch()


def test_an_error_of_whoever_makes_the_batches_comes_through() -> None:
    def batches() -> Any:
        yield SAMPLES.to_batches()[0]
        message = "the disk is gone"
        raise OSError(message)

    reader = pp.Renderer("{q}").stream(batches())
    with pytest.raises(OSError, match="the disk is gone"):
        reader.read_all()


@pytest.mark.parametrize(
    "second",
    [
        pa.record_batch({"z": ["1"]}),
        pa.record_batch({"a": ["1"], "q": ["2"]}),
        pa.record_batch({"q": [1], "a": ["1"]}),
    ],
    ids=["names", "order", "types"],
)
def test_batches_of_another_schema_are_refused(second: pa.RecordBatch) -> None:
    first = pa.record_batch({"q": ["1"], "a": ["2"]})
    for keep in ([], ["q"]):
        with pytest.raises((pp.RenderError, ValueError, TypeError), match="schema"):
            pp.Renderer("{q}").stream([first, second], keep=keep).read_all()


def test_what_is_no_batch_among_batches_is_refused() -> None:
    batch = pa.record_batch({"q": ["1"]})
    with pytest.raises(TypeError, match="batch 1"):
        pp.Renderer("{q}").stream([batch, pa.table(batch)]).read_all()
