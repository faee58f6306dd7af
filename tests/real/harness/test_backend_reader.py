"""Ranges, selections and formats of datasets: rendered in bulk where a row is what Arrow gives, and never otherwise."""

# ruff: noqa: ARG001, ARG005 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import pyarrow as pa
import pytest
from promptpress_harness.bulk.dataset import Rows
from real.harness.both import MODELS, answers
from real.harness.test_backend_opencompass import READER, RETRIEVERS, TEMPLATES, case, samples

pytestmark = pytest.mark.usefixtures("opencompass")

RANGES = ["[0:20]", "[::2]", "[::-1]", "[5:]", "[-9:-2]", "[:]", 7, 0.5, 0.25, 1, 1000, 0, "[3:40][::3]", "[30:31]"]


@pytest.mark.parametrize("test_range", RANGES, ids=str)
def test_ranges(test_range, rendered, logged):
    reader = {
        **READER,
        "test_range": test_range,
        "train_range": test_range if isinstance(test_range, float) else "[2:]",
    }
    job = case(TEMPLATES["dialogue"], **MODELS["text"], retriever=RETRIEVERS["fixed"], reader=reader)
    off, on = answers({**job, "examples": samples(30, 1)})
    assert on == off
    assert logged == []
    assert "raised" not in repr(off)
    assert sum(rendered) > 1


def formatted(**settings):
    def change(dataset):
        dataset.set_format(**settings)
        return dataset

    return change


NAMES = ["input", "A", "B", "target"]
SEEN = {
    "select of a range": lambda dataset: dataset.select(range(3, 20)),
    "select of a format": lambda dataset: dataset.with_format(columns=NAMES).select([4, 2, 30]),
    "shuffle": lambda dataset: dataset.shuffle(seed=3),
    "filter": lambda dataset: dataset.filter(lambda row: row["target"] == "A", load_from_cache_file=False),
    "sort": lambda dataset: dataset.sort("input"),
    "concatenation": lambda dataset: concatenated(dataset, dataset.select([1, 0])),
    "concatenated columns": lambda dataset: concatenated(
        dataset.select_columns(["input", "A"]), dataset.remove_columns(["input", "A"]), axis=1
    ),
    "selected columns": lambda dataset: dataset.select_columns(["target", "A", "B", "input"]),
    "map": lambda dataset: dataset.map(lambda row, n: {"n": n}, with_indices=True, load_from_cache_file=False),
    "shuffle of a shuffle": lambda dataset: dataset.shuffle(seed=1).select(range(20)).shuffle(seed=2),
    "no format": lambda dataset: dataset.with_format("numpy").with_format(None),
    "python": formatted(type="python"),
    "format of all columns": formatted(columns=NAMES[::-1]),
    "format of some columns": formatted(columns=["target", "input"]),
    "format of some, and the others": formatted(columns=["B", "A"], output_all_columns=True),
    "format of the inputs": formatted(columns=["input", "A", "B"]),
    "flattened indices": lambda dataset: dataset.shuffle(seed=1).flatten_indices(),
    "renamed": lambda dataset: dataset.rename_column("B", "C").rename_column("C", "B"),
    "cast": lambda dataset: dataset.cast_column("A", kind("large_string")),
    "a class label": lambda dataset: dataset.class_encode_column("target"),
}
OTHERS = {
    "numpy": formatted(type="numpy"),
    "pandas": formatted(type="pandas"),
    "arrow": formatted(type="arrow"),
    "numpy of some columns": formatted(type="numpy", columns=["A"], output_all_columns=True),
    "lazy": formatted(type=None, lazy=True),
    "a transform": lambda dataset: dataset.with_transform(
        lambda batch: {**batch, "input": [x + "!" for x in batch["input"]]}
    ),
    "no column": formatted(columns=[]),
}


def concatenated(*parts, axis=0):
    from datasets import concatenate_datasets

    return concatenate_datasets(list(parts), axis=axis)


def kind(name):
    from datasets import Value

    return Value(name)


def applied(change):
    def before(inferencer, retriever, model):
        retriever.test_ds = retriever.dataset_reader.dataset["test"] = change(retriever.test_ds)

    return before


@pytest.mark.parametrize("retriever", ["zero", "fixed"])
@pytest.mark.parametrize("change", SEEN)
def test_rows_as_they_are_are_rendered_in_bulk(change, retriever, rendered, logged):
    job = case(TEMPLATES["string"], **MODELS["text"], retriever=RETRIEVERS[retriever], before=applied(SEEN[change]))
    off, on = answers(job)
    assert on == off
    assert "raised" not in repr(off)
    assert logged == []
    assert sum(rendered) > 1


@pytest.mark.parametrize("change", OTHERS)
def test_rows_of_other_objects_are_the_harness_s(change, rendered, logged):
    job = case(TEMPLATES["string"], **MODELS["text"], before=applied(OTHERS[change]))
    off, on = answers(job)
    assert on == off
    assert len(logged) == 1
    assert "the dataset has a format" in logged[0]
    assert rendered == []


@pytest.mark.parametrize("change", {**SEEN, **OTHERS})
def test_examples_of_a_changed_dataset(change, logged):
    def before(inferencer, retriever, model):
        retriever.index_ds = {**SEEN, **OTHERS}[change](retriever.index_ds)

    job = case(
        TEMPLATES["string"], **MODELS["text"], retriever={"type": "RandomRetriever", "ice_num": 2}, before=before
    )
    off, on = answers({**job, "examples": samples(40, 1)})
    assert on == off
    if "raised" not in repr(off):
        assert bool(logged) == (change in OTHERS)


@pytest.mark.parametrize("shape", ["all", "near", "far"])
def test_rows_of_many_chunks(opencompass, shape):
    from datasets import Dataset

    table = pa.concat_tables([pa.table({"n": [n, n + 1], "s": [f"{n}", None]}) for n in range(0, 400, 2)])
    chosen = {"all": None, "near": list(range(300, 350, 2)), "far": [399, 0, 7, 7, 200]}[shape]
    whole = Dataset(table, fingerprint="chunks")
    data = whole if chosen is None else whole.select(chosen)
    rows = Rows(data)
    for start, stop in [(0, len(data)), (1, 4), (2, 2)]:
        assert rows.slice(start, stop).to_pylist() == [data[n] for n in range(start, stop)]
    assert rows.take([3, 0, 3]).to_pylist() == [data[n] for n in (3, 0, 3)]
