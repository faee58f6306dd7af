"""The parts of lm-eval's requests, one by one: columns, documents, messages, and how values are compared."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress.lm_eval import requests
from promptpress_harness.lm_eval.backend.building import copier
from promptpress_harness.lm_eval.backend.tasks import as_table, difference
from promptpress_harness.lm_eval.documents import column_of, document_error, renderer_of
from promptpress_harness.lm_eval.shots import conversation, join, question_and_answer
from promptpress_harness.lm_eval.task import TaskConfig, choose_documents


def test_columns_and_documents() -> None:
    assert column_of(pa.chunked_array([["a", None]])) == ["a", None]
    assert column_of(pa.chunked_array([["a"]])).array.type == pa.large_string()
    error = document_error(IndexError("list index out of range"), "few-shot document", 3)
    assert str(error) == "few-shot document 3: IndexError: list index out of range"
    assert choose_documents(9, samples=[7, 2, 4], rank=1, world_size=2) == ([1], [4])
    kwargs = TaskConfig.of({"test_split": "test", "doc_to_text": "{{q}}", "doc_to_target": "a"}).generation_kwargs
    assert kwargs == {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": ["\n\n"]}


def test_braces_around_what_a_template_writes_stay() -> None:
    rows = pa.table({"q": ["1"], "a": ["x"]})
    text = "{{ '{' }}{{ q }}{{ '}' }} {{ '{{' }}{{ q }}{{ '}' }}{{ a }}{{ '}}' }}"
    task = {"task": "t", "test_split": "test", "doc_to_text": text, "doc_to_target": "{{a}}"}
    for shots, context in ((0, "{1} {{1}x}}"), (1, "{1} {{1}x}} x\n\n{1} {{1}x}}")):
        made = requests(task, rows, fewshot_docs=rows, num_fewshot=shots)
        assert pp.to_pylist(made["arguments"])[0][0] == context


def test_templates_that_are_compiled() -> None:
    render, reason = renderer_of("{{ a }}!")
    assert render is not None
    assert (render(pa.table({"a": [1, 2]})), reason) == (["1!", "2!"], "")
    assert renderer_of("{{ [1, 2]|random }}") == (None, "line 1: `random` is chance")


def test_messages() -> None:
    turns = [("user", "1+1?", " "), ("assistant", "2", "#")]
    assert question_and_answer("1+1?", ["2", "3"], 0, None, (" ", "#")) == turns
    assert [join("a", "b", "-"), join("a ", "b", "-"), join(None, "b", "-")] == ["a-b", "a b", "b"]
    shots = [("user", "a", " "), ("assistant", "b", "#")]
    assert conversation("", shots, [("user", "c", " ")], False) == [{"role": "user", "content": "a b#c"}]


def test_values_are_compared_and_copied() -> None:
    assert difference({"a": [1, 2]}, {"a": [1, True]}) == " (at a[1]: 2, True)"
    assert difference(float("nan"), float("nan")) == ""
    table = as_table([{"a": 1, "b": ["x"]}, {"a": 2, "b": []}])
    assert table is not None
    assert table.column_names == ["a", "b"]
    assert as_table([{"a": 1}, {"a": True}]) is None
    value = {"until": ["Q:"], "temperature": 0.0}
    copy = copier(value)
    assert copy() == value
    assert copy()["until"] is not copy()["until"]
