"""The public surface, point by point: what a renderer is made of, what it gives, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from plain_model import render as render_plain
from promptpress import _core
from test_against_model import clean
from test_layouts import CONFIGS, META, TRAIN, TURNS, many_chunks, one_chunk, samples_for, train


class PromptTemplate:
    """Stands for a harness's class: only its name counts."""


class RawPromptTemplate:
    pass


class FixKRetriever:
    pass


class PPLInferencer:
    pass


SAMPLES = pa.table({"q": ["1+1?", "2+2?", "3+3?"], "a": ["2", "4", "6"], "id": [7, 8, 9]})
SHOT = {"type": "PromptTemplate", "template": "{q}={a}"}
PROMPT = {"type": "PromptTemplate", "template": "</E>{q}={a}", "ice_token": "</E>"}
READER = {"input_columns": ["q"], "output_column": "a"}
FEW: dict[str, Any] = {"prompt_template": PROMPT, "ice_template": SHOT, "reader": READER, "examples": pa.table(SAMPLES)}
RAW = [{"role": "system", "content": "{a}"}, {"role": "user", "content": "{q}"}]


def texts(table: Any) -> list[Any]:
    return table["prompt"].to_pylist()


def renderer_of(name: str, **changes: Any) -> pp.Renderer:
    return pp.Renderer(**{**CONFIGS[name], "examples": train(), **changes})


def rendered_or_refused(renderer: pp.Renderer, samples: pa.Table) -> tuple[pa.Table | None, str]:
    try:
        return renderer.render(samples), ""
    except pp.RenderError as error:
        return None, str(error)


# ---------------------------------------------------------------------------------------------------------------------
# Making one.


@pytest.mark.parametrize(
    "kind",
    [PromptTemplate, "PromptTemplate", "opencompass.openicl.icl_prompt_template.PromptTemplate", "a.b.PromptTemplate"],
)
def test_type_is_a_class_or_a_name_whose_last_part_decides(kind: Any) -> None:
    renderer = pp.Renderer({"type": kind, "template": "Q {q}"})
    assert texts(renderer.render(SAMPLES)) == ["Q 1+1?", "Q 2+2?", "Q 3+3?"]


@UNWARNED
def test_every_part_may_be_named_by_its_class() -> None:
    few = pp.Renderer(
        {**PROMPT, "type": PromptTemplate},
        {**SHOT, "type": PromptTemplate},
        {"type": FixKRetriever, "fix_id_list": range(1, 3)},
        SAMPLES,
        READER,
        {"type": PPLInferencer},
        labels=["x"],
    )
    assert few.labels == ["x"]
    assert texts(few.render(SAMPLES))[0] == "2+2?=4\n3+3?=6\n1+1?=2"
    raw = pp.Renderer({"type": RawPromptTemplate, "messages": RAW})
    assert raw == pp.Renderer({"type": f"{__name__}.RawPromptTemplate", "messages": RAW})
    assert texts(raw.render(SAMPLES))[0][1] == {"role": "user", "content": "1+1?"}


@pytest.mark.parametrize(
    ("template", "want"),
    [
        ("{q}", "1+1?"),
        ({"type": "PromptTemplate", "template": "{q}"}, "1+1?"),
        ({"template": "{q}"}, "1+1?"),
        (MappingProxyType({"template": "{q}"}), "1+1?"),
        ({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, "1+1?"),
        ({"only label": "{q}"}, "1+1?"),
        (RAW, [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
        (tuple(RAW), [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
        ({"messages": RAW}, [{"role": "system", "content": "2"}, {"role": "user", "content": "1+1?"}]),
    ],
    ids=repr,
)
def test_a_template_may_be_bare(template: Any, want: Any) -> None:
    assert texts(pp.Renderer(template).render(SAMPLES))[0] == want
    assert texts(pp.Renderer(ice_template=template).render(SAMPLES))[0] == want


def test_the_reader_takes_names_in_one_string() -> None:
    for columns in ("q a", ["q", "a"], ("q", "a"), None):
        renderer = pp.Renderer("{q}{a}", reader={"input_columns": columns, "output_column": "a"})
        assert texts(renderer.render(SAMPLES)) == ["1+1?", "2+2?", "3+3?"]
    assert texts(pp.Renderer("{q}{a}", reader={"output_column": None}).render(SAMPLES))[0] == "1+1?2"


def test_the_rest_of_the_inferencer_is_ignored() -> None:
    renderer = pp.Renderer("{q}", inferencer={"type": "GenInferencer", "max_out_len": 512, "save_every": object()})
    assert texts(renderer.render(SAMPLES))[0] == "1+1?"


@pytest.mark.parametrize("kind", ["PPLInferencer", "LLInferencer", "x.y.PPLInferencer", PPLInferencer])
def test_the_inferencer_decides_the_mode(kind: Any) -> None:
    renderer = pp.Renderer({"A": "{q}", "B": "{a}"}, inferencer={"type": kind})
    assert renderer.labels == ["A", "B"]
    assert renderer.render(SAMPLES).column_names == ["label", "prompt"]
    assert pp.Renderer({"A": "{q}", "B": "{a}"}, inferencer={"type": kind}, mode="gen").labels is None


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({"prompt_template": RAW}, True),
        ({"prompt_template": RAW, "meta_template": [{"role": "system", "content": "S"}]}, True),
        ({"prompt_template": {"round": TURNS}, "meta_template": META}, True),
        ({"prompt_template": {"round": TURNS}, "meta_template": META, "output": "text"}, False),
        (
            {"prompt_template": {"round": TURNS}, "meta_template": {"round": [{"role": "HUMAN"}, {"role": "BOT"}]}},
            False,
        ),
        ({"prompt_template": {"round": TURNS}}, False),
        ({"prompt_template": {"round": TURNS}, "output": "messages"}, False),
        ({"prompt_template": "{q}", "meta_template": META}, False),
    ],
    ids=[
        "raw",
        "list meta",
        "api_role",
        "asked for text",
        "no api_role",
        "no meta",
        "messages without meta",
        "a string is its own request",
    ],
)
def test_the_output_follows_from_the_configuration(arguments: dict[str, Any], messages: bool) -> None:
    samples = pa.table({"q": ["1"], "a": ["2"], "hint": ["h"]})
    schema = pp.Renderer(**arguments).output_schema(samples.schema)
    assert pa.types.is_list(schema.field("prompt").type) == messages
    assert pp.Renderer(**arguments).render(samples).schema == schema


# ---------------------------------------------------------------------------------------------------------------------
# What one is: immutable, equal, pickled, shown.


def test_a_renderer_cant_be_changed() -> None:
    renderer = pp.Renderer("{q}")
    for name in ("labels", "_settings", "_examples", "anything"):
        with pytest.raises(AttributeError):
            setattr(renderer, name, 1)
        with pytest.raises(AttributeError):
            delattr(renderer, name)
    assert renderer == pp.Renderer("{q}")


@UNWARNED
def test_what_it_was_made_of_may_change_afterwards() -> None:
    template: dict[str, Any] = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    ids, tokens, labels = [0], {1: "<one>"}, ["A"]
    meta = {"round": [{"role": "HUMAN", "begin": [1]}, {"role": "BOT"}]}
    prompt = {"type": "PromptTemplate", "template": {"begin": ["</E>"], **template}, "ice_token": "</E>"}

    def make() -> pp.Renderer:
        return pp.Renderer(
            prompt,
            {"type": "PromptTemplate", "template": template},
            {"type": "FixKRetriever", "fix_id_list": ids},
            SAMPLES,
            READER,
            meta_template=meta,
            tokens=tokens,
            labels=labels,
        )

    renderer, twin = make(), make()
    want = texts(renderer.render(SAMPLES))
    template["round"][0]["prompt"] = "changed"
    ids.append(5)
    labels.append("B")
    tokens[1] = "changed"
    meta["round"].clear()
    assert texts(renderer.render(SAMPLES)) == want
    assert texts(pickle.loads(pickle.dumps(renderer)).render(SAMPLES)) == want
    assert renderer == twin


@UNWARNED
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", CONFIGS)
def test_a_pickle_brings_the_same(name: str, protocol: int) -> None:
    renderer = renderer_of(name)
    again = pickle.loads(pickle.dumps(renderer, protocol))
    assert again == renderer
    assert hash(again) == hash(renderer)
    assert repr(again) == repr(renderer)
    samples = samples_for(name, one_chunk(pa.string()))
    assert again.render(samples).equals(renderer.render(samples))
    assert copy.copy(renderer) == renderer
    assert copy.deepcopy(renderer) == renderer


def test_unpickling_compiles_nothing() -> None:
    again = pickle.loads(pickle.dumps(renderer_of("five-shot text")))
    assert again._compiled is None
    again.render(samples_for("five-shot text", one_chunk(pa.string())))
    assert again._compiled is not None


def test_a_renderer_goes_to_a_process_of_its_own(tmp_path: Path) -> None:
    renderer = renderer_of("five-shot messages")
    samples = samples_for("five-shot messages", one_chunk(pa.string()))
    (tmp_path / "job.pickle").write_bytes(pickle.dumps((renderer, samples, renderer.render(samples))))
    code = "import pickle, sys; r, s, want = pickle.load(open(sys.argv[1], 'rb')); assert r.render(s).equals(want)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "job.pickle")], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_equal_configurations_make_equal_renderers() -> None:
    for name in CONFIGS:
        assert renderer_of(name) == renderer_of(name)
        assert hash(renderer_of(name)) == hash(renderer_of(name))
    made = [renderer_of(name) for name in CONFIGS]
    assert len(set(made)) == len(made)
    base = renderer_of("five-shot text")
    assert base != "five-shot text"
    assert base != renderer_of("five-shot text", examples=train().take([5, 4, 3, 2, 1, 0]))
    assert base != renderer_of(
        "five-shot text", examples=train().rename_columns(["q", "hint", "b"]).append_column("a", train()["a"])
    )
    assert base != renderer_of("five-shot text", strings="large_string")
    assert base != renderer_of("five-shot text", names={"prompt": "text"})
    assert pp.Renderer("{q}", tokens={1: "a"}) != pp.Renderer("{q}", tokens={1: "b"})


def test_equal_renderers_have_one_hash() -> None:
    one = pp.Renderer({"type": "PromptTemplate", "template": "{q}", "ice_token": None})
    other = pp.Renderer({"ice_token": None, "template": "{q}", "type": "PromptTemplate"})
    assert one != other or hash(one) == hash(other)
    nan = pp.Renderer("{q}", mode="ppl", labels=[float("nan")])
    assert pickle.loads(pickle.dumps(nan)) == nan


def test_examples_are_equal_by_their_texts() -> None:
    def make(number: float) -> pp.Renderer:
        return pp.Renderer(**{**FEW, "examples": pa.table({"q": [number], "a": ["x"]})})

    assert pickle.loads(pickle.dumps(make(float("nan")))) == make(float("nan"))
    assert make(0.0) != make(-0.0)


def test_the_order_of_keys_that_say_what_they_mean_is_free() -> None:
    one = pp.Renderer("{q}", reader={"input_columns": ["q"], "output_column": "a"}, names={"prompt": "p", "label": "l"})
    other = pp.Renderer(
        "{q}", reader={"output_column": "a", "input_columns": ["q"]}, names={"label": "l", "prompt": "p"}
    )
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"prompt_template": {"A": "{q}", "B": "{a}"}}, {"prompt_template": {"B": "{a}", "A": "{q}"}}),
        (
            {"prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}"}], "begin": ["B"]}, "mode": "ppl"},
            {"prompt_template": {"begin": ["B"], "round": [{"role": "HUMAN", "prompt": "{q}"}]}, "mode": "ppl"},
        ),
        (
            {"prompt_template": {"A": "{q}"}, "mode": "ppl", "labels": [True]},
            {"prompt_template": {"A": "{q}"}, "mode": "ppl", "labels": [1]},
        ),
        (
            {"prompt_template": "{q}", "mode": "ppl", "labels": [1]},
            {"prompt_template": "{q}", "mode": "ppl", "labels": [1.0]},
        ),
    ],
    ids=["order of a label map", "order of sections", "True and 1", "1 and 1.0"],
)
def test_renderers_that_give_different_tables_are_different(one: dict[str, Any], other: dict[str, Any]) -> None:
    try:
        tables = [pp.Renderer(**arguments).render(SAMPLES) for arguments in (one, other)]
    except pp.TemplateError:
        pytest.skip("refused, so never equal")
    assert not tables[0].equals(tables[1])
    assert pp.Renderer(**one) != pp.Renderer(**other)


def test_repr_shows_the_configuration() -> None:
    shown = repr(pp.Renderer(**FEW, retriever={"type": "FixKRetriever", "fix_id_list": [0]}, strings="large_string"))
    assert shown.startswith("Renderer(prompt_template={'type': 'PromptTemplate', 'template': '</E>{q}={a}'")
    for part in ("fix_id_list", "3 rows", "q, a, id", "strings='large_string'", "'output_column': 'a'"):
        assert part in shown
    assert "dialect" not in shown
    assert repr(pp.Renderer("{q}")) == "Renderer(prompt_template='{q}')"


# ---------------------------------------------------------------------------------------------------------------------
# What it gives.

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
        one = given if not isinstance(given, list) else pa.RecordBatch.from_pylist([], schema=samples.schema)
        result = renderer(one)
        assert result.schema == every
        assert isinstance(result, type(one))
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


KEPT: dict[str, Callable[[], pa.Array]] = {
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
@pytest.mark.parametrize("kind", KEPT)
def test_columns_of_every_type_can_be_kept(kind: str, mode: Any) -> None:
    samples = pa.table({"q": ["1", "2"], "kept": KEPT[kind]()})
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
    ("labels", "kind", "want"),
    [
        (["A", "B"], pa.string(), ["A", "B"]),
        ([0, 1], pa.int64(), [0, 1]),
        ([0.5, None], pa.float64(), [0.5, None]),
        ([1, 0.5], pa.float64(), [1.0, 0.5]),
        ([True, False], pa.bool_(), [True, False]),
        ([None], pa.string(), [None]),
        (["A", 1], pa.string(), ["A", "1"]),
        (["A", True, None], pa.string(), ["A", "True", "None"]),
        (
            ["A", 1e22, 1e-7, float("nan"), float("inf"), -0.0],
            pa.string(),
            ["A", "1e+22", "1e-07", "nan", "inf", "-0.0"],
        ),
        ([1, True], pa.string(), ["1", "True"]),
    ],
    ids=repr,
)
def test_the_type_of_the_label_column(labels: list[Any], kind: pa.DataType, want: list[Any]) -> None:
    renderer = pp.Renderer("{q}", mode="ppl", labels=labels)
    table = renderer.render(SAMPLES.slice(0, 1))
    assert table.schema.field("label").type == kind
    assert table["label"].to_pylist() == want
    assert table.schema == renderer.output_schema(SAMPLES.schema)
    assert [str(label) for label in renderer.labels or []] == [str(label) for label in labels]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["b", "a", "b"]),
        pa.array(["b", "a", "b"], pa.string_view()),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array([3, 1, 3]),
        pa.array([3, 1, 3], pa.uint8()),
        pa.array([0.5, 0.25, 0.5]),
        pa.array([True, False, True]),
    ],
    ids=lambda values: str(values.type),
)
def test_labels_are_the_sorted_values_of_the_output_column(values: pa.Array) -> None:
    samples = pa.table({"q": ["1", "2", "3"], "a": values})
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    assert renderer.labels is None
    table = renderer.render(samples)
    assert table["label"].to_pylist() == sorted(set(values.to_pylist())) * 3
    assert table.schema == renderer.output_schema(samples.schema)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 86_400_000_000, 0], pa.timestamp("us", "UTC")),
        pa.array([0, 1, 0], pa.date32()),
        pa.array([1, 2, 1], pa.decimal128(3, 1)),
        pa.array([b"a", b"b", b"a"]),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.binary(16))),
        pa.RunEndEncodedArray.from_arrays([1, 3], ["a", "b"]),
        pa.array([2**64 - 1, 1, 1], pa.uint64()),
    ],
    ids=lambda values: str(values.type),
)
def test_labels_of_other_types_are_their_texts_or_refused(values: pa.Array) -> None:
    samples = pa.table({"q": ["1", "2", "3"], "a": values})
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER)
    table, error = rendered_or_refused(renderer, samples)
    if table is None:
        assert '"a"' in error
    else:
        labels = table["label"].to_pylist()
        assert [str(label) for label in labels] == [str(value) for value in sorted(set(values.to_pylist()))] * 3


@pytest.mark.parametrize("keys", [(0, 1), (None, "A"), (True, False), (2**40, -1), (0.5, 2)])
def test_label_maps_with_keys_that_are_no_strings(keys: tuple[Any, Any]) -> None:
    template = {keys[0]: "first {q}", keys[1]: "second {q}"}
    renderer = pp.Renderer(template, mode="ppl")
    assert renderer.labels == list(keys)
    table = renderer.render(SAMPLES.slice(0, 1))
    assert texts(table) == ["first 1+1?", "second 1+1?"]
    examples = pa.table({"q": ["x", "y"], "a": pa.array(list(keys)) if None not in keys else ["A", None]})
    config = {
        "prompt_template": PROMPT,
        "ice_template": {"type": "PromptTemplate", "template": template},
        "reader": READER,
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
    }
    shots = pp.Renderer(**config, examples=examples)
    want = render_plain(config, SAMPLES.to_pylist(), examples.to_pylist())
    assert texts(shots.render(SAMPLES)) == want


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
        ({**FEW, "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1], "ice_separator": "{s}"}}, {"q", "s"}),
        ({**FEW, "retriever": {"type": "FixKRetriever", "fix_id_list": [0], "ice_eos_token": "{e}"}}, {"q", "e"}),
        ({**FEW, "retriever": {"type": "IndexColumn", "column": "shots"}}, {"q", "shots"}),
    ],
    ids=repr,
)  # fmt: skip
def test_the_columns_that_a_scan_has_to_read(arguments: dict[str, Any], want: set[str]) -> None:
    columns = pp.Renderer(**arguments).required_columns
    assert len(set(columns)) == len(columns)
    assert set(columns) == want


# ---------------------------------------------------------------------------------------------------------------------
# Retrievers.


def few(retriever: dict[str, Any], rows: int) -> pp.Renderer:
    examples = pa.table({"q": [f"q{n}" for n in range(rows)], "a": [f"a{n}" for n in range(rows)]})
    return pp.Renderer(**{**FEW, "examples": examples}, retriever=retriever)


@pytest.mark.parametrize(
    ("rows", "count", "seed"), [(5, 1, None), (50, 5, None), (7, 7, 0), (1000, 3, 2**32 - 1), (9, 0, 5)]
)
def test_random_draws_are_numpys(rows: int, count: int, seed: int | None) -> None:
    numpy = pytest.importorskip("numpy")
    retriever = {"type": "RandomRetriever", "ice_num": count} | ({} if seed is None else {"seed": seed})
    generator = numpy.random.RandomState(43 if seed is None else seed)
    want = [generator.choice(rows, count, replace=False).tolist() for _ in range(40)]
    chosen = few(retriever, rows).retrieve(40)
    assert chosen.type == pa.list_(pa.int64())
    assert chosen.to_pylist() == want


@pytest.mark.parametrize(
    "retriever",
    [
        {"type": "RandomRetriever", "ice_num": 2},
        {"type": "RandomRetriever", "ice_num": 2, "seed": 1, "ice_separator": "--", "ice_eos_token": "!"},
        {"type": "SlidingWindowRetriever", "k": 3},
        {"type": "SlidingWindowRetriever", "k": 0},
        {"type": "FixKRetriever", "fix_id_list": [4, 0, 0]},
        {"type": "ZeroRetriever"},
    ],
    ids=repr,
)
def test_a_retrievers_choice_as_a_column_gives_the_same(retriever: dict[str, Any]) -> None:
    samples = pa.table({"q": [f"s{n}" for n in range(6)], "a": ["?"] * 6})
    renderer = few(retriever, 6)
    chosen = renderer.retrieve(samples.num_rows)
    assert chosen.null_count == 0
    ends = {key: value for key, value in retriever.items() if key.startswith("ice_") and key != "ice_num"}
    if retriever["type"] == "ZeroRetriever":
        ends = {"ice_separator": "", "ice_eos_token": ""}
    by_column = few({"type": "IndexColumn", "column": "shots", **ends}, 6)
    for kind in (pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_view(pa.int16()), pa.list_(pa.int8())):
        column = pa.array(chosen.to_pylist(), kind)
        shots = samples.append_column("shots", column)
        assert by_column.render(shots).equals(renderer.render(samples))
        assert texts(by_column(shots)) == texts(renderer.render(samples))
    config = {key: value for key, value in FEW.items() if key != "examples"} | {"retriever": retriever}
    want = render_plain(config, samples.to_pylist(), [{"q": f"q{n}", "a": f"a{n}"} for n in range(6)])
    assert texts(renderer.render(samples)) == want


@UNWARNED
def test_the_index_column_is_no_field_of_the_sample() -> None:
    examples = pa.table({"q": ["{shots}"], "a": ["1"]})
    renderer = pp.Renderer(
        {**PROMPT, "template": "</E>{shots}{q}"}, SHOT, {"type": "IndexColumn", "column": "shots"}, examples, READER
    )
    samples = pa.table({"q": ["x"], "shots": [[0]]})
    assert texts(renderer.render(samples)) == ["{shots}=1\n{shots}x"]


@pytest.mark.parametrize(
    ("shots", "words"),
    [
        (pa.array([[0], None]), ["row 1", "shots", "null"]),
        (pa.array([[0], [None]]), ["row 1", "shots", "null"]),
        (pa.array([[0], [3]]), ["row 1", "shots", "3"]),
        (pa.array([[0], [-4]]), ["row 1", "shots", "-4"]),
        (pa.array([["0"], ["1"]]), ["shots", "integers"]),
        (pa.array([0, 1]), ["shots", "integers"]),
        (pa.array([[0.0], [1.0]]), ["shots", "integers"]),
        (pa.array([[2**64 - 1], [0]], pa.list_(pa.uint64())), ["shots"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_indices_that_choose_nothing_are_refused(shots: pa.Array, words: list[str]) -> None:
    renderer = pp.Renderer(**FEW, retriever={"type": "IndexColumn", "column": "shots"})
    samples = pa.table({"q": ["1", "2"], "shots": shots})
    for call in (renderer.render, renderer, lambda given: renderer.stream(given).read_all()):
        with pytest.raises(pp.RenderError) as raised:
            call(samples)
        assert all(word in str(raised.value) for word in words)


def test_a_column_that_holds_the_choice_cant_be_retrieved() -> None:
    renderer = pp.Renderer(**FEW, retriever={"type": "IndexColumn", "column": "shots"})
    with pytest.raises(pp.TemplateError, match="shots"):
        renderer.retrieve(3)


def test_a_number_of_samples_is_not_negative() -> None:
    with pytest.raises(ValueError, match="-1"):
        pp.Renderer("{q}").retrieve(-1)


# ---------------------------------------------------------------------------------------------------------------------
# Batches and streams.


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 2}, {"type": "SlidingWindowRetriever", "k": 2}], ids=repr
)
def test_a_batch_alone_knows_no_position(retriever: dict[str, Any]) -> None:
    renderer = pp.Renderer(**FEW, retriever=retriever)
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
        few(retriever, 11) if labels is None else pp.Renderer(**FEW, retriever=retriever, mode="ppl", labels=labels)
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


def test_every_error_has_the_places_that_the_stub_promises() -> None:
    renderer = pp.Renderer("{q}")
    calls: list[Callable[[], Any]] = [
        lambda: renderer.render(SAMPLES, keep=["nowhere"]),
        lambda: renderer.render(pa.table([["1"], ["2"]], names=["q", "q"])),
        lambda: renderer.explain(SAMPLES, -1),
        lambda: renderer.explain(SAMPLES, 99),
        lambda: renderer.explain(SAMPLES, 0, turn=1),
        lambda: pp.Renderer("{q}", mode="ppl", reader=READER)(SAMPLES),
        lambda: pp.Renderer(5),  # type: ignore[arg-type]
        lambda: pp.Renderer.from_config({}),
    ]
    for call in calls:
        with pytest.raises((pp.RenderError, pp.TemplateError)) as raised:
            call()
        assert {name: getattr(raised.value, name, "missing") for name in ("path", "row", "column")} != {}
        assert all(hasattr(raised.value, name) for name in ("path", "row", "column")), str(raised.value)


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


# ---------------------------------------------------------------------------------------------------------------------
# JSON.

JSONS: dict[str, dict[str, Any]] = {
    "raw": {"prompt_template": [{"content": "{q}", "role": "user", "name": "n"}, *RAW]},
    "meta": {"prompt_template": {"round": TURNS}, "meta_template": META},
    "five-shot": {**CONFIGS["five-shot messages"], "examples": train()},
    "list meta": {
        "prompt_template": RAW,
        "meta_template": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
    },
}


@pytest.mark.parametrize("name", JSONS)
def test_json_says_what_the_messages_say(name: str) -> None:
    samples = pa.table({"q": ['a"b\\\n\t\x00\x1f\u2028é😀', "{a}"], "hint": ["x", None], "a": ["1", "2"]})
    config = {**JSONS[name], "reader": {}} if name != "five-shot" else JSONS[name]
    messages = pp.Renderer(**{**config, "output": "messages"}).render(samples)
    table = pp.Renderer(**{**config, "output": "messages_json"}).render(samples)
    assert table.schema.field("prompt").type == pa.string()
    assert clean([json.loads(text) for text in texts(table)]) == clean(texts(messages))
    assert [json.dumps(json.loads(text), ensure_ascii=False) for text in texts(table)] == texts(table)


def test_json_keeps_the_order_of_keys() -> None:
    message = {"name": "n", "content": "{q}", "x": {"b": 1, "a": [None, True, 1.5]}, "role": "user"}
    (text,) = texts(pp.Renderer([message], output="messages_json").render(SAMPLES.slice(0, 1)))
    assert text == json.dumps([{**message, "content": "1+1?"}])


@pytest.mark.parametrize("number", [1e22, 1e-7, 1e16, 0.1, -0.0, 1.0, 5e-324, float("inf"), 2**53, 2**63, -(2**70)])
def test_json_writes_numbers_as_python_does(number: float) -> None:
    message = {"role": "user", "content": "{q}", "n": number}
    (text,) = texts(pp.Renderer([message], output="messages_json").render(SAMPLES.slice(0, 1)))
    assert text == json.dumps([{**message, "content": "1+1?"}])


MIXES: dict[str, Any] = {
    "content": [{"role": "user", "content": "{q}"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}],
    "a field": [{"role": "user", "content": "{q}", "n": 1}, {"role": "user", "content": "{q}", "n": "one"}],
    "within a list": [{"role": "user", "content": "{q}", "n": [1, "one"]}],
    "a number": [{"role": "user", "content": "{q}", "n": 2**70}],
}


@pytest.mark.parametrize("name", MIXES)
def test_what_arrow_cant_hold_is_json(name: str) -> None:
    renderer = pp.Renderer(MIXES[name])
    for call in (renderer.render, renderer, lambda given: renderer.stream(given).read_all()):
        with pytest.raises((pp.RenderError, pp.TemplateError), match="messages_json") as raised:
            call(SAMPLES)
        assert "row" in str(raised.value)
    (text, *_) = texts(pp.Renderer(MIXES[name], output="messages_json").render(SAMPLES))
    want = [{**m, "content": "1+1?"} if isinstance(m["content"], str) else m for m in MIXES[name]]
    assert json.loads(text) == want


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


def test_an_example_of_any_type_has_the_label_that_it_holds() -> None:
    """Labels of examples are looked up by value, whatever the column's Arrow type."""
    examples = pa.table({"q": ["x", "y"], "a": pa.array([5, 6], pa.timestamp("us", "UTC"))})
    ice = {"type": "PromptTemplate", "template": {0: "zero {q}", 1: "one {q}"}}
    with pytest.raises((pp.TemplateError, pp.RenderError), match="label"):
        pp.Renderer(PROMPT, ice, {"type": "FixKRetriever", "fix_id_list": [0]}, examples, READER).render(SAMPLES)


INVALID = """
import pyarrow as pa, promptpress as pp
offsets = pa.py_buffer(b"\\0\\0\\0\\0\\2\\0\\0\\0\\4\\0\\0\\0")
bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\\xff\\xfe\\xff\\xfe")])
prompt = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
ices = {
    "label": {"type": "PromptTemplate", "template": {"A": "{q}", "B": "{q}"}},
    "text": {"type": "PromptTemplate", "template": "{a}"},
    "messages": [{"expand_column": "talk"}],
}
prompts = {"messages": ["</E>", {"role": "user", "content": "{q}"}]}
message = pa.StructArray.from_arrays([pa.array(["user", "user"]), bad], ["role", "content"])
talk = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), message)
examples = pa.table({"q": ["1", "2"], "a": pa.array(["A", "B"]) if KIND == "messages" else bad, "talk": talk})
samples = pa.table({"q": ["1"], "a": ["A"], "shots": [[0]]})
for retriever in ({"type": "FixKRetriever", "fix_id_list": [0]}, {"type": "IndexColumn", "column": "shots"}):
    try:
        arguments = (prompts.get(KIND, prompt), ices[KIND], retriever, examples, {"output_column": "a"})
        pp.Renderer(*arguments).render(samples)
    except (pp.TemplateError, pp.RenderError) as error:
        assert "utf" in str(error).lower(), str(error)
    else:
        raise AssertionError("not refused")
"""


@pytest.mark.parametrize("kind", ["label", "text", "messages"])
def test_invalid_text_among_the_examples_is_refused(kind: str) -> None:
    """In a process of its own: text that isn't UTF-8 could bring the whole process down."""
    code = INVALID.replace("KIND", repr(kind))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-1000:]


# ---------------------------------------------------------------------------------------------------------------------
# Tokens.


def spoken(tokens: Any, begin: Any) -> str:
    meta = {"round": [{"role": "HUMAN", "begin": begin, "end": [2, "!"]}, {"role": "BOT"}], "eos_token_id": 7}
    renderer = pp.Renderer({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, meta_template=meta, tokens=tokens)
    assert renderer.eos_token_id == 7
    return str(texts(renderer.render(SAMPLES))[0])


def test_tokens_become_text() -> None:
    table = {1: "<one>", 2: "</two>"}
    for tokens in (table, table.get, MappingProxyType(table), lambda token: table[token]):
        assert spoken(tokens, [1, "x", 1]) == "<one>x<one>1+1?</two>!"


@pytest.mark.parametrize("tokens", [None, {}, {1: "<one>"}, lambda _: None])
def test_a_token_without_text_is_named(tokens: Any) -> None:
    with pytest.raises(pp.TemplateError, match=r"token id [12] has no text"):
        spoken(tokens, [1])


@pytest.mark.parametrize("text", [5, b"x", "\ud800"], ids=repr)
def test_a_token_whose_text_is_none_is_named(text: Any) -> None:
    for tokens in ({1: text, 2: ""}, lambda _: text):
        with pytest.raises(pp.TemplateError, match=r"tokens\["):
            spoken(tokens, [1])


def test_an_error_of_a_tokens_function_comes_through() -> None:
    def tokens(token: int) -> str:
        raise KeyError(token)

    with pytest.raises(KeyError):
        spoken(tokens, [1])


def test_eos_token_id_is_no_part_of_a_prompt() -> None:
    assert pp.Renderer("{q}").eos_token_id is None
    renderer = pp.Renderer({"round": TURNS}, meta_template={**META, "eos_token_id": [1, 2]}, output="text")
    assert renderer.eos_token_id == [1, 2]
    plain = pp.Renderer({"round": TURNS}, meta_template=META, output="text")
    samples = many_chunks(pa.string()).drop_columns(["shots"])
    assert texts(renderer.render(samples)) == texts(plain.render(samples))


# ---------------------------------------------------------------------------------------------------------------------
# What no configuration may do: raise what is no error of this library.


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


ODD: dict[str, Callable[[], Any]] = {
    "lone surrogate": lambda: "a\ud800{q}",
    "lone surrogate as a key": lambda: {"\ud800": "{q}"},
    "tuple as a key": lambda: {("a", "b"): "{q}"},
    "nested deeply": lambda: {"A": nested(5_000)},
    "contains itself": lambda: {"round": cycle()},
    "bytes": lambda: b"{q}",
    "set": lambda: {"{q}"},
    "number": lambda: 5,
    "object in a turn": lambda: {"round": [{"role": "HUMAN", "prompt": object()}]},
}


class Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value", [Speechless(), 10**5_000, ["\ud800"], {(1, 2): 3}], ids=lambda value: type(value).__name__
)
def test_odd_values_are_refused_with_their_path(value: Any) -> None:
    with pytest.raises(pp.TemplateError) as raised:
        pp.Renderer("{q}", inferencer={"inner": {"save_every": value}})
    assert raised.value.path.startswith("inferencer.inner.save_every")
    assert str(raised.value).startswith(raised.value.path)


def test_numpys_values_are_pythons() -> None:
    numpy = pytest.importorskip("numpy")
    retriever = {"type": "FixKRetriever", "fix_id_list": numpy.arange(2)}
    plain = pp.Renderer(**FEW, retriever={**retriever, "fix_id_list": [0, 1]})
    assert pp.Renderer(**FEW, retriever=retriever) == plain
    assert pp.Renderer(**FEW, retriever={**retriever, "fix_id_list": [numpy.int32(0), numpy.uint8(1)]}) == plain


@pytest.mark.parametrize("name", ODD)
def test_odd_templates_are_refused_as_templates(name: str) -> None:
    with pytest.raises(pp.TemplateError, match=r"template"):
        pp.Renderer(ODD[name]())


# ---------------------------------------------------------------------------------------------------------------------
# Threads.


@UNWARNED
def test_python_threads_share_a_renderer() -> None:
    renderers = {name: renderer_of(name) for name in ("five-shot text", "five-shot messages", "index column", "ppl")}
    tables = {name: samples_for(name, one_chunk(pa.string())) for name in renderers}
    # Another schema in between: what is bound to one must not serve the other.
    others = {name: table.select(list(reversed(table.column_names))) for name, table in tables.items()}
    want = {name: (texts(r.render(tables[name])), texts(r.render(others[name]))) for name, r in renderers.items()}
    failures: list[str] = []

    def work(seed: int) -> None:
        for n in range(30):
            name = list(renderers)[(seed + n) % len(renderers)]
            table = (tables, others)[n % 2][name]
            if texts(renderers[name].render(table)) != want[name][n % 2]:
                failures.append(name)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_go_on_during_a_long_render() -> None:
    samples = pa.table({"q": ["{a} " * 1_000] * 20_000, "a": ["x"] * 20_000})
    renderer = pp.Renderer("{q}")
    beats: list[float] = []
    stop = threading.Event()

    def beat() -> None:
        while not stop.is_set():
            beats.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=beat)
    thread.start()
    start = time.monotonic()
    renderer.render(samples)
    end = time.monotonic()
    stop.set()
    thread.join()
    during = [beat for beat in beats if start < beat < end]
    # With the lock held there would be none at all but for the moments at both ends.
    assert len(during) > (end - start) / 0.002 / 20
    gaps = [later - earlier for earlier, later in itertools.pairwise(during)]
    assert max(gaps, default=end - start) < max(0.25, (end - start) / 2)


def test_the_number_of_threads_can_be_set() -> None:
    try:
        for threads in (1, 3, 2):
            pp.set_threads(threads)
            assert _core.threads() == threads
            assert len(texts(pp.Renderer("{q}").render(SAMPLES))) == 3
        pp.set_threads(None)
        assert _core.threads() >= 1
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=str(wrong)):
                pp.set_threads(wrong)
    finally:
        pp.set_threads(2)


def test_the_examples_given_stay_as_they_were() -> None:
    assert TRAIN[0] == {"q": "0 + 0?", "hint": "{a}", "a": "0"}
    assert render_plain({"prompt_template": "{q}"}, [{"q": "x"}], []) == ["x"]


def test_a_pickle_holds_the_examples_and_not_the_table_that_they_are_a_slice_of() -> None:
    large = pa.table({"q": [f"{n} " * 20 for n in range(10_000)], "a": list(range(10_000))})
    whole = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": "{q}{a}"},
        {"type": "FixKRetriever", "fix_id_list": [0]},
        large.slice(5, 2),
        {"input_columns": ["q"], "output_column": "a"},
    )
    pickled = pickle.dumps(whole)
    assert len(pickled) < 5_000
    assert pickle.loads(pickled) == whole
