"""Tasks with the `formats` of lm-evaluation-harness 0.5; tests/real/jinja compares random ones with the harness."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress.lm_eval import requests
from promptpress_harness.lm_eval.fewshot_sampling import Groups, draw, draw_once

pytest.importorskip("jinja2")

DOCS = pa.table({"q": ["Is ice cold?", "2+2?"], "options": [["yes", "no"], ["3", "4", "5"]], "gold": [0, 1]})
SHOTS = pa.table({"q": ["Wet?"], "options": [["so", "hm"]], "gold": [1]})
TASK = {
    "task": "t",
    "test_split": "test",
    "fewshot_split": "dev",
    "doc_to_text": "q",
    "doc_to_choice": "options",
    "doc_to_target": "gold",
}


def arguments(task: dict[str, Any], docs: pa.Table = DOCS, **options: Any) -> list[Any]:
    return [row["arguments"] for row in requests({**TASK, **task}, docs, SHOTS, **options).to_pylist()]


def contexts(task: dict[str, Any], **options: Any) -> list[str]:
    return list(dict.fromkeys(request[0] for request in arguments(task, **options)))


def test_mcqa_shows_choices_with_labels_and_scores_the_labels() -> None:
    ice = "Question: Is ice cold?\nA. yes\nB. no\nAnswer:"
    assert arguments({"formats": "mcqa"}) == [
        *[(ice, " A"), (ice, " B")],
        *[("Question: 2+2?\nA. 3\nB. 4\nC. 5\nAnswer:", f" {label}") for label in "ABC"],
    ]


def test_cloze_shows_no_choices_and_scores_them() -> None:
    ice = "Question: Is ice cold?\nAnswer:"
    assert arguments({"formats": "cloze"})[:2] == [(ice, " yes"), (ice, " no")]


def test_generate_names_the_labels_and_begins_the_answer() -> None:
    (first, settings), (second, _) = arguments({"formats": "generate"})
    assert first == (
        "Given the following question and 2 candidate answers (A and B), choose the best answer.\n"
        "Question: Is ice cold?\nA. yes\nB. no\n"
        'Your response should end with "The best answer is [answer_letter]" where the [answer_letter] is one of '
        "A or B.\nThe best answer is"
    )
    assert "3 candidate answers (A, B and C)" in second
    assert "one of A, B or C." in second
    assert settings["until"] == ["\n\n"]


def test_cot_asks_for_steps() -> None:
    (first, _), _ = arguments({"formats": "cot"})
    assert first == (
        "Given the following problem, reason step by step to find the final answer.\nProblem: Is ice cold?\n"
        'Your response should end with "The final answer is [answer]" where [answer] is the response to the problem.'
    )


@pytest.mark.parametrize(
    ("formats", "shot"),
    [
        ("mcqa", "Question: Wet?\nA. so\nB. hm\nAnswer: B\n\n"),
        ("cloze", "Question: Wet?\nAnswer: hm\n\n"),
        ("generate", "A or B.\nThe best answer is B\n\n"),
        ("cot", "response to the problem.\nhm\n\n"),
    ],
)
def test_examples_have_answers(formats: str, shot: str) -> None:
    for context in contexts({"formats": formats}, num_fewshot=1):
        assert shot in context


def test_a_format_overrides_the_settings_of_the_task() -> None:
    task = {"formats": "mcqa", "output_type": "generate_until", "target_delimiter": "->", "fewshot_delimiter": "##"}
    first = arguments(task, num_fewshot=1)[0]
    assert first[1] == " A"
    assert "Answer: B\n\nQuestion" in first[0]


def test_the_variables_of_choices() -> None:
    variables = "{{ _num_choices }}|{{ _choice_labels }}|{{ _choice_list_and }}|{{ _choice_list_or }}"
    task = {"formats": {"type": "mcqa", "instruction": None, "answer_prompt": variables}}
    expected = ["2|['A', 'B']|A and B|A or B", "3|['A', 'B', 'C']|A, B and C|A, B or C"]
    assert [context.rpartition("\n")[2] for context in contexts(task)] == expected


@pytest.mark.parametrize(
    ("labels", "lines"),
    [("letters", "A. yes\nB. no"), (["I", "II", "III"], "I. yes\nII. no"), ("numbers", "1. yes\n2. no")],
)
def test_labels(labels: Any, lines: str) -> None:
    task = {"formats": {"type": "generate", "choice_labels": labels, "instruction": "{{ _choice_labels[-1] }}: "}}
    assert lines in contexts(task)[0]


def test_choices_that_are_no_texts_are_skipped_as_the_harness_skips_them() -> None:
    with pytest.raises(pp.RenderError, match="no document gives a request"):
        arguments({"formats": {"type": "mcqa", "choice_labels": "numbers"}})


def test_a_document_whose_target_is_no_choice_has_no_request() -> None:
    docs = DOCS.set_column(2, "gold", pa.array([2, 2]))
    table = requests({**TASK, "formats": "cloze"}, docs)
    assert table["doc_id"].to_pylist() == [1, 1, 1]
    assert table["idx"].to_pylist() == [0, 1, 2]


def test_a_target_may_be_the_text_of_a_choice() -> None:
    docs = DOCS.set_column(2, "gold", pa.array(["no", "5"]))
    assert len(arguments({"formats": "cloze"}, docs)) == 5
    with pytest.raises(pp.RenderError, match="row 1"):
        arguments({"formats": "cloze"}, docs.set_column(2, "gold", pa.array(["no", "6"])))


def test_delimiters_stand_only_between_texts_without_white_space() -> None:
    docs = pa.table({"q": ["?"], "options": [["a", " b"]], "gold": [0]})
    assert [pair[1] for pair in arguments({"formats": "cloze"}, docs)] == [" a", " b"]
    blank = {"type": "cloze", "answer_prompt": "Answer: "}
    assert [pair[1] for pair in arguments({"formats": blank}, docs)] == ["a", " b"]
    mutual = {"formats": "cloze", "metric_list": [{"metric": "acc_mutual_info"}]}
    assert arguments(mutual, docs)[2:] == [("", "a"), ("", " b")]


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ({"task": "t@cloze"}, " yes"),
        ({"task": "t@cloze", "formats": "mcqa"}, " A"),
        ({"task": "t@cloze", "formats": {"mcqa": {}, "cloze": None}}, " yes"),
        ({"formats": {"mcqa": {}, "cloze": None}}, " A"),
        ({"formats": {"cloze": "mcqa"}}, " A"),
        ({"formats": {"mcqa": {}, "cloze": None}, "_formats_selection": "cloze"}, " yes"),
        ({"task": "t@mcqa", "_formats_selection": "cloze"}, " yes"),
        ({"formats": {"type": "mcqa", "target_delimiter": "\n"}}, "\nA"),
    ],
)
def test_the_selected_format(task: dict[str, Any], first: str) -> None:
    table = requests({**TASK, **task}, DOCS)
    assert table["arguments"][0].as_py()[1] == first
    assert table["metadata"][0].as_py()[0] == task.get("task", "t")


@pytest.mark.parametrize(
    ("task", "code", "message"),
    [
        ({"task": "t@clozze"}, "unknown_name", "did you mean cloze"),
        ({"formats": "mcq"}, "unknown_name", "did you mean mcqa"),
        ({"formats": "nothing"}, "unknown_name", "there are cloze, cot, generate, mcqa"),
        ({"task": "t@cot", "formats": {"mcqa": None}}, "unknown_name", "the task has no format"),
        ({"formats": {"type": "mcqa", "answer_promt": ""}}, "unknown_name", "did you mean answer_prompt"),
        ({"formats": {"type": "mcqa", "answer_prompt": None}}, "wrong_type", "expected a string"),
        ({"formats": {}}, "wrong_type", "settings"),
        ({"formats": {"mcqa": 1}}, "wrong_type", "expected settings"),
        ({"formats": 1}, "wrong_type", "settings"),
        ({"formats": "mcqa", "doc_to_choice": None}, "missing_key", "no doc_to_choice"),
        ({"formats": "mcqa", "doc_to_choice": {"a": "x"}}, "wrong_type", "a field's name or a template"),
        ({"formats": "cot", "doc_to_choice": 5}, "wrong_type", "found 5"),
        ({"formats": {"type": "mcqa", "output_type": "loglikelihood"}}, "unsupported_class", "loglikelihood"),
        ({"formats": "mcqa", "multiple_inputs": True}, "unsupported_class", "one text"),
        ({"formats": "mcqa", "fewshot_config": {"doc_to_target": ["a"]}}, "unsupported_class", "fewshot_config"),
        ({"formats": "cloze", "gen_prefix": "{{q}}", "num_fewshot": 1}, "unsupported_class", "gen_prefix"),
        ({"scorer": "first_token"}, "unknown_key", "scorer"),
    ],
)
def test_what_is_refused(task: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(pp.TemplateError, match=message) as refused:
        arguments(task)
    assert refused.value.code == code


def test_samples_keep_their_numbers() -> None:
    assert requests({**TASK, "formats": "cot"}, DOCS, samples=[1])["doc_id"].to_pylist() == [1]


def test_shots_are_drawn_once() -> None:
    import random

    groups = Groups(pa.array([5, 6, 7, 8]), pa.array([6, 9]))
    drawn = draw_once(random.Random(3), 4, 2, groups, 2).to_pylist()
    whole = draw(random.Random(3), 4, 3, None, 2).to_pylist()
    assert drawn == [*[row for row in whole[:3] if row != 1][:2], *whole[3:5]]
    with pytest.raises(AssertionError, match="other few-shot documents"):
        draw_once(random.Random(3), 4, 2, Groups(pa.array([6, 6, 6, 8]), pa.array([6])), 1)
