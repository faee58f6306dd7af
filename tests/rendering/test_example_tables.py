"""Tables of examples: labels of any type, invalid text, and that they stay as they were."""

from __future__ import annotations

import subprocess
import sys

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import PROMPT, READER, SAMPLES
from models.plain_model import render as render_plain
from test_layouts import TRAIN


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


def test_the_examples_given_stay_as_they_were() -> None:
    assert TRAIN[0] == {"q": "0 + 0?", "hint": "{a}", "a": "0"}
    assert render_plain({"prompt_template": "{q}"}, [{"q": "x"}], []) == ["x"]


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.large_string()])
@pytest.mark.parametrize("chunk", [3, 100])
def test_chunks_of_examples_may_have_different_dictionaries(chunk: int, kind: pa.DataType) -> None:
    """Two dictionaries of 100 values have no room beside each other under keys of 8 bits."""
    values = pa.array(range(2 * chunk)).cast(kind)
    chunks = [pa.DictionaryArray.from_arrays(pa.array(range(chunk), pa.int8()), values[n:][:chunk]) for n in (0, chunk)]
    questions = pa.chunked_array(chunks)
    ice = {"type": "PromptTemplate", "template": "{q}={a} "}
    retriever = {"type": "FixKRetriever", "fix_id_list": [0, chunk - 1, chunk, 2 * chunk - 1]}

    def prompts(questions: pa.ChunkedArray) -> list[str]:
        examples = pa.table({"q": questions, "a": ["A"] * len(questions)})
        return pp.Renderer(PROMPT, ice, retriever, examples, READER).render(SAMPLES)["prompt"].to_pylist()

    assert prompts(questions) == prompts(pa.chunked_array([values]))
