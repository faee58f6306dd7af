"""The model of a prompt that is looked at: pieces are the prompt, whatever it is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import part_of
from case_files import FOLDER, Case, case_files, read_cases
from generators.strategies import Case as RandomCase
from generators.strategies import cases as drawn
from hypothesis import given, settings
from marks import UNWARNED
from promptpress_workbench.prompts.file_rows import FileRows
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import RendererSource
from test_against_model import QUICK, rendered_by

pytestmark = UNWARNED

READER = {"input_columns": ["q"], "output_column": "a"}
SAMPLES = pa.table({"q": ["1+1=?", "é😀"], "a": ["2", "gold"]})


def source_of(samples: Any = SAMPLES, **arguments: Any) -> RendererSource:
    return RendererSource(pp.Renderer(**arguments), TableRows(samples))


def strings_in(value: Any) -> list[str]:
    """All strings that a message or a part holds, at any depth."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings_in(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings_in(inner)]
    return [value] if isinstance(value, str) else []


def check_message(message: PromptMessage, item: Any) -> None:
    """Check that a message's pieces are what the request's message says."""
    if isinstance(item, str):
        assert (message.role, message.text, message.parts) == (None, item, ())
        return
    if "role" in item:
        assert message.role == item["role"]
    content = next((item[key] for key in ("prompt", "content", "parts", "prompt_mm") if key in item), "")
    if isinstance(content, (str, type(None))) and "role" in item:
        assert message.text == (content or "")
        assert not message.parts
        return
    parts = content if isinstance(content, list) else [item]
    assert len(message.parts) == len(parts)
    for part_of_view, part in zip(message.parts, parts, strict=True):
        assert part_of_view.kind == part["type"]
        assert part_of_view.text in (strings_in({key: value for key, value in part.items() if key != "type"}) or [""])


def check_prompt(prompt: Prompt, request: Any) -> None:
    """Check that a prompt says what the request says."""
    assert prompt.request == request
    if isinstance(request, str):
        assert prompt.text == request
        assert prompt.messages is None
        assert (prompt.bytes, prompt.characters) == (len(request.encode()), len(request))
        return
    assert prompt.messages is not None
    for message, item in zip(prompt.messages, request, strict=True):
        check_message(message, item)


def parsed(case: Case, value: Any) -> Any:
    return json.loads(value) if case.settings.get("output") == "messages_json" else value


@pytest.mark.parametrize("path", case_files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_pieces_of_every_case_are_its_prompts(path: Path) -> None:
    for case in read_cases(path.read_text(encoding="utf-8")):
        if "error" in case.expected or case.replies is not None:
            continue
        renderer = pp.Renderer(**case.settings, unknown="keep", examples=case.examples)
        source = RendererSource(renderer, TableRows(case.samples))
        table = renderer.render(case.samples)
        wanted = pp.to_pylist(table["prompt"])
        prompts = [prompt for row in range(len(case.samples)) for prompt in source.prompts(row)]
        for prompt, request in zip(prompts, wanted, strict=True):
            check_prompt(prompt, parsed(case, request))
        batches = list(source.requests())
        assert [value for batch in batches for value in pp.to_pylist(batch.prompts)] == wanted
        assert [number for batch in batches for number in batch.samples.to_pylist()] == [p.sample for p in prompts]
        for name, values in (("label", [p.label for p in prompts]), ("turn", [p.turn for p in prompts])):
            if name in table.column_names:
                assert table[name].to_pylist() == values
        check_rendered(case, table, prompts)


def check_rendered(case: Case, table: pa.Table, prompts: list[Prompt]) -> None:
    """Check that what was rendered says the same, without origins."""
    source = RenderedSource(TableRows(table))
    seen = [prompt for batch in source.requests() for prompt in source._prompts(batch)]
    for prompt, request in zip(seen, pp.to_pylist(table["prompt"]), strict=True):
        if case.settings.get("output") != "messages_json" or prompt.messages is not None:
            check_prompt(prompt, parsed(case, request))
        assert not any(piece.source for piece in prompt.all_pieces())
    labels = [prompt.label for prompt in prompts if prompt.sample == 0]
    if "turn" not in table.column_names and len(set(labels)) == len(labels):
        assert [prompt.sample for prompt in seen] == [prompt.sample for prompt in prompts]


@settings(QUICK, max_examples=part_of(150))
@given(drawn())
def test_pieces_of_random_prompts(case: RandomCase) -> None:
    renderer, table = rendered_by(case)
    source = RendererSource(renderer, TableRows(case.samples))
    prompts = [prompt for row in range(case.samples.num_rows) for prompt in source.prompts(row)]
    for prompt, request in zip(prompts, pp.to_pylist(table["prompt"]), strict=True):
        wanted = json.loads(request) if case.config.get("output") == "messages_json" else request  # type: ignore[arg-type]
        check_prompt(prompt, wanted)
        assert all(piece.source is not None for piece in prompt.all_pieces())


# ---------------------------------------------------------------------------------------------------------------------
# Origins.


def test_a_text_knows_its_origins() -> None:
    (prompt,) = source_of(prompt_template="Q: {q}\nA: {a}", reader=READER).prompts(1)
    assert prompt.pieces == (
        Piece("Q: ", "prompt_template"),
        Piece("é😀", "field", "q"),
        Piece("\nA: ", "prompt_template"),
        Piece("", "masked", "a"),
    )
    assert [piece.masked for piece in prompt.pieces] == [False, False, False, True]


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("{a}{q}", ["", "é😀"]),
        ("{q}{a}{a}{q}", ["é😀", "", "é😀"]),
        ("{a}", [""]),
        ("x{a}y", ["x", "", "y"]),
        ("x{a}{a}y", ["x", "", "y"]),
    ],
)
def test_answers_masked_by_nothing_are_seen(template: str, wanted: list[str]) -> None:
    (prompt,) = source_of(prompt_template=template, reader=READER).prompts(1)
    assert [piece.text for piece in prompt.pieces] == wanted
    assert [piece.masked for piece in prompt.pieces] == [text == "" for text in wanted]


def test_a_masked_text_is_a_piece() -> None:
    masked = {"gen_field_replace_token": "[?]"}
    (prompt,) = source_of(prompt_template="{q}={a}", reader=READER, inferencer=masked).prompts(0)
    assert prompt.pieces[-1] == Piece("[?]", "masked", "a")


def test_a_mark_that_changes_the_prompt_isnt_believed() -> None:
    # What completes a placeholder with nothing between doesn't with a mark.
    (prompt,) = source_of(prompt_template="{{a}q}", reader={"input_columns": ["q"], "output_column": "a"}).prompts(0)
    assert prompt.text == pp.Renderer("{{a}q}", reader=READER).render(SAMPLES)["prompt"][0].as_py()


def test_masked_messages() -> None:
    turns = [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "It is {a}."}]
    (prompt,) = source_of(prompt_template={"round": turns}, reader=READER, output="prompt_list").prompts(0)
    assert prompt.messages is not None
    assert prompt.messages[1] == PromptMessage(
        "BOT",
        (Piece("It is ", "prompt_template", None, None, "BOT"), Piece("", "masked", "a", None, "BOT"),
         Piece(".", "prompt_template", None, None, "BOT")),
        key="prompt",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# One row without the others.


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 2}, {"type": "SlidingWindowRetriever", "k": 2}]
)
def test_a_row_alone_has_the_examples_of_its_position(retriever: dict[str, Any]) -> None:
    samples = pa.table({"q": [f"q{n}" for n in range(40)], "a": [f"a{n}" for n in range(40)]})
    arguments: dict[str, Any] = {
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
        "ice_template": "{q}:{a}",
        "retriever": {**retriever, "ice_separator": "--", "ice_eos_token": "!!"},
        "examples": samples,
        "reader": READER,
    }
    source = source_of(samples, **arguments)
    wanted = pp.Renderer(**arguments).render(samples)["prompt"].to_pylist()
    for row in (39, 0, 7, 8, 38):
        (prompt,) = source.prompts(row)
        assert prompt.text == wanted[row]
        assert {piece.example for piece in prompt.pieces} >= {0, None}


def test_labels_of_a_column_are_those_of_all_rows() -> None:
    samples = pa.table({"q": ["x", "y", "z"], "a": ["B", "C", "A"]})
    source = source_of(samples, prompt_template="{q}{a}", mode="ppl", reader=READER)
    assert [(prompt.label, prompt.text) for prompt in source.prompts(1)] == [("A", "yC"), ("B", "yC"), ("C", "yC")]
    assert [prompt.label for prompt in source.prompts(1, label="B")] == ["B"]
    with pytest.raises(pp.RenderError, match="there is no label") as caught:
        source.prompts(1, label="D")
    assert caught.value.row == 1


def test_a_label_is_found_as_explain_finds_it() -> None:
    source = source_of(prompt_template={1: "one {q}", "1": "text"}, mode="ppl", labels=[1, "1"])
    assert [prompt.text for prompt in source.prompts(0, label="1")] == ["text"]
    assert [prompt.text for prompt in source.prompts(0, label=1)] != ["text"]


def test_turns() -> None:
    samples = pa.table({"q": [["a", "b"], []], "a": [["1", "2"], []]})
    chat = {"type": "ChatInferencer", "infer_mode": "every_with_gt"}
    source = source_of(samples, reader=READER, inferencer=chat)
    assert [prompt.turn for prompt in source.prompts(0)] == [0, 1]
    assert [prompt.turn for prompt in source.prompts(0, turn=1)] == [1]
    with pytest.raises(pp.RenderError, match="turn"):
        source.prompts(0, turn=2)


def test_turns_that_need_replies_are_their_first() -> None:
    samples = pa.table({"q": [["a", "b"], ["c"]], "a": [["1", "2"], ["3"]]})
    source = source_of(samples, reader=READER, inferencer={"type": "ChatInferencer", "infer_mode": "every"})
    assert [prompt.text for prompt in source.prompts(1)] == ["c"]
    assert [batch.samples.to_pylist() for batch in source.requests()] == [[0, 1]]


def test_errors_name_the_row_of_all() -> None:
    samples = pa.table({"q": ["a", "b"], "shots": [[0], [9]]})
    retriever = {"type": "IndexColumn", "column": "shots"}
    template = {"template": "</E>{q}", "ice_token": "</E>"}
    source = source_of(samples, prompt_template=template, ice_template="{q}", retriever=retriever, examples=SAMPLES)
    (prompt,) = source.prompts(1)
    assert (prompt.sample, prompt.request) == (1, None)
    assert dict(prompt.values) == {"q": "b", "shots": [9]}
    with pytest.raises(pp.RenderError, match="no such row"):
        source.prompts(2)


# ---------------------------------------------------------------------------------------------------------------------
# Files.


@pytest.fixture
def numbers() -> pa.Table:
    return pa.table({"n": pa.array(range(20_000), pa.int64()), "q": [f"row {n}" for n in range(20_000)]})


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_a_row_of_files(tmp_path: Path, kind: str, numbers: pa.Table) -> None:
    paths = []
    for position, part in enumerate((numbers.slice(0, 11_000), numbers.slice(11_000, 0), numbers.slice(11_000))):
        paths.append(str(tmp_path / f"{position}.{kind}"))
        if kind == "parquet":
            pq.write_table(part, paths[-1], row_group_size=3_000)
        elif kind == "arrow":
            with pa.ipc.new_file(paths[-1], part.schema) as writer:
                writer.write_table(part, max_chunksize=3_000)
        else:
            Path(paths[-1]).write_text("".join(json.dumps(row) + "\n" for row in part.to_pylist()))
    if kind == "jsonl":
        del paths[1]  # no lines, no columns
    rows = FileRows(paths)
    for number in (0, 17, 12_345, 12_346, 19_999, 3, 10_999, 11_000, 2_999, 3_000):
        assert rows.row(number).to_pylist() == [{"n": number, "q": f"row {number}"}]
    for number in (20_000, -1):
        with pytest.raises(pp.RenderError, match="no such row"):
            rows.row(number)
    assert rows.num_rows == 20_000
    assert sum(batch.num_rows for batch in rows.batches()) == 20_000


def test_a_row_of_parquet_leaves_other_row_groups_unread(tmp_path: Path, numbers: pa.Table) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(numbers, path, row_group_size=10_000, compression="none", write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[200:40_000] = b"\0" * 39_800  # the first row group is damaged
    path.write_bytes(data)
    assert FileRows([str(path)]).row(15_000)["n"].to_pylist() == [15_000]


# ---------------------------------------------------------------------------------------------------------------------
# What was rendered before.


def rendered(**columns: Any) -> RenderedSource:
    return RenderedSource(TableRows(pa.table(columns)))


def test_a_kept_column_called_label_is_no_label() -> None:
    source = rendered(label=["A", "B", "A", "A"], prompt=["1", "2", "3", "4"])
    assert source.num_samples == 4
    assert [prompt.text for prompt in source.prompts(2)] == ["3"]
    assert source.prompts(2)[0].label is None


def test_turns_ascend_within_a_sample() -> None:
    source = rendered(turn=[0, 1, 0, 0, 1, 2], prompt=list("abcdef"))
    assert source.num_samples == 3
    assert [[prompt.text for prompt in source.prompts(row)] for row in range(3)] == [["a", "b"], ["c"], ["d", "e", "f"]]
    assert [prompt.turn for prompt in source.prompts(2, turn=1)] == [1]


def test_a_column_of_sample_numbers_is_believed() -> None:
    source = rendered(sample=[0, 0, 3], turn=[0, 1, 0], prompt=list("abc"))
    assert [len(source.prompts(row)) for row in range(4)] == [2, 0, 0, 1]


def test_messages_as_json_are_messages() -> None:
    source = rendered(prompt=['[{"role": "user", "content": "Hi"}]', "[{]", '[{"a": 1}]'])
    assert [source.prompts(row)[0].messages is not None for row in range(3)] == [True, False, False]


def test_there_has_to_be_a_prompt() -> None:
    with pytest.raises(pp.RenderError, match="no column 'prompt' of prompts; did you mean 'prompts'"):
        rendered(prompts=["a"])


def test_nulls_are_empty() -> None:
    (prompt,) = rendered(prompt=pa.array([None], pa.string())).prompts(0)
    assert (prompt.request, prompt.text, prompt.pieces) == (None, "", ())
