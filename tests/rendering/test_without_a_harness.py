"""Templates of who has no harness: chat messages, doubled braces, and mistakes that are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

ROWS = pa.table({"question": ["1+1?"], "answer": ["2"]})
ASK = [{"role": "user", "content": "{question}"}]


def prompt(*arguments: Any, **settings: Any) -> Any:
    return pp.Renderer(*arguments, **settings).render(ROWS)["prompt"][0].as_py()


def test_messages_are_those_of_chat_apis() -> None:
    question = {"role": "user", "content": "1+1?"}
    assert prompt("{question}", system="Be brief") == [{"role": "system", "content": "Be brief"}, question]
    assert prompt(ASK) == [question]
    few = prompt("{question}", shots=1, examples=ROWS.append_column("x", [[0]]), output_column="answer", system="S")
    assert [message["role"] for message in few] == ["system", "user", "assistant", "user"]
    # What is said is done, and a harness's words bring the harness's messages.
    assert prompt("{question}", system="S", output="messages")[1] == {"role": "HUMAN", "prompt": "1+1?"}
    for words, output in (
        ({}, "openai"),
        ({"dialect": "opencompass"}, "messages"),
        ({"reader": {"output_column": "answer"}}, "messages"),
        ({"substitution": "harness"}, "messages"),
    ):
        plain = pp.Renderer(ASK, **words)
        assert plain.fingerprint() == pp.Renderer(ASK, **words, output=output).fingerprint()
    typed = {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{question}", "name": "A"}]}
    assert prompt(typed) == [{"role": "user", "content": "1+1?", "name": "A"}]


@pytest.mark.parametrize(
    ("template", "expected", "required"),
    [
        ("{{question}}: {question}", "{question}: 1+1?", ["question"]),
        ("{{{question}}}", "{1+1?}", ["question"]),
        ("{{{{question}}}}|{question}", "{{question}}|1+1?", ["question"]),
        ('{"q": {question}}', '{"q": 1+1?}', ["question"]),
        ("{{question}", "{1+1?", ["question"]),
        ("{{x}} {{question {question}", "{{x}} {{question 1+1?", ["question"]),
        (r"\boxed{{answer}} {question}", r"\boxed{answer} 1+1?", ["answer", "question"]),
    ],
)
@UNWARNED
def test_doubled_braces_stand_for_braces(template: str, expected: str, required: list[str]) -> None:
    single_pass = {"dialect": "opencompass", "substitution": "single_pass"}
    for words, text in (({}, template), ({"output_column": "answer"}, template + "{answer}"), (single_pass, template)):
        renderer = pp.Renderer(text, unknown="keep", **words)
        (row,) = renderer.render(ROWS, spans=True).to_pylist()
        assert row["prompt"] == expected
        masked = [words["output_column"]] if "output_column" in words else []
        assert [name for name in renderer.required_columns if name != "x"] == [n for n in required if n not in masked]
        assert renderer.render(ROWS.select(required))["prompt"][0].as_py() == expected
        explained = renderer.explain(ROWS, 0).to_pylist()
        assert [(span["start"], span["end"], span["source"]) for span in explained] == [
            (span["start"], span["end"], span["source"]) for span in row["spans"]
        ] or "output_column" in words
        assert [row["prompt"].encode()[s["start"] : s["end"]] for s in explained if s["source"] == "field"] == [b"1+1?"]
        assert renderer.divergence(ROWS).num_rows == 0
        assert pickle.loads(pickle.dumps(renderer)).render(ROWS)["prompt"][0].as_py() == expected


def test_doubled_braces_stay_with_a_harness() -> None:
    assert prompt("{{question}}", dialect="opencompass") == "{1+1?}"
    assert prompt({"type": "PromptTemplate", "template": "{{question}}"}) == "{1+1?}"


def test_an_answer_in_doubled_braces_may_stand_in_a_chat() -> None:
    (message,) = prompt(r"{question} \boxed{{answer}}", output_column="answer", output="openai")
    assert message["content"] == r"1+1? \boxed{answer}"
    first = prompt(r"{question} \boxed{{answer}}", system="S", output_column="answer")[1]
    assert first["content"] == r"1+1? \boxed{answer}"
    with pytest.raises(pp.TemplateError, match="needs a place"):
        pp.Renderer("{question} {{answer}}", shots=1, examples=ROWS, output_column="answer")


REFUSED = {
    "misspelt": ("{questoin}", "unknown_placeholder", "did you mean '{question}'?"),
    "another case": ("{Question}", "unknown_placeholder", "did you mean '{question}'?"),
    "Jinja": ("Q: {{ question }}", "unknown_placeholder", "--jinja"),
    "more Jinja": ("Q: {{ question | trim }} {question}", "unknown_placeholder", "JinjaTemplate"),
    "doubled": ("{{questions}}", "unknown_placeholder", "did you mean '{question}'?"),
    "open": ("Q: {question\nA:", "unclosed_brace", "write '{question}'"),
    "open before another": ("{answer {question}", "unclosed_brace", "write '{answer}'"),
    "empty": ("", "empty_template", "such as '{question}'"),
    "blank": (" \n", "empty_template", "such as '{question}'"),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "render": lambda renderer: renderer.render(ROWS),
    "in an order": lambda renderer: renderer.render(ROWS, order="prefix"),
    "stream": lambda renderer: renderer.stream(ROWS).read_all(),
    "call": lambda renderer: renderer(ROWS),
    "batch": lambda renderer: renderer(ROWS.to_batches()[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_means_is_refused(name: str) -> None:
    template, code, remedy = REFUSED[name]
    renderer = pp.Renderer(template)
    for call in CALLS.values():
        with pytest.raises(pp.TemplateError) as error:
            call(renderer)
        assert (error.value.code, error.value.path) == (code, "prompt_template")
        assert remedy in error.value.message
        assert 'unknown="keep"' in error.value.message
    (note,) = [note for note in renderer.notes(ROWS).to_pylist() if note["severity"] == "error"]
    assert note["code"] == code


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_warnings_with_keep_and_with_a_harness(name: str) -> None:
    template, code, _ = REFUSED[name]
    renderer = pp.Renderer(template, unknown="keep")
    with pytest.warns(pp.PromptWarning):
        renderer.render(ROWS)
    assert {note["severity"] for note in renderer.notes(ROWS).to_pylist()} <= {"warning", "info"}
    of_harness = pp.Renderer(template, dialect="opencompass")
    assert {note["severity"] for note in of_harness.notes(ROWS).to_pylist()} <= {"warning", "info"}
    with pytest.raises(pp.TemplateError) as error:
        pp.Renderer(template, dialect="opencompass", substitution="single_pass", unknown="refuse").render(ROWS)
    assert error.value.code == code
    assert pp.Renderer(template).fingerprint() == renderer.fingerprint()


@pytest.mark.parametrize(
    "template",
    [
        "{question} {answer: {x}}",  # a key
        "{question} {answers_of_others",  # another word
        r"{question} \frac{question}{2}",
        "{question} {x} {context}",
        "{question} {{answer}}",
    ],
)
@UNWARNED
def test_braces_without_a_mistake_are_rendered(template: str) -> None:
    pp.Renderer(template).render(ROWS)


def test_an_empty_list_of_contents_and_an_empty_turn_are_refused() -> None:
    with pytest.raises(pp.TemplateError, match="it is empty"):
        prompt([{"role": "user", "content": ""}])
    with pytest.raises(pp.TemplateError, match="it is empty"):
        prompt("", system="Be brief")
    with pytest.warns(pp.PromptWarning):
        assert prompt("", system="Be brief", unknown="keep")[0]["content"] == "Be brief"


def test_a_placeholder_right_after_a_command_of_latex_is_noted() -> None:
    renderer = pp.Renderer(r"{question} \boxed{answer} \frac{{answer}}{2} \text{{{answer}}}")
    (note,) = renderer.notes(ROWS).to_pylist()
    assert (note["code"], note["severity"]) == ("latex_placeholder", "warning")
    assert r"\boxed{{answer}}" in note["remedy"]
    with pytest.warns(pp.PromptWarning, match="has no braces left"):
        assert renderer.render(ROWS)["prompt"][0].as_py() == r"1+1? \boxed2 \frac{answer}{2} \text{2}"
    assert pp.Renderer(r"{question} \boxed{answer}", dialect="opencompass").notes(ROWS).num_rows == 0


@UNWARNED
def test_who_looks_sees_what_is_refused() -> None:
    renderer = pp.Renderer("{questoin} {question}")
    assert "{questoin} 1+1?" in str(renderer.preview(ROWS))
    assert renderer.explain(ROWS, 0).num_rows == 2
    assert pp.stats(renderer, ROWS).requests == 1
    findings = renderer.audit(ROWS).to_pylist()
    assert ("unknown_placeholder", "error") in [(finding["code"], finding["severity"]) for finding in findings]
    assert len(pp.diff(renderer, pp.Renderer("{question}"), ROWS).rows) == 1


def test_doubled_braces_alone_give_a_warning_of_no_column() -> None:
    with pytest.warns(pp.PromptWarning, match="no column stands in it"):
        assert prompt("Q: {{question}}") == "Q: {question}"
