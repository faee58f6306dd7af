"""Mistakes of a new user in Python, and errors that say how to go on; those of the command: test_leading_errors.py."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._config.from_harness import renderer_arguments
from promptpress._errors.errors import did_you_mean, not_a_table
from test_leading_errors import DATASET, ICE, READER, SAMPLES, SHOTS, TEMPLATE, has_words, infer, without


def a_class(module: str, name: str, **members: Any) -> Any:
    """An object as a library has it that isn't needed for recognising it."""
    return type(name, (), {"__module__": module, **members})()


class DatasetDict(dict[str, Any]):
    """As Hugging Face's, which has a dataset's methods."""

    column_names = None

    def with_format(self, _: str) -> DatasetDict:
        return self


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"test.parquet"


TABLES: dict[str, tuple[Callable[[], Any], str]] = {
    "splits": (lambda: DatasetDict(train=SAMPLES, test=SAMPLES), "samples['train'], samples['test']"),
    "a dict of tables": (lambda: {"train": SAMPLES}, "a dict samples['train']"),
    "no splits": (DatasetDict, "one row"),
    "a dict": (lambda: {"question": "1"}, "found a dict; one row: put it into a list: [samples]"),
    "columns of which one is a value": (
        lambda: {"question": ["1"], "answer": "2"},
        "found a dict; every value is a list, and 'answer' has a str",
    ),
    "no rows": (list, "found a list"),
    "rows and others": (lambda: [{"question": "1"}, 2], "found a list of dicts"),
    "a path of bytes": (BytesPath, "os.fsdecode(samples)"),
    "strings": (lambda: ["1+1?"], 'pyarrow.table({"question": samples})'),
    "an array": (
        lambda: SAMPLES["question"].chunk(0),
        'of string; name the column: pyarrow.table({"question": samples})',
    ),
    "a column": (lambda: SAMPLES["question"], "found a ChunkedArray of string; name the column"),
    "tables": (lambda: [SAMPLES, SAMPLES], "found a list of tables; pyarrow.concat_tables(samples)"),
    "an old frame": (lambda: a_class("pandas.core.frame", "DataFrame"), "pyarrow.Table.from_pandas(samples)"),
    "an engine's": (lambda: a_class("pyspark.sql.dataframe", "DataFrame"), "found a pyspark DataFrame; docs/scale.md"),
    "a number": (lambda: 3, "found an int"),
}


@pytest.mark.parametrize(
    ("use", "name"),
    [(use, name) for use in ("render", "stream", "call", "examples") for name in TABLES],
)
def test_what_is_no_table(name: str, use: str) -> None:
    make, words = TABLES[name]
    if use == "examples":
        words = re.sub(r"\bsamples\b", "examples", words)
    renderer = pp.Renderer("{question}")
    uses: dict[str, Callable[[Any], Any]] = {
        "render": renderer.render,
        "stream": renderer.stream,
        "call": renderer,
        "examples": lambda table: pp.Renderer("{question}", examples=table),
    }
    with pytest.raises(TypeError) as raised:
        uses[use](make())
    assert has_words(
        str(raised.value),
        "expected a table (anything with the Arrow PyCapsule interface, dicts of a list or a generator,",
    )
    assert has_words(str(raised.value), words), raised.value


def test_the_error_names_what_an_iterator_gives() -> None:
    assert pp.Renderer("{question}").render({"question": text} for text in "ab").num_rows == 2
    with pytest.raises(TypeError, match=r"list of record batches; .*from_batches\(samples\); stream takes them"):
        pp.Renderer("{question}").render(SAMPLES.to_batches())
    assert pp.Renderer("{question}").stream(SAMPLES.to_batches()).read_all().num_rows == 2


def test_real_libraries_objects() -> None:
    polars = pytest.importorskip("polars")
    datasets = pytest.importorskip("datasets")
    renderer = pp.Renderer("{question}")
    dataset = datasets.Dataset(SAMPLES)
    for samples, words in (
        (polars.Series("question", ["a"]), r"samples.to_frame\(\)"),
        (datasets.DatasetDict(train=dataset, test=dataset), r"samples\['train'\], samples\['test'\]"),
    ):
        for use in (renderer.render, renderer.stream):
            with pytest.raises(TypeError, match=words):
                use(samples)
    # rows of structs are a table
    assert renderer.render(polars.Series([{"question": "a"}]))["prompt"].to_pylist() == ["a"]
    assert renderer.render(pa.array([{"question": "a"}]))["prompt"].to_pylist() == ["a"]
    assert renderer.render(dataset).num_rows == 2


from_config = pp.Renderer.from_config
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "no examples": (
        lambda: pp.Renderer(**SHOTS),
        "examples: none are given, and FixKRetriever takes in-context examples train split, as examples=",
    ),
    "no examples for a random choice": (
        lambda: pp.Renderer(**{**SHOTS, "retriever": {"type": "RandomRetriever", "ice_num": 2}}),
        "examples: none are given, and RandomRetriever as examples=",
    ),
    "no examples for a column": (
        lambda: pp.Renderer(**{**SHOTS, "retriever": {"type": "IndexColumn", "column": "shots"}}),
        "examples: none are given, and IndexColumn as examples=",
    ),
    "no reader": (
        lambda: pp.Renderer(**without(SHOTS, "reader"), examples=SAMPLES),
        'reader.output_column: give reader={"input_columns": [...], "output_column": "..."}',
    ),
    "refuse": (lambda: pp.Renderer("x", refuse=["foo"]), "refuse[0]: 'foo' is not one of"),
    "tokens": (lambda: pp.Renderer("x", tokens=[1]), "tokens: expected a dict found a list"),
    "infer_cfg": (
        lambda: from_config({**without(DATASET, "infer_cfg"), "infer_cg": {}}),
        "infer_cg: did you mean 'infer_cfg'?",
    ),
    "reader_cfg": (
        lambda: from_config({**without(DATASET, "reader_cfg"), "reader_cgf": READER}),
        "reader_cgf: did you mean 'reader_cfg'?",
    ),
    "prompt_template": (
        lambda: from_config(infer("prompt_template", promt_template=TEMPLATE)),
        "infer_cfg.promt_template: did you mean 'prompt_template'?",
    ),
    "retriever": (
        lambda: from_config(infer("retriever", retriver={"type": "ZeroRetriever"})),
        "infer_cfg.retriver: did you mean 'retriever'?",
    ),
    "inferencer": (
        lambda: from_config(infer("inferencer", inferencr={"type": "PPLInferencer"})),
        "infer_cfg.inferencr: did you mean 'inferencer'?",
    ),
    "output_column": (
        lambda: from_config({**DATASET, "reader_cfg": {"input_columns": ["question"], "outpt_column": "answer"}}),
        "reader_cfg.outpt_column: did you mean 'output_column'?",
    ),
    "a job": (
        lambda: from_config({"datasets": [DATASET], "models": []}),
        "one of a job's datasets, such as cfg['datasets'][0]",
    ),
    "a path": (lambda: from_config("configs/a.py"), "configs/a.py: No such file there is no folder 'configs'"),
    "both dicts in the wrong order": (
        lambda: from_config({"type": "VLLM"}, DATASET),
        "model_cfg: from_config(dataset, model)",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, words = CALLS[name]
    with pytest.raises(pp.TemplateError) as raised:
        call()
    assert has_words(str(raised.value), words), raised.value
    assert "''" not in str(raised.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: from_config(DATASET, exmaples=SAMPLES), "got an unexpected keyword argument 'exmaples'"),
        (lambda: pp.Renderer("x", zzzzzz=1), "Renderer.__init__() got an unexpected keyword argument 'zzzzzz'"),
    ],
)
def test_misspelt_arguments(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert has_words(str(raised.value), words), raised.value


def test_what_the_harness_ignores_is_warned_of() -> None:
    warnings: list[str] = []
    renderer_arguments(infer(ice_templte=ICE), {"type": "VLLM", "meta_templat": {}}, warn=warnings.append)
    assert warnings == [
        "infer_cfg.ice_templte: ignored, in the harness and here; did you mean 'ice_template'?",
        "model_cfg.meta_templat: ignored; did you mean 'meta_template'?",
    ]


def test_a_misspelt_inferencer_is_warned_of() -> None:
    warnings: list[str] = []
    renderer_arguments(infer(inferencer={"type": "PPLInferencr"}), warn=warnings.append)
    assert warnings == [
        "infer_cfg.inferencer.type: 'PPLInferencr' is none that promptpress knows; did you mean 'PPLInferencer'?"
    ]
    renderer_arguments(infer(inferencer={"type": "mine.Scorer"}), warn=warnings.append)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({"question": "1"}, "found a dict; a dict is one row: put it into a list: [examples]"),
        (["1"], 'found a list of strings; name the column: pyarrow.table({"question": examples})'),
        (5, "found an int"),
    ],
)
def test_examples_that_are_no_table(examples: Any, message: str) -> None:
    with pytest.raises(TypeError, match=r"^examples: expected a table") as raised:
        pp.Renderer("{question}", examples=examples)
    assert message in str(raised.value)
    assert "samples" not in str(raised.value)


def test_a_renderer_is_no_table() -> None:
    renderer: Any = pp.Renderer("{question}")
    with pytest.raises(TypeError, match=r"found a Renderer; it makes one: renderer\.render\(samples\)"):
        pp.export.openai_batch(renderer, "out.jsonl", model="m")


def test_columns_to_keep() -> None:
    renderer = pp.Renderer("{question}")
    with pytest.raises(pp.RenderError, match="no column 'anwser'; it has 'question', 'answer'; did you mean 'answer'"):
        renderer.render(SAMPLES, keep=["anwser"])
    with pytest.raises(TypeError, match=r"the str 'answer'; a list of one is \['answer'\]"):
        renderer.render(SAMPLES, keep="answer")
    assert renderer.render(SAMPLES, keep="all").column_names == [*SAMPLES.column_names, "prompt"]
    assert renderer.render(SAMPLES, keep=iter(["answer"])).column_names == ["answer", "prompt"]
    everything: Any = True
    with pytest.raises(TypeError, match="keep: expected a sequence of column names, found True"):
        renderer.render(SAMPLES, keep=everything)


def test_keys_that_are_only_alike_are_no_mistakes() -> None:
    warnings: list[str] = []
    fine = {**DATASET, "eval_cfg": {}, "reader": None, "infer_cfgs": 1}
    fine["reader_cfg"] = {"input_columns": ["question"], "output_column": None, "output_columns": 1}
    renderer_arguments(fine, {"type": "VLLM", "meta_template": None}, warn=warnings.append)
    assert warnings == []


def test_the_signature_stays() -> None:
    assert next(iter(inspect.signature(pp.Renderer).parameters)) == "prompt_template"
    assert "refuse" in inspect.signature(pp.Renderer).parameters
    assert did_you_mean("zzz", ["keep"]) == ""
    assert "; " not in str(not_a_table(object()))
