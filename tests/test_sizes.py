"""Nothing at all, very much of it, and names and values of unusual size."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from plain_model import render as render_plain

NAMES = [
    "two words", " ", "", "题目", "é", "😀", "it's", 'say "so"', "a/b\\c", "x.y", "tab\t", "two\nlines", "q!r",
    "0", "None",
]  # fmt: skip
BRACES = ["{q", "q}", "{q}", "{", "}", "{}", "}{"]


def prompts(table: Any) -> list[Any]:
    return table["prompt"].to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_column_names(name: str) -> None:
    samples = pa.table({name: ["value", None], "other": ["{" + name + "}", "x"]})
    template = "<{" + name + "}|{{" + name + "}}|{other}>"
    want = render_plain({"prompt_template": template}, samples.to_pylist(), [])
    renderer = pp.Renderer(template)
    assert prompts(renderer.render(samples)) == want
    assert prompts(pp.Renderer(template).render(samples.select(["other", name]))) == render_plain(
        {"prompt_template": template}, samples.select(["other", name]).to_pylist(), []
    )
    assert prompts(renderer(samples)) == want
    assert prompts(renderer.stream(samples.to_batches(max_chunksize=1)).read_all()) == want
    assert name in renderer.required_columns
    assert column_texts(renderer, samples, name) == {"value"}
    masked = {"prompt_template": template, "reader": {"output_column": name}}
    # an empty output column is none
    assert prompts(pp.Renderer(**masked).render(samples)) == render_plain(masked, samples.to_pylist(), [])


def column_texts(renderer: pp.Renderer, samples: pa.Table, name: str) -> set[str]:
    text = prompts(renderer.render(samples))[0].encode()
    spans = renderer.explain(samples, 0).to_pylist()
    return {text[span["start"] : span["end"]].decode() for span in spans if span["column"] == name}


@pytest.mark.parametrize("name", BRACES)
def test_column_names_with_braces(name: str) -> None:
    samples = pa.table({"q": ["Q", "{q}"], name: ["value", "{q"], "other": ["{" + name + "}", "}"]})
    for template in ("<{" + name + "}>", "{{q}}", "{q}}{", "{{q}{other}", "{other}"):
        config = {"prompt_template": template}
        for columns in (["q", name, "other"], [name, "other", "q"], ["other", name, "q"]):
            table = samples.select(columns)
            assert prompts(pp.Renderer(**config).render(table)) == render_plain(config, table.to_pylist(), [])


def test_a_nul_in_a_name_is_refused_and_one_in_a_value_is_not() -> None:
    with pytest.raises(pp.RenderError, match="NUL"):
        pp.Renderer("{q}").render(pa.table({"q\0": ["x"]}))
    assert prompts(pp.Renderer("\0{q}").render(pa.table({"q": ["a\0b"]}))) == ["\0a\0b"]


@pytest.mark.parametrize(
    "data_type", [pa.string(), pa.int64(), pa.null(), pa.list_(pa.string()), pa.timestamp("us", "UTC")]
)
def test_no_rows_and_nulls_only(data_type: pa.DataType) -> None:
    for arguments in (
        {},
        {"mode": "ppl", "labels": ["A", "B"]},
        {"output": "messages_json"},
        {"strings": "string_view"},
    ):
        renderer = pp.Renderer("{q}|{{q}}", **arguments)
        times = 2 if "mode" in arguments else 1
        for rows in (0, 1, 70_000):
            samples = pa.table({"q": pa.nulls(rows, data_type)})
            table = renderer.render(samples, keep=["q"])
            assert table.schema == renderer.output_schema(samples.schema, keep=["q"])
            assert table.num_rows == rows * times
            assert set(prompts(table)) <= {"None|{None}", '"None|{None}"'}
        empty = pa.table({"q": pa.nulls(0, data_type)})
        assert renderer.stream(empty).read_all().schema == renderer.output_schema(empty.schema)
        assert renderer.divergence(empty).num_rows == 0
        with pytest.raises(pp.RenderError, match="row 0"):
            renderer.explain(empty, 0)


def test_rows_without_columns() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert prompts(pp.Renderer("all the same {q}").render(batch)) == ["all the same {q}"] * 3
    assert pp.Renderer("x")(batch).num_rows == 3
    assert pp.Renderer("x", mode="ppl", labels=["A", "B"])(batch).num_rows == 6


def test_very_many_columns() -> None:
    names = [f"column {n}" for n in range(2_000)]
    samples = pa.table({name: [f"{n}", f"{{column {n + 1}}}"] for n, name in enumerate(names)})
    template = "".join("{" + name + "}," for name in reversed(names))
    renderer = pp.Renderer(template)
    first, second = prompts(renderer.render(samples))
    assert first == "".join(f"{n}," for n in reversed(range(2_000)))
    # Every value brings in the column after it, up to the last one's, which nobody has.
    assert second == "{column 2000}," * 2_000
    assert renderer.required_columns == list(reversed(names))
    assert prompts(pp.Renderer(template, substitution="single_pass").render(samples))[1] == "".join(
        f"{{column {n + 1}}}," for n in reversed(range(2_000))
    )
    assert len(renderer(samples).column_names) == 2_001


def test_divergence_of_many_columns() -> None:
    names = [f"column {n}" for n in range(200)]
    samples = pa.table({name: [f"{n}", f"{{column {n + 1}}}"] for n, name in enumerate(names)})
    renderer = pp.Renderer("".join("{" + name + "}," for name in reversed(names)))
    (found,) = renderer.divergence(samples).to_pylist()
    assert found == {"row": 1, "columns": names[:-1]}


def test_a_very_long_template() -> None:
    template = "x" * 3_000_000 + "{q}" * 20_000 + "{" * 100_000 + "中" * 100_000
    samples = pa.table({"q": ["1", "{q", ""], "a": ["2", "3", "4"]})
    assert prompts(pp.Renderer(template).render(samples)) == render_plain(
        {"prompt_template": template}, samples.to_pylist(), []
    )


def test_very_many_turns_and_labels() -> None:
    turns = [{"role": ("HUMAN", "BOT")[n % 2], "prompt": f"{n} {{q}}"} for n in range(3_000)]
    meta = {"round": [{"role": "HUMAN", "begin": "<", "end": ">"}, {"role": "BOT", "begin": "(", "end": ")"}]}
    config = {"prompt_template": {"round": turns}, "meta_template": meta, "output": "text"}
    samples = pa.table({"q": ["1", "{a}"], "a": ["x", "y"]})
    assert prompts(pp.Renderer(**config).render(samples)) == render_plain(config, samples.to_pylist(), [])
    labels = [str(n) for n in range(2_000)]
    table = pp.Renderer("{q}", mode="ppl", labels=labels).render(samples)
    assert table["label"].to_pylist() == labels * 2


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_one_giant_value(strings: Any) -> None:
    giant = "0123456789" * 5_000_000
    samples = pa.table({"q": pa.array(["small", giant, "{"], pa.large_string())})
    table = pp.Renderer("<{q}>", strings=strings).render(samples)
    table.validate(full=True)
    assert prompts(table) == ["<small>", f"<{giant}>", "<{>"]


@pytest.mark.full
def test_one_giant_value_that_is_looked_into() -> None:
    giant = "0123456789" * 30_000_000
    samples = pa.table({"q": pa.array([giant + "{a}"], pa.large_string()), "a": ["x"]})
    assert prompts(pp.Renderer("<{q}>").render(samples)) == [f"<{giant}x>"]


# ---------------------------------------------------------------------------------------------------------------------
# Output beyond 2 GiB. A process of its own gives the memory back; one row's text repeats, so little goes in.

PRELUDE = """
import pyarrow as pa, pyarrow.compute as pc, json
import promptpress as pp
MIB = "0123456789abcdef" * 65536
def samples(rows, text=MIB):
    keys = pa.array([0] * rows, pa.int32())
    return pa.table({"q": pa.DictionaryArray.from_arrays(keys, [text]), "n": list(range(rows))})
def refused(work, *words):
    try:
        work()
    except pp.RenderError as error:
        assert all(word in str(error) for word in words), str(error)
    else:
        raise AssertionError("not refused")
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.full
@pytest.mark.parametrize("strings", ["string", "string_view", "large_string"])
@pytest.mark.parametrize("method", ["render", "stream"])
def test_prompts_beyond_2_gib_begin_a_new_chunk(strings: str, method: str) -> None:
    run(f"""
renderer = pp.Renderer("{{n}}:{{q}}", strings={strings!r})
given = samples(2_100)
table = renderer.render(given, keep=["n"]) if {method!r} == "render" else renderer.stream(given, keep=["n"]).read_all()
table.validate(full=True)
assert table.num_rows == 2_100
at = 0
for batch in table.to_batches():
    for n, prompt in zip(batch["n"].to_pylist(), batch["prompt"]):
        assert n == at and prompt.as_buffer().size == len(str(n)) + 1 + 2**20
        assert prompt.as_buffer().slice(0, 8).to_pybytes() == (str(n) + ":" + MIB)[:8].encode()
        at += 1
assert at == 2_100
assert table["prompt"].num_chunks > 1 or {strings!r} == "large_string"
""")


@pytest.mark.full
def test_a_call_beyond_2_gib_is_refused() -> None:
    run("""
renderer = pp.Renderer("{n}:{q}")
batch = samples(2_100).to_batches()[0]
refused(lambda: renderer(batch), "large_string")
assert pp.Renderer("{n}:{q}", strings="large_string")(batch).num_rows == 2_100
""")


def test_one_prompt_beyond_2_gib_is_refused_before_it_is_written() -> None:
    """No memory for the prompt is taken: its length is known first."""
    run("""
renderer = pp.Renderer("{q}" * 2_100)
refused(lambda: renderer.render(samples(2)), "row 0", "large_string")
refused(lambda: renderer(samples(2).to_batches()[0]), "large_string")
refused(lambda: renderer.stream(samples(2)).read_all(), "row 0", "large_string")
assert renderer.render(samples(2, "x"))["prompt"].to_pylist() == ["x" * 2_100] * 2
""")


@pytest.mark.full
def test_messages_beyond_2_gib_begin_a_new_chunk() -> None:
    run("""
renderer = pp.Renderer([{"role": "user", "content": "{n}:{q}"}])
table = renderer.render(samples(2_100))
table.validate(full=True)
assert table.num_rows == 2_100 and table["prompt"].num_chunks > 1
lengths = [pc.utf8_length(chunk.flatten().field("content")).to_pylist() for chunk in table["prompt"].chunks]
assert [length for chunk in lengths for length in chunk] == [len(str(n)) + 1 + 2**20 for n in range(2_100)]
""")


@pytest.mark.full
@pytest.mark.parametrize("template", ['"{n}:{q}"', '[{"role": "user", "content": "{n}:{q}"}]'])
def test_json_beyond_2_gib_begins_a_new_chunk(template: str) -> None:
    """Escapes make JSON longer than its text: the texts stay below the limit here, the JSON does not."""
    run(f"""
renderer = pp.Renderer({template}, output="messages_json")
table = renderer.render(samples(1_200, '"' * 2**20))
assert table.num_rows == 1_200 and table["prompt"].num_chunks > 1
assert len(json.loads(table["prompt"][1_199].as_py())) in (1, 5 + 2**20)
""")


@pytest.mark.full
def test_messages_of_a_column_beyond_2_gib() -> None:
    """A column that comes in twice, and texts beside it."""
    run("""
talk = pa.array([[{"role": "user", "content": MIB}]] * 1_100)
given = pa.table({"talk": talk, "q": ["1"] * 1_100})
renderer = pp.Renderer([{"expand_column": "talk"}, {"expand_column": "talk"}, {"role": "user", "content": "{q}"}])
table = renderer.render(given)
table.validate(full=True)
assert table.num_rows == 1_100
assert sum(len(chunk.flatten()) for chunk in table["prompt"].chunks) == 3_300
""")


@pytest.mark.full
@pytest.mark.parametrize("kind", ["string", "string_view"])
def test_kept_columns_beyond_2_gib(kind: str) -> None:
    run(f"""
given = pa.table({{"big": pa.array([MIB] * 600, pa.{kind}()), "q": ["1"] * 600}})
renderer = pp.Renderer("{{q}}", mode="ppl", labels=list("ABCD"))
table = renderer.render(given, keep=["big"])
assert table.num_rows == 2_400
assert renderer.stream(given, keep=["big"]).read_next_batch().num_rows > 0
""")


@pytest.mark.full
@pytest.mark.parametrize("what", ["divergence(given).num_rows == 0", "explain(given, 2_099).num_rows > 0"])
def test_samples_beyond_2_gib(what: str) -> None:
    run(f"""
one = pa.array([MIB] * 1_050)
given = pa.table({{"q": pa.chunked_array([one, one]), "a": ["1"] * 2_100}})
assert pp.Renderer("{{q}}{{a}}").{what}
""")


@pytest.mark.full
def test_examples_beyond_2_gib() -> None:
    run("""
one = pa.array([MIB] * 1_050)
examples = pa.table({"q": pa.chunked_array([one, one]), "a": [str(n) for n in range(2_100)]})
renderer = pp.Renderer(
    {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
    {"type": "PromptTemplate", "template": "{a}"},
    {"type": "FixKRetriever", "fix_id_list": [2_099, 0]}, examples, {"output_column": "a"},
)
assert renderer.render(pa.table({"q": ["x"], "a": ["y"]}))["prompt"].to_pylist() == ["2099\\n0\\nx"]
""")


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of memory is read and reset in /proc")
@pytest.mark.parametrize("output", ["messages", "messages_json"])
def test_a_stream_of_images_takes_no_more_than_its_batches(output: str) -> None:
    """Two images of a megabyte a sample. What may be in memory: the batch that is read, and the one that is written."""
    run(f"""
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
entries = {{
    "text": {{"type": "text", "text": "{{question}}"}},
    "image": {{"type": "image_url", "image_url": {{"url": "data:image/png;base64,{{image}}"}}}},
}}
template = {{"round": [{{"role": "HUMAN", "prompt_mm": entries}}]}}
meta = {{"round": [{{"role": "HUMAN", "api_role": "user"}}]}}
renderer = pp.Renderer(
    {{"type": "MMPromptTemplate", "template": template}}, meta_template=meta, dialect="aisbench", output={output!r}
)
end, image = "<AIS_CONTENT_TAG>", "<AIS_IMAGE_START>"
def batches(count):
    for n in range(count):
        rows = pa.array([f"<AIS_TEXT_START>{{row}}" for row in range(n * 16, n * 16 + 16)])
        # made by Arrow, so that nothing but the batch itself is in memory
        yield pa.record_batch({{"content": pc.binary_join_element_wise(rows, image + MIB, image + MIB, "", end)}})
size = next(batches(1)).nbytes
assert size > 32 * 2**20
schema = pa.schema([("content", pa.string())])
def rendered(count):
    rows = 0
    for batch in renderer.stream(pa.RecordBatchReader.from_batches(schema, batches(count))):
        assert batch.nbytes > batch.num_rows * 2**21
        rows += batch.num_rows
        del batch
    return rows
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = peak()
assert rendered(125) == 2_000
assert peak() - before < 3 * size, ((peak() - before) / size)
""")
