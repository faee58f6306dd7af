"""The command `promptpress check-template`: facts, codes, exit codes, and forms of output."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")

from promptpress import ChatTemplate
from promptpress_workbench.cli import main
from promptpress_workbench.template_check.facts import FINDINGS, Fact, facts_of

CHATML = (
    "{% for m in messages %}{% if m.role in ('system', 'user', 'assistant') %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ALL = "{{ tools }}{{ documents }}{% for m in messages %}{{ m }}{% endfor %}"
REFUSES_SYSTEM = "{{ raise_exception('No.') if messages[0].role == 'system' }}" + CHATML
CALLS_AS_JSON = "{% for m in messages %}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}"
OTHER_PROMPT = CHATML.replace("assistant\n{% endif", "assistant: {% endif")
REFUSED = "raises TemplateError: No."
NO_TEXT = 'can only concatenate list (not "str") to list'
LEFT_OUT = {
    "developer message": "role_unknown_to_template",
    "tools": "tools_left_out",
    "documents": "documents_left_out",
    "call": "tool_call_left_out",
    "tool result": "message_left_out",
    "function result": "role_unknown_to_template",
    "reasoning": "reasoning_left_out",
    "name": None,
    "call id": None,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.jinja").write_text(CHATML, encoding="utf-8")
    return tmp_path


def facts(source: str, **arguments: Any) -> dict[str, Fact]:
    return {fact.fact: fact for fact in facts_of(partial(ChatTemplate, source, **arguments))}


def test_what_is_left_out_has_its_code() -> None:
    of_template = facts(CHATML)
    for name, code in LEFT_OUT.items():
        assert of_template[name].answer.startswith("left out: "), name
        assert of_template[name].code == code
    assert of_template["tool result"].answer == "left out: messages[2].content"
    assert {of_template[name].answer for name in ("system message", "system message later", "empty content")} == {
        "written"
    }
    assert of_template["text in parts"].answer == "written, as Python prints it"


def test_nothing_is_left_out_of_a_template_that_writes_all() -> None:
    codes = {fact.code for fact in facts(ALL).values() if fact.code is not None or "left out" in fact.answer}
    assert codes == {"no_generation_prompt"}


@pytest.mark.parametrize(
    ("source", "name", "answer", "code"),
    [
        (REFUSES_SYSTEM, "system message", REFUSED, "unrenderable_row"),
        (REFUSES_SYSTEM.replace("system", "developer"), "developer message", REFUSED, "role_unknown_to_template"),
        (REFUSES_SYSTEM.replace("== 'system'", "!= 'user'"), "image", "written, as Python prints it", None),
        ("{{ messages[0].content + '' }}", "image", "raises TypeError: " + NO_TEXT, None),
        ("{{ messages[0].content + '' }}", "text in parts", "raises TypeError: " + NO_TEXT, "unrenderable_row"),
        (
            CALLS_AS_JSON,
            "call, arguments as text",
            "left out: messages[0].content, encoded as JSON twice",
            "message_left_out",
        ),
        ("{% for m in messages %}{{ m.content | upper }};{% endfor %}", "system message", "written", None),
        (CHATML, "generation prompt", r"'<|im_start|>assistant\n'", None),
        (CHATML, "turn after the prompt", "depends", None),
        (OTHER_PROMPT, "turn after the prompt", "never", "changing_prefix"),
        (CHATML, "end of turn", "'<|im_end|>'", None),
        (CHATML, "<|im_end|> in a text", "written as it is, so that text can end a turn", None),
        (CHATML.replace("m.content", "m.content | replace('<|im_end|>', '')"), "<|im_end|> in a text", "changed", None),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "end of turn", "no token", "no_end_of_turn"),
        ("{{ bos_token + 'x' }}" + CHATML, "bos_token", "read, but not given", "bos_missing"),
    ],
)
def test_facts(source: str, name: str, answer: str, code: str | None) -> None:
    fact = facts(source)[name]
    assert (fact.answer, fact.code) == (answer, code)


def test_special_tokens() -> None:
    of_template = facts("{{ bos_token }}" + CHATML, bos_token="<s>", eos_token="<|im_end|>")
    assert of_template["end of turn"].answer == "'<|im_end|>', the eos_token"
    assert of_template["bos_token"].answer.startswith("begins each text")
    assert facts(CHATML, eos_token="</s>")["end of turn"].answer == "'<|im_end|>', and the eos_token is '</s>'"


def test_each_fact_is_what_its_conversation_shows() -> None:
    for fact in facts(CHATML).values():
        if fact.messages and fact.text is not None:
            chat = ChatTemplate(CHATML, **fact.arguments)
            assert chat.render([{"messages": fact.messages}])["prompt"].to_pylist() == [fact.text], fact.fact


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    errors = [code for code, severity in FINDINGS.items() if severity == "error"]
    assert main(["check-template", "chat.jinja"]) == 1
    assert "  tools                   left out: tools[0]  tools_left_out\n" in capsys.readouterr().out
    assert main(["check-template", "chat.jinja", "--allow", ",".join(errors)]) == 0
    assert "tools_left_out" not in capsys.readouterr().out
    assert main(["check-template", "chat.jinja", "--allow", "tool_left_out"]) == 2
    assert "did you mean 'tools_left_out'?" in capsys.readouterr().err
    assert main(["check-template", "chats.jinja"]) == 3
    assert "chats.jinja: no such file or folder" in capsys.readouterr().err


def test_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check-template", "chat.jinja", "--verbose"])
    assert r"'<|im_start|>user\nXask<|im_end|>\n'" in capsys.readouterr().out
    main(["check-template", "chat.jinja", "--json"])
    (template,) = json.loads(capsys.readouterr().out)["templates"]
    assert template["template"] == "chat.jinja"
    assert {*template["facts"][0]} == {"fact", "answer", "code", "severity", "messages", "arguments", "text", "reason"}
    (folder / "bad.jinja").write_text("{% for", encoding="utf-8")
    assert main(["check-template", "."]) == 1
    bad, good = capsys.readouterr().out.splitlines()
    assert bad.startswith("bad.jinja  append-only: -  1 error: unrenderable_row")
    assert good.startswith("chat.jinja  append-only: always  ")


def test_a_models_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"chat_template": "{{ bos_token }}" + CHATML, "bos_token": "\x1b[s"}
    (folder / "model").mkdir()
    (folder / "model" / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    for path in ("model", "model/tokenizer_config.json"):
        main(["check-template", path, "--chat-argument", "eos_token=<|im_end|>", "--verbose"])
        printed = capsys.readouterr().out
        assert "'<|im_end|>', the eos_token" in printed
        assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{% for m in messages %}<{{ m.content }}>{% endfor %}", "no_generation_prompt"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{{ 'A:' if add_generation_prompt }}", "no_end_of_turn"),
        ("{{ messages[-1].content }}</s>{% if add_generation_prompt %}A:{% endif %}", "changing_prefix"),
    ],
)
def test_a_gate_for_training(source: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(source, encoding="utf-8")
    errors = ["--allow", "message_left_out,tool_call_left_out,tools_left_out,unrenderable_row"]
    assert main(["check-template", str(path), *errors]) == 0
    assert main(["check-template", str(path), *errors, "--fail-on", "warning", "--json"]) == 1
    out = capsys.readouterr().out
    facts = {fact["fact"]: fact for fact in json.loads(out[out.index('{"templates"') :])["templates"][0]["facts"]}
    assert code in {fact["code"] for fact in facts.values()}
    assert facts["append-only"]["answer"] in ("always", "never", "depends")
    assert main(["check-template", str(path), *errors, "--fail-on", "never"]) == 0
