"""Samples in whatever holds Arrow data: each gives what the plain table gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED

ROWS = [
    {"q": "1+1?", "n": 1, "tags": ["a", "b"], "a": "2"},
    {"q": "中文 {a}", "n": -5, "tags": [], "a": "x"},
    {"q": "a longer text, beyond what a view holds inline", "n": 2**40, "tags": ["é"], "a": "y"},
]
SAMPLES = pa.Table.from_pylist(ROWS)
RENDERER = pp.Renderer("{q}|{n}|{tags}|{a}", substitution="harness")
WANT = [f"{row['q'].replace('{a}', str(row['a']))}|{row['n']}|{row['tags']}|{row['a']}" for row in ROWS]


class OnlyStream:
    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._data.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, data: pa.RecordBatch) -> None:
        self._data = data

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._data.__arrow_c_array__(requested_schema)


def batch() -> pa.RecordBatch:
    return SAMPLES.combine_chunks().to_batches()[0]


def reader() -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SAMPLES.schema, SAMPLES.to_batches(max_chunksize=2))


def polars_frame() -> Any:
    return pytest.importorskip("polars", reason="Polars isn't installed").DataFrame(ROWS)


def pandas_frame() -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas isn't installed")
    if not hasattr(pandas.DataFrame, "__arrow_c_stream__"):
        pytest.skip("this pandas exports no Arrow stream")
    return pandas.DataFrame(ROWS)


def duckdb_relation() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB isn't installed")
    connection = duckdb.connect()
    connection.register("samples", SAMPLES)
    return connection.sql("select * from samples")


def hf_dataset() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own imports' affair
        datasets = pytest.importorskip("datasets", reason="Hugging Face datasets isn't installed")
    return datasets.Dataset(SAMPLES)


SOURCES: dict[str, Callable[[], Any]] = {
    "table": lambda: SAMPLES,
    "chunked table": lambda: pa.concat_tables([SAMPLES.slice(0, 1), SAMPLES.slice(0, 0), SAMPLES.slice(1)]),
    "batch": batch,
    "reader": reader,
    "dataset": lambda: ds.dataset(SAMPLES),
    "scanner": lambda: ds.dataset(SAMPLES).scanner(),
    "only a stream": lambda: OnlyStream(SAMPLES),
    "only a stream of a reader": lambda: OnlyStream(reader()),
    "only an array": lambda: OnlyArray(batch()),
    "struct array": lambda: batch().to_struct_array(),
    "polars": polars_frame,
    "polars in chunks": lambda: polars_frame()[:1].vstack(polars_frame()[1:]),
    "pandas": pandas_frame,
    "duckdb": duckdb_relation,
    "datasets": hf_dataset,
    "datasets, indexed": lambda: hf_dataset().select([2, 0, 1]).select([1, 2, 0]),
    "datasets with a format": lambda: hf_dataset().with_format("arrow"),
}


def prompts(table: Any) -> list[Any]:
    return table["prompt"].to_pylist()


@pytest.mark.parametrize("name", SOURCES)
def test_render_takes_it(name: str) -> None:
    table = RENDERER.render(SOURCES[name]())
    assert isinstance(table, pa.Table)
    assert prompts(table) == WANT


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "struct array"])
def test_stream_takes_it(name: str) -> None:
    streamed = RENDERER.stream(SOURCES[name](), keep=["q"])
    assert isinstance(streamed, pa.RecordBatchReader)
    table = streamed.read_all()
    assert prompts(table) == WANT
    assert table["q"].to_pylist() == [row["q"] for row in ROWS]


@pytest.mark.parametrize("mode", ["gen", "ppl"])
@pytest.mark.parametrize("name", SOURCES)
def test_a_call_takes_it(name: str, mode: Any) -> None:
    renderer = pp.Renderer("{q}|{n}|{tags}|{a}", mode=mode, substitution="harness", labels=["A", "B"])
    result = renderer(SOURCES[name]())
    assert isinstance(result, pa.RecordBatch if name == "batch" else pa.Table)
    times = 2 if mode == "ppl" else 1
    assert prompts(result) == [prompt for prompt in WANT for _ in range(times)]
    assert result["q"].to_pylist() == [row["q"] for row in ROWS for _ in range(times)]


@UNWARNED
@pytest.mark.parametrize("name", SOURCES)
def test_examples_come_from_it(name: str) -> None:
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": "{q}={a}"},
        {"type": "FixKRetriever", "fix_id_list": [2, 0]},
        SOURCES[name](),
        {"output_column": "a"},
    )
    assert prompts(renderer.render(SAMPLES))[0] == f"{ROWS[2]['q']}=y\n1+1?=2\n1+1?"


@pytest.mark.parametrize("method", ["explain", "divergence"])
@pytest.mark.parametrize("name", SOURCES)
def test_the_error_names_the_input(name: str, method: str) -> None:
    if method == "divergence":
        assert RENDERER.divergence(SOURCES[name]()).to_pylist() == [{"row": 1, "columns": ["q"]}]
    else:
        assert RENDERER.explain(SOURCES[name](), 1).num_rows == 8


def test_a_renderer_maps_the_batches_of_a_hf_dataset() -> None:
    dataset = hf_dataset().with_format("arrow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapped = dataset.map(RENDERER, batched=True, batch_size=2, load_from_cache_file=False)
    assert mapped.with_format(None)["prompt"][:] == WANT


def test_files_of_a_dataset_are_one_stream(tmp_path: Path) -> None:
    for n, part in enumerate([SAMPLES.slice(0, 2), SAMPLES.slice(0, 0), SAMPLES.slice(2)]):
        pq.write_table(part, tmp_path / f"{n}.parquet")
    dataset = ds.dataset(tmp_path)
    assert prompts(RENDERER.render(dataset)) == WANT
    assert prompts(RENDERER.stream(dataset.scanner(use_threads=False)).read_all()) == WANT
    columns = RENDERER.required_columns
    assert prompts(RENDERER.stream(dataset.scanner(columns=columns)).read_all()) == WANT


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_an_iterable_of_batches_is_a_stream(kind: Any) -> None:
    batches = SAMPLES.to_batches(max_chunksize=1)
    assert prompts(RENDERER.stream(kind(batches)).read_all()) == WANT
    assert prompts(RENDERER.stream(part for part in batches).read_all()) == WANT


def test_an_iterable_of_tables_or_nothing() -> None:
    with pytest.raises(TypeError, match="found"):
        RENDERER.stream([])


@pytest.mark.parametrize(
    "wrong",
    [None, 5, b"x", [], {}, {"q": "1"}, object(), [5], iter("ab"), [*ROWS, 5]],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_holds_no_arrow_data_is_refused(wrong: Any) -> None:
    for call in (
        RENDERER.render,
        RENDERER,
        RENDERER.stream,
        RENDERER.divergence,
        lambda given: RENDERER.explain(given, 0),
    ):
        with pytest.raises(TypeError, match="expected a table"):
            call(wrong)


def test_an_array_that_is_no_struct_is_refused() -> None:
    class Numbers:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pa.array([1, 2]).__arrow_c_array__(requested_schema)

    for call in (RENDERER.render, RENDERER.stream):
        with pytest.raises((TypeError, ValueError)):
            call(Numbers())


def test_an_exporter_that_fails_tells_why() -> None:
    class Failing:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise OSError("no such table")

    for call in (RENDERER.render, RENDERER.stream, RENDERER):
        with pytest.raises(OSError, match="no such table"):
            call(Failing())


@pytest.mark.parametrize("start", [0, 1, 3])
def test_lists_of_a_fixed_size_within_such_lists_are_repeated(start):
    rows = [[[n, n + 1], [n + 2, n + 3]] for n in range(0, 40, 4)]
    kept = pa.array(rows, pa.list_(pa.list_(pa.uint64(), 2), 2)).slice(start, 4)
    samples = pa.table({"q": ["x"] * 4, "kept": kept})
    table = pp.Renderer("{q}", mode="ppl", labels=["A", "B"]).render(samples, keep=["kept"])
    assert table["kept"].to_pylist() == [value for value in rows[start : start + 4] for _ in "AB"]


def test_a_sliced_struct_with_a_dictionary_that_has_a_null_among_its_values():
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1], pa.int8()), pa.array(["a", None, "b"]))
    inner = pa.StructArray.from_arrays([keys], ["k"])
    outer = pa.StructArray.from_arrays([inner, pa.array(range(4))], ["i", "n"])
    samples = pa.table({"s": outer}).slice(1, 3)
    values = [str(value) for value in samples["s"].to_pylist()]
    assert pp.Renderer("{s}").render(samples)["prompt"].to_pylist() == values
    template = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
    train = pa.table({"s": pa.chunked_array([outer.slice(1, 2), outer.slice(2, 2)]), "a": ["x"] * 4})
    retriever = {"type": "FixKRetriever", "fix_id_list": [3, 0]}
    renderer = pp.Renderer(template, "{s}", retriever, examples=train, reader={"output_column": "a"})
    texts = [str(value) for value in train["s"].to_pylist()]
    assert renderer.render(pa.table({"q": ["y"], "a": ["z"]}))["prompt"].to_pylist() == [f"{texts[3]}\n{texts[0]}\ny"]
