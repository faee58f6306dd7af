"""The audit of answers: the gold text in a prompt, by which piece, and where that is by design."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.audit_parts import READER, findings_by_code, rows, shots, table

AUTHOR = "William Shakespeare"
PLAIN = pp.Renderer("Q: {q}\nA: {a}", reader=READER)


@UNWARNED
def test_the_placeholder_of_the_answer():
    raw = pp.Renderer([{"role": "user", "content": "{q} ({a})"}], reader=READER)
    findings = findings_by_code(raw, table(["1+1=?", "2+2=?"], ["2", "4"]))
    finding = findings["answer_in_prompt"]
    assert (finding["severity"], finding["rows"], finding["start"], finding["end"]) == ("error", 2, 7, 8)
    assert "unmasked_output_column" not in findings  # which says the same
    assert "answer_in_prompt" not in findings_by_code(PLAIN, table(["1+1=?", "2+2=?"], ["2", "4"]))


@UNWARNED
@pytest.mark.parametrize("size", [1, 3])
def test_empty_answers_are_in_no_prompt(size):
    raw = pp.Renderer([{"role": "user", "content": "{q} ({a})"}], reader=READER)
    samples = table(["1", "2", "3"], ["", "b", None])
    assert rows(findings_by_code(raw, samples.to_batches(size)), "answer_in_prompt") == [1]


@UNWARNED
def test_a_value_that_asks_for_the_answer():
    raw = pp.Renderer([{"role": "user", "content": "{q}"}], reader=READER)
    findings = findings_by_code(raw, table(["1+1=?", "is it {a}?"], ["2", "4"]))
    assert rows(findings, "answer_in_prompt") == [1]
    assert "'q'" in findings["answer_in_prompt"]["message"]
    # Masked, the placeholder gets nothing.
    assert "answer_in_prompt" not in findings_by_code(PLAIN, table(["1+1=?", "is it {a}?"], ["2", "4"]))


@UNWARNED
@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_template_of_examples_doesnt_show_the_answer_of_the_sample(size):
    renderer = pp.Renderer(
        {"type": "RawPromptTemplate", "messages": ["</E>", {"role": "user", "content": "{q}"}], "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": "{q} {a}"},
        {"type": "FixKRetriever", "fix_id_list": [0]},
        table(["so", "not"], ["x", "y"]),
        READER,
    )
    samples = table(["is it {a}?", "why", "who", "is it {a}?", "when"], ["1st", "2nd", "3rd", "4th", "5th"])
    assert rows(findings_by_code(renderer, samples.to_batches(size)), "answer_in_prompt") == [0, 3]


def test_an_answer_in_a_question():
    samples = table(
        [f"Did {AUTHOR} write it?", "Who?", "Why?", "When?"], [AUTHOR, AUTHOR, "as it was asked", "in the summer"]
    )
    finding = findings_by_code(PLAIN, samples)["answer_in_value"]
    assert (finding["severity"], finding["first_rows"], finding["column"]) == ("warning", [0], "q")
    assert (finding["start"], finding["end"]) == (4, 23)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("A or B or yes", "A"),
        ("It costs 4,000,000,000 dollars", "4,000,000,000"),
        (f"{AUTHOR}s", AUTHOR),  # no whole word
        (r"Show that \boxed{1234567}.", r"\boxed{1234567}"),
        ("what is it?", None),
    ],
)
def test_what_stands_in_questions_by_chance(question, answer):
    samples = table([question, "x", "y", "z"], [answer, "another one", "still others", "and one more"])
    findings = findings_by_code(PLAIN, samples)
    assert not {"answer_in_prompt", "answer_in_value"} & set(findings)


def test_options_have_the_answer_by_design():
    renderer = pp.Renderer("{q} {o} {p}", reader=READER)
    answers = ["the first answer", "the second answer", "the third answer"]
    samples = table(
        ["x", "y", "z"], answers, o=["the first answer", "no", "no"], p=[["a"], ["the second answer"], ["b"]]
    )
    findings = findings_by_code(renderer, samples)
    assert findings["answer_by_design"]["severity"] == "info"
    assert "answer_in_value" not in findings


def test_passages_have_the_answer_by_design():
    renderer = pp.Renderer("{p} {q}", reader=READER)
    answers = [f"answer number {n} of all" for n in range(4)]
    samples = table(["x"] * 4, answers, p=[f"It is {answer}." for answer in answers[:3]] + ["It isn't here."])
    findings = findings_by_code(renderer, samples)
    assert rows(findings, "answer_by_design") == [0, 1, 2]
    assert "answer_in_value" not in findings


def test_names_of_classes_are_no_answers():
    answers = ["Science and Technology", "Business News"] * 30
    questions = [f"text {n}" for n in range(59)] + ["About Business News today"]
    findings = findings_by_code(PLAIN, table(questions, answers))
    assert "answer_in_value" not in findings
    assert rows(findings, "answer_by_design") == [59]


def test_an_answer_that_the_template_lists():
    renderer = pp.Renderer("Say 'entirely true' or 'entirely false'. {q}", reader=READER)
    findings = findings_by_code(renderer, table(["x", "y"], ["entirely true", "entirely false"]))
    assert rows(findings, "answer_by_design") == [0, 1]


def test_an_answer_in_an_example():
    examples = table(["Who wrote Hamlet?", "z"], [AUTHOR, "no"])
    renderer = shots({"type": "FixKRetriever", "fix_id_list": [1, 0]}, examples)
    finding = findings_by_code(renderer, table(["Who wrote Macbeth?", "Who?"], [AUTHOR, "somebody else"]))[
        "answer_in_example"
    ]
    assert (finding["severity"], finding["first_rows"]) == ("info", [0])
    assert "example 1, column 'a', of row 0" in finding["message"]
    other = table(["Who wrote Macbeth?", "Who?"], ["W. Shakespeare", "nobody"])
    assert "answer_in_example" not in findings_by_code(renderer, other)


def test_nothing_is_looked_for_where_answers_belong():
    scored = pp.Renderer({"A": "{q} {a} A", "B": "{q} {a} B"}, mode="ppl", reader=READER)
    findings = findings_by_code(scored, table([AUTHOR, "x"], [AUTHOR, "y"]))
    assert not {code for code in findings if code.startswith("answer")}
    turns = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": {"round": [
            {"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"},
        ]}},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        reader={"input_columns": ["question"], "output_column": "answer"},
        dialect="aisbench",
    )  # fmt: skip
    talk = pa.table({"question": [["one", "two"]], "answer": [["a long answer", "another answer"]]})
    assert not {code for code in findings_by_code(turns, talk) if code.startswith("answer")}


@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: [text]])
def test_a_question_that_equals_its_answer_is_no_option(wrap):
    questions = [wrap(f"Say the words of number {n}, please") for n in range(8)]
    answers = [f"the words of letter {letter}" for letter in "abcdefgh"]
    questions[5] = wrap(answers[5])
    findings = findings_by_code(pp.Renderer("{q}", reader=READER), table(questions, answers))
    assert rows(findings, "answer_in_value") == [5]
    assert "answer_by_design" not in findings
