"""Columns of JSON of other packages: Hugging Face, Parquet, DuckDB, Polars; and what is made of their values."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import export
from promptpress._arrow.json_columns import json_array, json_field
from promptpress_workbench.files.write.writers import CsvWriter

ROWS: list[dict[str, Any]] = [
    {"answer": 4, "listed": [1, "a"], "meta": {"x": 1}},
    {"answer": "Paris", "listed": [{"a": None}], "meta": {"y": [2, 1.5]}},
]
WANTED = [f"{row['answer']}|{row['listed']}|{row['meta']}" for row in ROWS]
RENDERERS = [pp.Renderer("{answer}|{listed}|{meta}"), pp.JinjaTemplate("{{ answer }}|{{ listed }}|{{ meta }}")]
TALK = [
    {"role": "user", "content": "W?"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": {"city": None, "n": 1}}}]},
]


def table(**columns: list[Any]) -> pa.Table:
    """Make a table of JSON."""
    arrays = [json_array([json.dumps(value) for value in values]) for values in columns.values()]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(map(json_field, columns))))


def samples() -> pa.Table:
    return table(**{name: [row[name] for row in ROWS] for name in ROWS[0]})


def check(source: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)  # Jinja2 renders columns of several kinds
        for renderer in RENDERERS:
            assert renderer.render(source)["prompt"].to_pylist() == WANTED
            assert renderer.stream(source).read_all()["prompt"].to_pylist() == WANTED


@pytest.fixture(scope="module")
def datasets() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own imports' affair
        module = pytest.importorskip("datasets", reason="Hugging Face datasets isn't installed")
    if not hasattr(module, "Json"):
        pytest.skip("this release has no Json()")
    module.disable_progress_bars()
    return module


def test_datasets_of_json(datasets: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    load = {"data_files": str(path), "split": "train", "cache_dir": str(tmp_path / "cache")}
    dataset = datasets.load_dataset("json", **load)
    check(dataset)
    dataset.save_to_disk(str(tmp_path / "saved"))
    check(datasets.load_from_disk(str(tmp_path / "saved")))
    check(tmp_path / "saved")
    dataset.to_parquet(str(tmp_path / "rows.parquet"))
    check(tmp_path / "rows.parquet")
    check(datasets.load_dataset("json", **load, streaming=True))
    check(dataset.to_iterable_dataset())
    check(dataset.map(lambda _: {"more": 1}))


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(samples(), tmp_path / "rows.parquet")
    check(tmp_path / "rows.parquet")
    check(samples())
    kept = RENDERERS[0].render(samples(), keep="all")
    assert kept.select(list(ROWS[0])).equals(samples())


def test_relations_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")

    def quoted(value: Any) -> str:
        return f"{json.dumps(value)!r}::JSON"

    values = ", ".join(
        f"({quoted(row['answer'])}, [{', '.join(map(quoted, row['listed']))}], {quoted(row['meta'])})" for row in ROWS
    )
    check(duckdb.connect().sql(f"SELECT * FROM (VALUES {values}) rows(answer, listed, meta)"))


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(samples())
    if not any(str(kind).startswith("Extension") for kind in frame.schema.values()):
        pytest.skip("this release has no extension types")
    check(frame)
    check(frame.lazy())


def test_conversations_of_json() -> None:
    template = pp.ChatTemplate(
        "{% for m in messages %}{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }};{% endfor %}"
    )
    wanted = f"W?;{json.dumps(TALK[1]['tool_calls'])};"
    for value in (TALK, {"messages": TALK}, json.dumps(TALK)):
        assert template.render(table(messages=[value]))["prompt"].to_pylist() == [wanted]
    with pytest.raises(pp.RenderError, match="expected a list of messages") as caught:
        template.render(table(messages=[TALK, 7]))
    assert (caught.value.row, caught.value.column) == (1, "messages")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_exports_write_the_json_that_is_there(tmp_path: Path) -> None:
    texts = ['{"b":1E5,\n "a":[1.50, null], "n":900000000000000000000000000001}', '"Paris"', "null"]
    given = pa.Table.from_arrays([json_array(texts), pa.array(["x"] * 3)], names=["v", "q"])
    given = given.cast(pa.schema([json_field("v"), pa.field("q", pa.string())]))
    rendered = pp.Renderer("{q}").render(given, keep=["v"])
    export.openai_batch(rendered, tmp_path / "batch.jsonl", model="m", body_columns={"z": "v"})
    written = ['{"b": 1E5, "a": [1.50, null], "n": 900000000000000000000000000001}', '"Paris"', "null"]
    assert [line.split('"z": ')[1].removesuffix("}}") for line in lines_of(tmp_path / "batch.jsonl")] == written
    nested = pa.table(
        {"v": pa.StructArray.from_arrays([json_array(texts)], fields=[json_field("w")]), "prompt": ["x"] * 3}
    )
    for kept, form in ((rendered, "{}"), (nested, '{{"w": {}}}')):
        export.messages_json(kept, tmp_path / "talks.jsonl", keep=["v"], answer="prompt")
        lines = [line.split(', "messages"')[0] for line in lines_of(tmp_path / "talks.jsonl")]
        assert lines == [f'{{"v": {form.format(text)}' for text in written]


def test_fields_of_csv() -> None:
    file = io.BytesIO()
    batch = table(v=["Paris", {"a": [1.5, None]}, None]).to_batches()[0]
    CsvWriter(file, batch.schema).write_batch(batch)
    assert file.getvalue().decode() == 'v\r\nParis\r\n"{""a"": [1.5, null]}"\r\n\r\n'
    half = pa.RecordBatch.from_arrays([json_array(['"a"', '"\\ud800"'])], schema=batch.schema)
    with pytest.raises(pp.RenderError, match="half of a surrogate pair") as caught:
        CsvWriter(file, batch.schema).write_batch(half)
    assert (caught.value.code, caught.value.row, caught.value.column) == ("invalid_unicode", 1, "v")


def test_exports_of_conversations_keep_nulls_and_numbers(tmp_path: Path) -> None:
    text = json.dumps(TALK).replace('"n": 1', '"n": 1.50').replace(": ", ":")
    talks = pa.Table.from_arrays([json_array([text])], schema=pa.schema([json_field("prompt")]))
    wanted = json.dumps(TALK).replace('"n": 1', '"n": 1.50')
    export.messages_json(talks, tmp_path / "talks.jsonl")
    assert lines_of(tmp_path / "talks.jsonl") == [f'{{"messages": {wanted}}}']
    export.openai_batch(talks, tmp_path / "batch.jsonl", model="m")
    assert wanted in lines_of(tmp_path / "batch.jsonl")[0]
    with pytest.raises(pp.RenderError, match="no answer of the assistant"):
        export.messages_json(table(prompt=[TALK[:1]]), tmp_path / "none.jsonl")


def test_values_of_a_harness_have_one_type_a_column() -> None:
    rows = [{"v": 2}, {"v": 1.5}]
    for words in ({"dialect": "opencompass"}, {"reader": {"output_column": "a"}}, {"meta_template": {"round": []}}):
        assert pp.Renderer("{v}", **words).render(rows)["prompt"].to_pylist() == ["2.0", "1.5"]
    assert pp.Renderer("{v}").render(rows)["prompt"].to_pylist() == ["2", "1.5"]
    examples = [{**row, "a": "x"} for row in rows]
    shots = pp.Renderer("{v} {a}", shots=2, examples=examples, output_column="a")
    assert shots.render([{"v": 7, "a": None}])["prompt"].to_pylist() == ["2 x\n1.5 x\n7 "]


def test_requests_of_lm_eval() -> None:
    pytest.importorskip("jinja2")
    docs = [{"q": "a", "c": ["x", "y"], "g": 1, "m": {"a": 1}}, {"q": "b", "c": ["z", "w"], "g": 0, "m": "t"}]
    task = {"task": "t", "test_split": "test", "doc_to_choice": "c", "doc_to_target": "g"}
    task |= {"doc_to_text": "{{q}} {{c[0]}} {{m}}", "output_type": "multiple_choice"}
    made = pp.lm_eval.requests(task, table(**{name: [doc[name] for doc in docs] for name in docs[0]}))
    assert made.to_pylist() == pp.lm_eval.requests(task, docs).to_pylist()
    assert made["arguments"].to_pylist()[0] == ("a x {'a': 1}", " x")
