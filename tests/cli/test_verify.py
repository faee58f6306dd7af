"""`promptpress verify`: what is said before a harness comes in, and how outcomes are compared.

What it finds beside the real harnesses is in tests/real/harness/test_verify.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from promptpress import Renderer
from promptpress._errors.errors import render_error, template_error
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.verify import render_conversations, render_rows
from promptpress_workbench.cli.verify_harness import Harness
from promptpress_workbench.cli.verify_outcomes import (
    Outcome,
    Refusal,
    Verdict,
    first_difference,
    judge,
    same_fault,
    worst,
)

DATASET: dict[str, Any] = {
    "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
    "infer_cfg": {
        "prompt_template": {"type": "PromptTemplate", "template": "{question}"},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer"},
    },
}
REFUSED = Refusal(1, KeyError("role"))


def infer(**parts: Any) -> dict[str, Any]:
    return {**DATASET, "infer_cfg": {**DATASET["infer_cfg"], **parts}}


def builder(config: dict[str, Any], examples: pa.Table | None = None) -> Callable[..., Renderer]:
    return partial(Renderer.from_config, config, None, examples=examples, dialect="opencompass")


@pytest.mark.parametrize(
    ("theirs", "ours", "location", "contents"),
    [
        (["abc"], ["abd"], "row 0, character 2", ("'abc'", "'abd'")),
        (["same", "a"], ["same", "ab"], "row 1, character 1", ("'a'", "'ab'")),
        (["x" * 99 + "a"], ["x" * 99 + "b"], "row 0, character 99", (f"…{'x' * 40 + 'a'!r}", f"…{'x' * 40 + 'b'!r}")),
        (["a" + "x" * 99], ["b" + "x" * 99], "row 0, character 0", (f"{'a' + 'x' * 39!r}…", f"{'b' + 'x' * 39!r}…")),
        ([["s", {"prompt": "a"}]], [["s", {"prompt": "b"}]], "row 0, message 1, 'prompt', character 0", ("'a'", "'b'")),
        ([[{"prompt": "a"}]], [[]], "row 0, message 0", ("{'prompt': 'a'}", "nothing")),
        ([[{"role": "u"}]], [[{"role": "u", "name": "n"}]], "row 0, message 0, 'name'", ("nothing", "'n'")),
        ([["a"]], ["a"], "row 0", ("['a']", "'a'")),
        ([["a" * 200]], ["a"], "row 0", ("['" + "a" * 158 + "…", "'a'")),
        ([1], [2], "row 0", ("1", "2")),
    ],
)
def test_the_place_of_a_difference(theirs, ours, location, contents):
    difference = first_difference(*(Outcome([{None: value} for value in side]) for side in (theirs, ours)))
    assert difference is not None
    assert (difference.location, (difference.theirs, difference.ours)) == (location, contents)
    assert difference.equal == theirs.index(next(a for a, b in zip(theirs, ours, strict=True) if a != b))


def test_labels_are_named_and_compared():
    rows = [{"A": "a", "B": "b"}]
    difference = first_difference(Outcome(rows), Outcome([{"A": "a", "B": "x"}]))
    assert (difference.location, difference.equal) == ("row 0, label 'B', character 0", 1)
    difference = first_difference(Outcome(rows), Outcome([{"A": "a"}]))
    assert (difference.location, difference.theirs, difference.ours) == ("row 0, labels", "['A', 'B']", "['A']")
    assert first_difference(Outcome(rows), Outcome([{"B": "b", "A": "a"}])) is None


@pytest.mark.parametrize(
    ("longer", "shorter", "texts"),
    [
        (Outcome([{None: "a"}], REFUSED), Outcome([{None: "a"}, {None: "b"}]), ("KeyError: 'role'", "'b'")),
        (Outcome([{None: "a"}]), Outcome([{None: "a"}, {None: "b"}]), ("no such row", "'b'")),
        (Outcome([{None: "a"}]), Outcome([{None: "a"}], REFUSED), ("no such row", "KeyError: 'role'")),
    ],
)
def test_an_end_on_one_side_is_a_difference(longer, shorter, texts):
    for first, second, wanted in ((longer, shorter, texts), (shorter, longer, texts[::-1])):
        difference = first_difference(first, second)
        assert (difference.location, difference.theirs, difference.ours) == ("row 1", *wanted)


UNKNOWN_ROLE = template_error(
    "unknown_role",
    "prompt_template.template.round[1]",
    "role 'TEACHER' is not in the meta template (it has 'HUMAN') and has no fallback_role; see 'BOT'",
)
UNKNOWN_LABEL = render_error(
    "label_not_in_map", "ice_template.template: an example has the label 'ü', which it lacks; it has '2'", 1
)
OUT_OF_RANGE = template_error(
    "example_index_out_of_range", "retriever.fix_id_list[0]", "example 99 is out of range: there are 4 examples"
)
NO_KEY = template_error(
    "missing_key", "prompt_template.template.round[0]", 'the turn needs the key "role", which is missing'
)
UNSUPPORTED = template_error("unsupported_class", "retriever.type", "'Topk' is not computed here; give its choice")


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        (KeyError("TEACHER"), UNKNOWN_ROLE, True),
        (KeyError("HUMAN"), UNKNOWN_ROLE, False),
        (KeyError("BOT"), UNKNOWN_ROLE, False),
        (KeyError("{'role': 'TEACHER', 'prompt': ''} has no fallback role."), UNKNOWN_ROLE, True),
        (KeyError("{'TEACHER': 'x'} has no fallback_role."), UNKNOWN_ROLE, False),
        (KeyError("role"), UNKNOWN_ROLE, False),
        (KeyError("role"), NO_KEY, True),
        (ValueError("\x1b[31mmessages[0]\x1b[0m missing 'role' key"), NO_KEY, True),
        (KeyError("ü"), UNKNOWN_LABEL, True),
        (KeyError("2"), UNKNOWN_LABEL, False),
        (KeyError("1"), UNKNOWN_LABEL, False),
        (
            KeyError(""),
            template_error("label_not_in_map", "ice_template.template", "the label '', which it lacks"),
            True,
        ),
        (KeyError(3), template_error("label_not_in_map", "ice_template.template", "the label 3, which it lacks"), True),
        (
            KeyError(3),
            template_error("label_not_in_map", "ice_template.template", "the label 31, which it lacks"),
            False,
        ),
        (KeyError((1,)), UNKNOWN_LABEL, False),
        (AssertionError("Index 99 is out of range of 4"), OUT_OF_RANGE, True),
        (IndexError("Invalid key: 4 is out of bounds for size 9"), OUT_OF_RANGE, False),
        (IndexError("list index out of range"), OUT_OF_RANGE, False),
        (TypeError("__init__() missing 1 required positional argument: 'fix_id_list'"), OUT_OF_RANGE, True),
        (
            ValueError("invalid role: usr"),
            template_error("invalid_role", "messages[0].role", "role 'usr' is not one of 'user'"),
            True,
        ),
        (
            ValueError("invalid role: user"),
            template_error("invalid_role", "messages[0].role", "role 'usr' is not one of 'user'"),
            False,
        ),
        (KeyError("Topk is not in the registry. Is `Topk` correct? https://a.b/TEACHER"), UNSUPPORTED, True),
        (KeyError("Topk is not in the registry. Is `Topk` correct? https://a.b/TEACHER"), UNKNOWN_ROLE, False),
        (AssertionError(), NO_KEY, False),
        (RecursionError("x"), RecursionError("x"), True),
    ],
)
def test_two_refusals_agree_if_both_name_the_same_fault(theirs, ours, same):
    assert same_fault(theirs, ours) is same
    first, second = (Outcome([{None: "a"}], Refusal(1, error)) for error in (theirs, ours))
    assert (first_difference(first, second) is None) is same
    first, second = Outcome([], Refusal(None, theirs)), Outcome([], Refusal(0, ours))
    assert (first_difference(first, second) is None) is same


ROW = [{None: "a"}]


@pytest.mark.parametrize(
    ("theirs", "ours", "code", "message"),
    [
        (Outcome(ROW), Outcome(ROW), ExitCode.OK, "1 request of 3 rows (h 1, promptpress "),
        (Outcome(ROW), Outcome([{None: "b"}]), ExitCode.DIFFERENT, "at row 0, character 0 (of 3 rows"),
        (
            Outcome(ROW, Refusal(1, KeyError("ü"))),
            Outcome(ROW, Refusal(1, UNKNOWN_LABEL)),
            ExitCode.OK,
            "both refuse row 1 for the same reason (",
        ),
        (
            Outcome(ROW, Refusal(1, KeyError("x"))),
            Outcome(ROW, Refusal(1, UNKNOWN_LABEL)),
            ExitCode.DIFFERENT,
            "at row 1 (of 3 rows; equal before it: 1 request)",
        ),
        (Outcome(ROW), Outcome([], Refusal(None, UNSUPPORTED)), ExitCode.UNSUPPORTED, "retriever.type: 'Topk' is not "),
        (
            Outcome([], Refusal(0, KeyError("other"))),
            Outcome([], Refusal(None, UNSUPPORTED)),
            ExitCode.UNSUPPORTED,
            "retriever.type: 'Topk' is not ",
        ),
        (
            Outcome([], Refusal(0, KeyError("Topk is in no registry"))),
            Outcome([], Refusal(None, UNSUPPORTED)),
            ExitCode.UNSUPPORTED,
            "retriever.type: ",
        ),
        (
            Outcome([], Refusal(0, KeyError("Topk"))),
            Outcome([], Refusal(None, UNSUPPORTED)),
            ExitCode.OK,
            "both refuse ",
        ),
        (Outcome(ROW), Outcome([], Refusal(None, UNKNOWN_ROLE)), ExitCode.DIFFERENT, "at row 0 ("),
    ],
)
def test_three_outcomes(theirs, ours, code, message):
    verdict = judge(theirs, ours, "h 1", 3)
    assert (verdict.code, verdict.message[: len(message)]) == (code, message)
    if theirs.refusal and ours.refusal and code != ExitCode.OK:  # both are shown
        page = "\n".join([verdict.message, *verdict.details])
        assert str(theirs.refusal) in page
        assert str(ours.refusal.error) in page


def test_the_worst_of_several():
    order = [ExitCode.OK, ExitCode.UNSUPPORTED, ExitCode.CONFIGURATION, ExitCode.DATA, ExitCode.DIFFERENT]
    for number, code in enumerate(order):
        assert worst([Verdict(other, "") for other in order[: number + 1][::-1]]) == code
    assert len({int(code) for code in ExitCode}) == len(ExitCode.__members__) - 2  # a difference and a finding are 1


def test_an_exception_without_words_says_where_it_was_raised():
    def refuse():
        assert not DATASET

    with pytest.raises(AssertionError) as raised:
        refuse()
    bare = AssertionError().with_traceback(raised.value.__traceback__)
    assert str(Refusal(0, bare)).startswith("AssertionError: test_verify.py, line ")
    assert str(Refusal(0, AssertionError())) == "AssertionError"


def test_rows_before_a_refused_one_are_rendered():
    label_map = {"A": "a {question}", "B": "b {question}"}
    dataset = infer(
        ice_template={"type": "PromptTemplate", "template": label_map},
        prompt_template={"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
        retriever={"type": "IndexColumn", "column": "shots", "ice_separator": "", "ice_eos_token": " "},
    )
    train = pa.table({"question": ["q", "r"], "answer": ["A", "none such"]})
    samples = pa.table({"question": ["1", "2", "3"], "answer": ["A"] * 3, "shots": [[0], [], [1]]})
    outcome = render_rows(builder(dataset, train), samples)
    assert outcome.rows == [{None: "a q 1"}, {None: " 2"}]
    assert (outcome.refusal.row, type(outcome.refusal.error).__name__) == (2, "RenderError")


def test_turns_are_named_and_counted():
    rows = [{0: "a", 1: "b"}]
    difference = first_difference(Outcome(rows), Outcome([{0: "a", 1: "x"}]))
    assert (difference.location, difference.equal) == ("row 0, turn 1, character 0", 1)
    difference = first_difference(Outcome(rows), Outcome([{0: "a"}]))
    assert (difference.location, difference.theirs, difference.ours) == ("row 0, turns", "[0, 1]", "[0]")


CHATS = {"reader_cfg": {"input_columns": ["q"], "output_column": "a"}}
TALKS = pa.table({"q": [["Hi.", "And?"], ["One?"]], "a": [["Hello.", "2"], ["1"]]})
REQUESTS = {
    "last": [{None: "Hi.\nHello.\nAnd?"}, {None: "One?"}],
    "every_with_gt": [{0: "Hi.", 1: "Hi.\nHello.\nAnd?"}, {0: "One?"}],
    "every": [{0: "Hi.", 1: "Hi.\n(reply 0)\nAnd?"}, {0: "One?"}],
}


@pytest.mark.parametrize("mode", REQUESTS)
def test_the_requests_of_conversations(mode):
    config = {**CHATS, "infer_cfg": {"inferencer": {"type": "ChatInferencer", "infer_mode": mode}}}
    outcome = render_conversations(builder(config), TALKS, mode)
    assert (outcome.rows, outcome.refusal) == (REQUESTS[mode], None)


def test_a_conversation_that_is_refused_ends_the_rows():
    config = {**CHATS, "infer_cfg": {"inferencer": {"type": "ChatInferencer"}}}
    asks, says = {"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}
    rows = pa.table({"q": [[asks, says], [asks], [asks, says]]})
    outcome = render_conversations(builder(config), rows, "last")
    assert (outcome.rows, outcome.refusal.row) == ([{None: "?"}], 1)
    assert str(outcome.refusal).startswith("RenderError: row 1: ")
    config = {**config, "infer_cfg": {"inferencer": {"type": "ChatInferencer", "infer_mode": "first"}}}
    assert render_conversations(builder(config), rows, "first").refusal.row is None


def test_a_configuration_that_is_refused_has_no_rows():
    outcome = render_rows(builder(infer(retriever={"type": "TopkRetriever"})), pa.table({"question": ["1"]}))
    assert (outcome.rows, outcome.refusal.row) == ([], None)


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (DATASET, ["--examples", "a.jsonl"], (ExitCode.USAGE, "--examples needs --data")),
        (DATASET, ["--dialect", "openicl"], (ExitCode.USAGE, "invalid choice: 'openicl'")),
        ({"prompt_template": "{q}"}, [], (ExitCode.CONFIGURATION, "needs a harness's dataset configuration")),
        (
            infer(inferencer={"type": "AgentInferencer"}),
            [],
            (ExitCode.UNSUPPORTED, "conversations of AgentInferencer"),
        ),
        (infer(inferencer={"type": "ToTInferencer"}), [], (ExitCode.UNSUPPORTED, "conversations of ToTInferencer")),
        (
            infer(inferencer={"type": "GenInferencer", "multiround": True}),
            [],
            (ExitCode.UNSUPPORTED, "rounds of GenInferencer with multiround"),
        ),
    ],
)
def test_what_can_not_be_verified(tmp_path, capsys, value, options, expected):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    code, message = expected
    assert main(["verify", str(path), *options]) == code
    captured = capsys.readouterr()
    assert message in captured.out + captured.err


def test_the_error_asks_for_missing_examples(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Harness, "load", lambda self: self.name)
    monkeypatch.setattr(Harness, "read_config", lambda _, path: read_config(path))
    path = tmp_path / "config.json"
    shots = infer(retriever={"type": "FixKRetriever", "fix_id_list": [0]})
    path.write_text(json.dumps(shots), encoding="utf-8")
    assert main(["verify", str(path), "--data", "a.jsonl"]) == ExitCode.USAGE
    assert "--examples: the retriever takes in-context examples" in capsys.readouterr().err


def test_a_harness_that_is_not_installed_is_named():
    absent = Harness("no-such-harness", "no_such_package.harness", "a.B", "a.C", templates_in_retriever=False)
    with pytest.raises(ConfigError, match="no-such-harness, which isn't installed: pip install no-such-harness"):
        absent.load()


def test_a_harness_that_can_not_be_imported_says_what_it_lacks():
    lacking = Harness("json", "json", "decoder.JSONDecoder", "decoder.JSONDecoder", templates_in_retriever=False)
    with pytest.raises(ConfigError, match="json can't be imported: No module named "):
        lacking.load()
