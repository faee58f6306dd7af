"""The audit of examples: a sample among its own, by row, by content, by content that is alike."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from parts.audit_parts import ICE, READER, findings_by_code, rows, shots, table

SAMPLES = table([f"What is number {n}?" for n in range(8)])
SEED = 5
FIXED = {"type": "FixKRetriever", "fix_id_list": [0, 2, 4]}
SCIEVAL = "SciEval's five-shot configuration: the first five rows of the split under test are the examples of all"


def test_a_fixed_choice_out_of_the_samples():
    findings = findings_by_code(shots(FIXED, SAMPLES), SAMPLES)
    finding = findings["own_example_row"]
    assert (finding["severity"], finding["rows"], finding["first_rows"]) == ("error", 3, [0, 2, 4])
    assert not {"own_example_equal", "own_example_alike", "same_table", "chosen_samples"} & set(findings)


def test_their_answers_in_their_examples_are_no_news():
    samples = table([f"number {n}?" for n in range(8)], [f"the answer is number {n}" for n in range(8)])
    findings = findings_by_code(shots(FIXED, samples), samples)
    assert rows(findings, "own_example_row") == [0, 2, 4]
    assert "answer_in_example" not in findings


def test_a_fixed_choice_from_elsewhere_is_fine():
    train = table([f"What is letter {n}?" for n in range(8)])
    assert not {code for code in findings_by_code(shots(FIXED, train), SAMPLES) if code.startswith("own_example")}
    # Rows that are in both tables, and that nobody chose.
    both = pa.concat_tables([train, SAMPLES])
    assert not {code for code in findings_by_code(shots(FIXED, both), SAMPLES) if code.startswith("own_example")}


def test_equal_content_in_another_table():
    train = pa.concat_tables([table(["x", "y"]), SAMPLES.slice(3, 1), table(["z"] * 5)])
    findings = findings_by_code(shots(FIXED, train), SAMPLES)
    assert rows(findings, "own_example_equal") == [3]
    assert "row 2 of the examples" in findings["own_example_equal"]["message"]


def test_content_that_is_alike():
    train = table(["x", "y", "what is   number 5", "z", "w"], ["-", "-", "Answer 5.", "-", "-"])
    findings = findings_by_code(shots(FIXED, train), SAMPLES)
    assert rows(findings, "own_example_alike") == [5]
    assert findings["own_example_alike"]["severity"] == "warning"
    other = table(["x", "y", "what is number 5", "z", "w"], ["-", "-", "answer 50", "-", "-"])
    assert "own_example_alike" not in findings_by_code(shots(FIXED, other), SAMPLES)


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_layouts_and_other_columns_make_no_difference(layout):
    column = SAMPLES["q"].combine_chunks()
    column = column.dictionary_encode() if pa.types.is_dictionary(layout) else column.cast(layout)
    train = pa.table({"id": range(8), "a": SAMPLES["a"], "q": column})
    assert rows(findings_by_code(shots(FIXED, train), SAMPLES), "own_example_row") == [0, 2, 4]


@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_choice_by_position_over_batches(size):
    renderer = shots({"type": "RandomRetriever", "ice_num": 2, "seed": SEED}, SAMPLES)
    chosen = renderer.retrieve(8).to_pylist()
    rows_with_themselves = [row for row, picked in enumerate(chosen) if row in picked]
    assert rows_with_themselves, "another seed"
    assert rows(findings_by_code(renderer, SAMPLES.to_batches(size)), "own_example_row") == rows_with_themselves


def test_an_index_column():
    chosen = [[1, 2], [1], [0], [-5], [], [6], [5], [0]]
    renderer = shots({"type": "IndexColumn", "column": "shots"}, SAMPLES)
    samples = SAMPLES.append_column("shots", pa.array(chosen, pa.list_(pa.int64())))
    assert rows(findings_by_code(renderer, samples), "own_example_row") == [1, 3]


def test_answers_alone_are_no_content():
    renderer = pp.Renderer(ICE, "{b}: {a}", FIXED, pa.table({"b": ["x"] * 5, "a": ["answer 0"] * 5}), reader=READER)
    assert not {code for code in findings_by_code(renderer, SAMPLES) if code.startswith("own_example")}


def test_the_five_shot_of_scieval():
    hint = "Select the right answer.\nQuestion: {input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer: "
    dataset = {
        "reader_cfg": {"input_columns": ["input", *"ABCD"], "output_column": "target", "train_split": "test"},
        "infer_cfg": {
            "ice_template": {"type": "PromptTemplate", "template": {"round": [
                {"role": "HUMAN", "prompt": hint}, {"role": "BOT", "prompt": "{target}\n"},
            ]}},
            "prompt_template": {"type": "PromptTemplate", "ice_token": "</E>", "template": {
                "begin": "</E>", "round": [{"role": "HUMAN", "prompt": hint}],
            }},
            "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3, 4]},
            "inferencer": {"type": "GenInferencer"},
        },
    }  # fmt: skip
    split = pa.table(
        {"input": [f"question {n}" for n in range(9)], **{x: [f"{x}{n}" for n in range(9)] for x in "ABCD"}}
    )
    split = split.append_column("target", pa.array(["A"] * 9))
    assert rows(findings_by_code(pp.Renderer.from_config(dataset, examples=split), split), "own_example_row") == [
        0,
        1,
        2,
        3,
        4,
    ], SCIEVAL


def test_rows_of_another_table_in_the_same_place_are_only_equal():
    """A split that shares rows with another isn't that other."""
    train = pa.concat_tables([SAMPLES.slice(0, 1), table(["x"]), SAMPLES.slice(6, 1), table(["y", "z"])])
    findings = findings_by_code(shots(FIXED, train), SAMPLES)
    assert "own_example_row" not in findings
    assert rows(findings, "own_example_equal") == [0, 6]
    assert "of row 0 it is row 0 of the examples" in findings["own_example_equal"]["message"]
    for size in (1, 2, 8):
        assert rows(findings_by_code(shots(FIXED, train), SAMPLES.to_batches(size)), "own_example_equal") == [0, 6]
    # The beginning of a table is the table's own, as is what is longer by new rows.
    assert rows(findings_by_code(shots(FIXED, SAMPLES), SAMPLES.slice(0, 3)), "own_example_row") == [0, 2]
