"""Columns in and out: the schema before any data, kept columns, the columns that a scan has to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import FEW_SHOT, RAW, READER, SAMPLES, texts
from marks import UNWARNED
from test_layouts import CONFIGS, one_chunk, samples_for, train

SCHEMAS: dict[str, dict[str, Any]] = {
    **{name: {**config, "examples": train()} for name, config in CONFIGS.items()},
    **{
        f"{name} as JSON": {**config, "examples": train(), "output": "messages_json"}
        for name, config in CONFIGS.items()
    },
    "labels given": {"prompt_template": "{q}", "mode": "ppl", "labels": [1, None]},
    "labels of a column": {"prompt_template": "{q}{a}", "mode": "ppl", "reader": {"output_column": "a"}},
    "labels of numbers": {"prompt_template": "{q}{id}", "mode": "ppl", "reader": {"output_column": "id"}},
    "random": {
        **CONFIGS["index column"],
        "examples": train(),
        "retriever": {"type": "RandomRetriever", "ice_num": 2},
    },
    "names": {
        "prompt_template": "{q}",
        "mode": "ppl",
        "labels": ["A"],
        "names": {"prompt": "the prompt", "label": "q"},
    },
    "raw with fields": {
        "prompt_template": [{"role": "user", "content": "{q}", "n": 1, "x": None, "l": [1.5], "d": {"k": "v"}}, *RAW],
    },
}


@UNWARNED
@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_known_beforehand(name: str, strings: Any) -> None:
    renderer = pp.Renderer(**SCHEMAS[name], strings=strings)
    samples = samples_for(name.removesuffix(" as JSON"), one_chunk(pa.string()))
    if "random" in name:
        samples = samples.drop_columns(["q"]).append_column("q", samples["q"])
    assert renderer.output_schema(samples.schema) == renderer.render(samples).schema
    keep = [name for name in ("hint", "id") if name in samples.column_names]
    schema = renderer.output_schema(samples.schema, keep=keep)
    assert schema.names[: len(keep)] == keep
    for given in (samples, samples.slice(0, 0), samples.slice(3, 1)):
        table = renderer.render(given, keep=keep)
        assert table.schema == schema
        table.validate(full=True)
        if renderer.labels is not None or "label" not in schema.names:
            streamed = renderer.stream(given, keep=keep)
            assert streamed.schema == schema
            assert streamed.read_all().combine_chunks().equals(table.combine_chunks())
    if name.startswith(("labels of", "random", "names")):
        return
    every = renderer.output_schema(samples.schema, keep=samples.column_names)
    for given in (samples, samples.slice(0, 0), samples.to_batches()[0], samples.slice(0, 0).to_batches()):
        source = given if not isinstance(given, list) else pa.RecordBatch.from_pylist([], schema=samples.schema)
        result = renderer(source)
        assert result.schema == every
        assert isinstance(result, type(source))
        result.validate(full=True)


def test_the_schema_keeps_metadata_of_kept_fields() -> None:
    field = pa.field("id", pa.int64(), nullable=False, metadata={"k": "v"})
    samples = pa.table({"q": ["1"], "id": [1]}, schema=pa.schema([pa.field("q", pa.string()), field]))
    schema = pp.Renderer("{q}").output_schema(samples.schema, keep=["id"])
    assert schema.field("id").equals(field, check_metadata=True)
    table = pp.Renderer("{q}").render(samples, keep=["id"])
    assert table.schema.field("id").equals(field, check_metadata=True)


@pytest.mark.parametrize("arguments", [{}, {"mode": "ppl", "labels": ["A", "B"]}])
def test_a_kept_column_with_an_output_columns_name_needs_names(arguments: dict[str, Any]) -> None:
    samples = pa.table({"prompt": ["1"], "label": ["x"], "turn": ["t"]})
    renderer = pp.Renderer("{prompt}", **arguments)
    for call in (
        lambda: renderer.render(samples, keep=["prompt"]),
        lambda: renderer.stream(samples, keep=["prompt"]),
        lambda: renderer.output_schema(samples.schema, keep=["prompt"]),
        lambda: renderer(samples),
        lambda: renderer(samples.to_batches()[0]),
    ):
        with pytest.raises(pp.RenderError, match="names="):
            call()
    renamed = pp.Renderer("{prompt}", **arguments, names={"prompt": "text", "label": "choice"})
    assert renamed.render(samples, keep=["prompt"])["text"].to_pylist()[0] == "1"
    result = renamed(samples)
    assert result.column_names[:3] == ["prompt", "label", "turn"]
    assert "text" in result.column_names


def test_keep_names_columns_that_exist() -> None:
    renderer = pp.Renderer("{q}")
    for keep in (["nowhere"], ["id", "Q"]):
        with pytest.raises(pp.RenderError, match="no column"):
            renderer.render(SAMPLES, keep=keep)
    with pytest.raises(TypeError, match="keep"):
        renderer.render(SAMPLES, keep="id")
    assert renderer.render(SAMPLES, keep=("id",)).column_names == ["id", "prompt"]


KEPT_COLUMNS: dict[str, Callable[[], pa.Array]] = {
    "string": lambda: pa.array(["x", None]),
    "large_string": lambda: pa.array(["x", None], pa.large_string()),
    "string_view": lambda: pa.array(["x" * 30, None], pa.string_view()),
    "binary_view": lambda: pa.array([b"x", None], pa.binary_view()),
    "dictionary": lambda: pa.array(["x", None]).dictionary_encode(),
    "list": lambda: pa.array([["x"], None]),
    "list of string_view": lambda: pa.array([["x"], None], pa.list_(pa.string_view())),
    "list_view": lambda: pa.array([[1], None], pa.list_view(pa.int64())),
    "fixed_size_list": lambda: pa.array([[1], None], pa.list_(pa.int64(), 1)),
    "struct": lambda: pa.array([{"x": 1}, None]),
    "map": lambda: pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    "timestamp": lambda: pa.array([0, None], pa.timestamp("us", "UTC")),
    "null": lambda: pa.nulls(2),
    "run_end_encoded": lambda: pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]),
    "extension": lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16))),
}


@pytest.mark.parametrize("mode", ["gen", "ppl"])
@pytest.mark.parametrize("kind", KEPT_COLUMNS)
def test_columns_of_every_type_can_be_kept(kind: str, mode: Any) -> None:
    samples = pa.table({"q": ["1", "2"], "kept": KEPT_COLUMNS[kind]()})
    renderer = pp.Renderer("{q}", mode=mode, labels=["A", "B"])
    times = 2 if mode == "ppl" else 1
    want = [value for value in samples["kept"].to_pylist() for _ in range(times)]
    for table in (
        renderer.render(samples, keep=["kept"]),
        renderer.stream(samples, keep=["kept"]).read_all(),
        renderer(samples),
        renderer(samples.to_batches()[0]),
    ):
        assert table["kept"].to_pylist() == want
        assert table.schema.field("kept").type == samples.schema.field("kept").type


def test_a_kept_column_that_one_array_cant_hold() -> None:
    """Run ends of 16 bits count no further than 32,767; offsets of 32 bits are the same at 65,536 times the size."""
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([20_000], pa.int16()), ["x"])
    samples = pa.table({"q": [str(n) for n in range(20_000)], "kept": runs})
    renderer = pp.Renderer("{q}", mode="ppl", labels=["A", "B"])
    for table in (
        renderer.render(samples, keep=["kept"]),
        renderer.stream(samples, keep=["kept"]).read_all(),
        renderer(samples),
    ):
        table.validate(full=True)
        assert table.schema.field("kept").type == runs.type
        assert table["kept"].to_pylist() == ["x"] * 40_000
        assert texts(table)[-3:] == ["19998", "19999", "19999"]
    with pytest.raises(pp.RenderError, match="kept") as raised:
        renderer(samples.to_batches()[0])
    assert raised.value.column == "kept"


def test_a_column_is_kept_once() -> None:
    for call in (pp.Renderer("{q}").render, pp.Renderer("{q}").stream):
        with pytest.raises(pp.RenderError, match="twice"):
            call(SAMPLES, keep=["q", "id", "q"])
    assert pp.Renderer("{q}").render(SAMPLES, keep=iter(["q"])).column_names == ["q", "prompt"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ({"prompt_template": "{q} {a}"}, {"q", "a"}),
        ({"prompt_template": "{q} {a}", "reader": READER}, {"q"}),
        ({"prompt_template": {"A": "{q}", "B": "{a}"}, "mode": "ppl", "reader": READER}, {"q", "a"}),
        ({"prompt_template": "{q}", "mode": "ppl", "reader": READER}, {"q", "a"}),
        ({"prompt_template": RAW, "reader": READER}, {"q", "a"}),
        ({"prompt_template": [{"expand_column": "turns"}, *RAW]}, {"turns", "q", "a"}),
        ({"prompt_template": {"begin": "{x y}", "round": [{"role": "R", "prompt": "{题}"}]}}, {"x y", "题"}),
        ({"prompt_template": "{it's}"}, {"it's"}),
        ({"prompt_template": '{the "answer"}'}, {'the "answer"'}),
        ({"prompt_template": "{two\nlines}"}, {"two\nlines"}),
        ({"prompt_template": "{}"}, {""}),
        ({"prompt_template": "{{q}}"}, {"q"}),
        (
            {"prompt_template": "{q}{a}", "reader": READER, "inferencer": {"gen_field_replace_token": "{z}"}},
            {"q", "z"},
        ),
        (
            {**FEW_SHOT, "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1], "ice_separator": "{s}"}},
            {"q", "s"},
        ),
        ({**FEW_SHOT, "retriever": {"type": "FixKRetriever", "fix_id_list": [0], "ice_eos_token": "{e}"}}, {"q", "e"}),
        ({**FEW_SHOT, "retriever": {"type": "IndexColumn", "column": "shots"}}, {"q", "shots"}),
    ],
    ids=lambda value: repr(sorted(value) if isinstance(value, set) else value),
)  # fmt: skip
def test_the_columns_that_a_scan_has_to_read(arguments: dict[str, Any], want: set[str]) -> None:
    columns = pp.Renderer(**arguments).required_columns
    assert len(set(columns)) == len(columns)
    assert set(columns) == want
