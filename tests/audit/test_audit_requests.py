"""The audit of requests: empty and equal ones, equal labels, limits, tokens at the begin, who speaks last; roles."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.audit_parts import CHAT, CHATML, READER, findings_by_code, rows, shots, table

PLAIN = pp.Renderer("{q}", reader=READER)
HUMAN, BOT = {"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}


def dialogue(*turns, meta=CHAT, **sections):
    return pp.Renderer({"round": list(turns), **sections}, meta_template=meta, reader=READER)


@UNWARNED
@pytest.mark.parametrize("output", [None, "openai", "messages_json"])
def test_empty_prompts(output):
    samples = table(["x", "", " \n\u3000", ".", None])
    assert rows(findings_by_code(pp.Renderer("{q}", output=output), samples), "empty_prompt") == [1, 2]
    assert "empty_prompt" not in findings_by_code(pp.Renderer("Q:{q}", output=output), samples)
    blank = table(["x", " " * 64])
    assert rows(findings_by_code(pp.Renderer("{q}", output=output), blank), "empty_prompt") == [1]
    talk = [{"role": "system", "content": "{a}"}, {"role": "user", "content": "{q}"}]
    samples = table(["", "x", "", " "], ["", "", "y", "\t"])
    assert rows(findings_by_code(pp.Renderer(talk, output=output), samples), "empty_prompt") == [0, 3]


def test_equal_prompts_of_different_samples():
    samples = table(["x", "y", "x", "z", "y"], ["1", "2", "3", "4", "2"])
    findings = findings_by_code(PLAIN, samples)
    assert (findings["equal_prompts"]["rows"], rows(findings, "equal_prompts")) == (2, [0, 2])
    assert (findings["duplicate_samples"]["severity"], rows(findings, "duplicate_samples")) == ("info", [1, 4])
    fine = findings_by_code(PLAIN, table(["x", "y", "X", "x "]))
    assert not {"equal_prompts", "duplicate_samples"} & set(fine)


@pytest.mark.parametrize("size", [1, 2])
def test_equal_prompts_far_from_each_other(size):
    samples = table(["x", "y", "z", "x"], ["1", "2", "3", "4"])
    assert rows(findings_by_code(PLAIN, samples.to_batches(size)), "equal_prompts") == [0, 3]


def test_equal_labels():
    renderer = pp.Renderer({"A": "{q} {o}", "B": "{q} {p}", "C": "{q} -"}, mode="ppl")
    samples = pa.table({"q": ["x", "y", "z"], "o": ["1", "2", "3"], "p": ["2", "2", "4"]})
    finding = findings_by_code(renderer, samples)["equal_labels"]
    assert (finding["severity"], finding["first_rows"]) == ("error", [1])
    assert "'A' and 'B'" in finding["message"]
    assert "equal_labels" not in findings_by_code(renderer, samples.take([0, 2]))


@UNWARNED
def test_labels_of_a_column():
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER, inferencer={"type": "PPLInferencer"})
    assert rows(findings_by_code(renderer, table(["x", "y"], ["1", "2"])), "equal_labels") == [0, 1]


@UNWARNED
def test_no_labels_and_no_rows():
    renderer = pp.Renderer("{q}", mode="ppl", reader=READER, inferencer={"type": "PPLInferencer"})
    assert "equal_labels" not in findings_by_code(renderer, table([]))
    drawn = shots({"type": "RandomRetriever", "ice_num": 1}, table(["x", "y"]), mode="ppl", labels=[])
    assert not {"equal_prompts", "equal_labels"} & set(findings_by_code(drawn, table(["x", "x"])))


def test_limits_in_bytes():
    findings = findings_by_code(PLAIN, table(["12345", "éé", "1234", "123456"]), limits={"bytes": 4})
    assert (rows(findings, "prompt_too_long"), findings["prompt_too_long"]["rows"]) == ([0, 3], 2)
    assert "the longest has 6" in findings["prompt_too_long"]["message"]
    assert "prompt_too_long" not in findings_by_code(PLAIN, table(["1234"]), limits={"bytes": 4})
    assert "prompt_too_long" not in findings_by_code(PLAIN, table(["1234"]))


@pytest.mark.parametrize("output", [None, "openai"])
def test_limits_in_tokens(output):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    samples = table(["a b c", "a b", "", "a b c d"])
    findings = findings_by_code(pp.Renderer("{q}", output=output), samples, tokenizer=tokenizer, limits={"tokens": 2})
    assert rows(findings, "prompt_too_many_tokens") == [0, 3]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limits": {"byte": 4}}, ValueError, "did you mean 'bytes'?"),
        ({"limits": {"bytes": "4"}}, TypeError, "whole number"),
        ({"limits": {"bytes": -1}}, ValueError, "from 0 on"),
        ({"limits": {"tokens": 4}}, ValueError, "tokenizer="),
        ({"allow": "null_value"}, TypeError, "write ['null_value']"),
        ({"allow": [1]}, TypeError, "found a int"),
        ({"allow": ["nul_value"]}, ValueError, "did you mean 'null_value'?"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error) as raised:
        PLAIN.audit(table(["x"]), **options)
    assert message in str(raised.value)


def test_two_begins_of_a_text():
    meta = {"begin": "<s>", **CHATML}
    assert rows(findings_by_code(dialogue(HUMAN, begin=["<s>"], meta=meta), table(["x", "y"])), "double_bos") == [0, 1]
    assert "double_bos" not in findings_by_code(dialogue(HUMAN, meta=meta), table(["x", "y"]))
    findings = findings_by_code(PLAIN, table(["<s><s>x", "a <s><s>", "<s>x", "<S><S>"]))
    assert (rows(findings, "double_bos"), findings["double_bos"]["end"]) == ([0], 6)


def test_a_begin_that_the_tokenizer_adds():
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1, "<t>": 2}, "[UNK]"))
    tokenizer.add_special_tokens(["<t>"])
    renderer = pp.Renderer("<t>{q}")
    assert "bos_beside_tokenizer" not in findings_by_code(renderer, table(["a"]), tokenizer=tokenizer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("<t> $A", special_tokens=[("<t>", 2)])
    assert rows(findings_by_code(renderer, table(["a", "b"]), tokenizer=tokenizer), "bos_beside_tokenizer") == [0, 1]
    assert "bos_beside_tokenizer" not in findings_by_code(PLAIN, table(["a"]), tokenizer=tokenizer)


@UNWARNED
def test_who_speaks_last():
    turns = [{"role": "user", "content": "{q}"}, {"role": "assistant", "content": "So"}]
    assert rows(findings_by_code(pp.Renderer(turns), table(["x", "y"])), "ends_with_model") == [0, 1]
    assert "ends_with_model" not in findings_by_code(pp.Renderer(turns[:1]), table(["x"]))
    assert "ends_with_model" not in findings_by_code(pp.Renderer([turns[1], turns[0]]), table(["x"]))
    assert "ends_with_model" not in findings_by_code(dialogue(HUMAN, BOT), table(["x"]))


def test_a_role_that_generation_never_reaches():
    findings = findings_by_code(dialogue(HUMAN, BOT, end=[{"role": "CRITIC", "prompt": ""}]), table(["x"]))
    assert findings["unknown_role"]["rows"] is None
    assert "'CRITIC'" in findings["unknown_role"]["message"]
    without_unknown = findings_by_code(
        dialogue(HUMAN, BOT, begin=[{"role": "SYSTEM", "prompt": "Be kind."}]), table(["x"])
    )
    assert "unknown_role" not in without_unknown


def test_a_turn_that_is_lost_in_messages():
    system = {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Be kind."}
    renderer = dialogue(system, HUMAN, BOT)
    assert "Be kind." not in str(renderer.render(table(["x"])))
    assert findings_by_code(renderer, table(["x"]))["lost_turn"]["severity"] == "error"
    other = {**CHAT, "reserved_roles": []}
    renderer = dialogue(system, HUMAN, BOT, meta=other)
    assert "Be kind." in str(renderer.render(table(["x"])))
    assert "lost_turn" not in findings_by_code(renderer, table(["x"]))
    assert "lost_turn" not in findings_by_code(dialogue(HUMAN, BOT, begin=[system]), table(["x"]))


def test_a_string_that_messages_lack():
    renderer = dialogue("Look: ", HUMAN, BOT)
    assert "Look" not in str(renderer.render(table(["x"])))
    assert "'Look: '" in findings_by_code(renderer, table(["x"]))["dropped_string"]["message"]
    assert "dropped_string" not in findings_by_code(dialogue("\n", HUMAN, BOT), table(["x"]))
    assert "dropped_string" not in findings_by_code(dialogue("Look: ", HUMAN, BOT, meta=CHATML), table(["x"]))


def test_text_after_the_turn_of_the_model():
    critic = {"round": [*CHAT["round"], {"role": "CRITIC", "api_role": "CRITIC"}]}
    renderer = dialogue(HUMAN, BOT, {"role": "CRITIC", "prompt": "late"}, meta=critic)
    assert "late" not in str(renderer.render(table(["x"])))
    assert "round[2]" in findings_by_code(renderer, table(["x"]))["generating_role_not_last"]["message"]
    ending = findings_by_code(dialogue(HUMAN, BOT, end=["late"], meta=CHATML), table(["x"]))
    assert "end[0]" in ending["generating_role_not_last"]["message"]
    assert "generating_role_not_last" not in findings_by_code(dialogue(HUMAN, BOT, HUMAN, BOT), table(["x"]))
    scored = pp.Renderer({"round": [HUMAN, BOT], "end": ["late"]}, meta_template=CHATML, mode="ppl", labels=["x", "y"])
    assert "generating_role_not_last" not in findings_by_code(scored, table(["x"]))


@UNWARNED
def test_what_the_configuration_says_by_itself():
    renderer = pp.Renderer("{q} {questoin}", reader={"input_columns": ["q", "more", "gone"], "output_column": "a"})
    findings = findings_by_code(renderer, table(["x"], ["y"], more=["z"], question=["w"]))
    assert (findings["unknown_placeholder"]["severity"], findings["unknown_placeholder"]["rows"]) == ("warning", None)
    assert (findings["unused_column"]["column"], findings["unused_column"]["severity"]) == ("more", "info")
    assert "missing_input_column" in findings
    fine = findings_by_code(
        pp.Renderer("{q} {more}", reader={"input_columns": ["q", "more"]}), table(["x"], more=["z"])
    )
    assert fine == {}


def test_the_table_of_findings():
    samples = table(["x", "see {a}", None, "x"])
    findings = pp.Renderer("{q}", substitution="harness").audit(samples)
    names = ["code", "severity", "rows", "first_rows", "column", "start", "end", "message", "remedy"]
    assert findings.column_names == names
    assert findings["severity"].to_pylist() == sorted(
        findings["severity"].to_pylist(), key=["error", "warning", "info"].index
    )
    left = pp.Renderer("{q}", substitution="harness").audit(samples, allow=["placeholder_filled", "null_value"])
    assert left["code"].to_pylist() == [code for code in findings["code"].to_pylist() if code[0] == "d"]
    assert pp.Renderer("{q}").audit(samples.slice(0, 0)).num_rows == 0


def test_many_rows_are_counted_and_ten_are_named():
    finding = findings_by_code(pp.Renderer("{q}"), table([None] * 100))["null_value"]
    assert (finding["rows"], finding["first_rows"]) == (100, list(range(10)))


def test_a_conversation_of_replies_has_no_audit():
    chat = {"type": "ChatInferencer", "infer_mode": "every"}
    renderer = pp.Renderer(inferencer=chat, reader={"input_columns": ["m"], "output_column": None})
    with pytest.raises(pp.TemplateError, match="every"):
        renderer.audit(pa.table({"m": [[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]]}))
