"""The audit of tokens: masks, the ends of turns, templates that change what they have written, borders of data."""

from __future__ import annotations

import json
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
import tokenizers
from amounts import part_of
from marks import UNWARNED
from parts.audit_parts import CHAT, CHATML, findings_by_code, rows
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer
from promptpress_workbench.cli import main

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TOKENIZER = small_tokenizer()


def talk(*texts: str) -> dict[str, Any]:
    roles = ("user", "assistant") * len(texts)
    return {"messages": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]}


TALKS = [talk("a?", "b."), talk("a?"), talk("c?", "d.", "e?", "f."), talk("a?", "")]


def of_chat(template: str, mask: str | None, talks: Any = TALKS) -> dict[str, dict[str, Any]]:
    return findings_by_code(pp.ChatTemplate(template), talks, tokenizer=TOKENIZER, mask=mask)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_masks_that_train_nothing_or_no_end_of_a_turn(size: int) -> None:
    batches = pa.Table.from_pylist(TALKS).to_batches(size)
    findings = of_chat(TEMPLATE, "assistant", batches)
    assert (findings["empty_mask"]["severity"], rows(findings, "empty_mask")) == ("warning", [1, 3])
    unended = findings["untrained_stop"]
    assert (unended["severity"], unended["first_rows"]) == ("warning", [0, 2])
    prompt = pp.ChatTemplate(TEMPLATE).render(TALKS)["prompt"][0].as_py().encode()
    assert prompt[unended["start"] : unended["end"]].decode() == "."
    assert "'<|im_end|>' follows, untrained" in unended["message"]
    for mask in ("assistant+end", "assistant+turn"):
        findings = of_chat(TEMPLATE, mask, batches)
        assert (rows(findings, "empty_mask"), rows(findings, "untrained_stop")) == ([1], None)
    assert not {"empty_mask", "untrained_stop", "unknown_mask"} & set(of_chat(TEMPLATE, None, batches))


def test_a_template_without_a_token_that_ends_a_turn() -> None:
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n\n\n{% endfor %}"
    findings = of_chat(template, "assistant+turn")
    assert rows(findings, "untrained_stop") == [0, 2, 3]
    assert "no token that ends the turn is near" in findings["untrained_stop"]["message"]


@pytest.mark.parametrize(("inside", "after"), [("", "<|im_end|>"), ("<|im_end|>", "")])
def test_generation_blocks_with_and_without_the_end(inside: str, after: str) -> None:
    block = f"{{% generation %}}{{{{ m.content }}}}{inside}{{% endgeneration %}}{after}\n"
    other = "{{ m.content }}<|im_end|>\n"
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
    findings = of_chat(f"{template}{block}{{% else %}}{other}{{% endif %}}{{% endfor %}}", "generation")
    assert rows(findings, "untrained_stop") == (None if inside else [0, 2])
    assert rows(findings, "empty_mask") == ([1] if inside else [1, 3])


def test_masks_that_are_not_known() -> None:
    findings = of_chat(TEMPLATE.replace("m.content", "m.content|upper"), "assistant")
    assert (findings["unknown_mask"]["severity"], rows(findings, "unknown_mask")) == ("error", [0, 2])
    assert "the template changes content of message 1" in findings["unknown_mask"]["message"]


def test_a_configuration_with_roles() -> None:
    dialogue = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}] * 2}
    renderer = pp.Renderer(dialogue, meta_template=CHATML, substitution="single_pass", output="text")
    samples = pa.table({"q": ["x", "y"], "a": ["1", ""]})
    options: dict[str, Any] = {"tokenizer": TOKENIZER, "mask": "assistant"}
    findings = findings_by_code(renderer, samples, **options)
    assert (rows(findings, "empty_mask"), rows(findings, "untrained_stop")) == ([1], [0])
    with pytest.raises(pp.TemplateError, match="nobody has a role here"):
        pp.Renderer("{q}").audit(samples, **options)
    with pytest.raises(pp.TemplateError, match="tokens are those of texts"):
        pp.Renderer(dialogue, meta_template=CHAT, output="openai").audit(samples, **options)


def test_what_a_mask_needs() -> None:
    chat = pp.ChatTemplate(TEMPLATE)
    with pytest.raises(ValueError, match="mask: what is trained are tokens; give tokenizer="):
        chat.audit(TALKS, mask="assistant")
    with pytest.raises(ValueError, match="mask: 'all' is not one of 'generation'"):
        chat.audit(TALKS, tokenizer=TOKENIZER, mask="all")  # type: ignore[arg-type]


GROWING = {
    "an empty block of thoughts in the last turn": TEMPLATE.replace(
        "{{ m.content }}", "{% if loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}"
    ),
    "a system text before the last question": "{% for m in messages %}{% if m.role == 'user' and loop.revindex <= 2 %}"
    "Be kind.\n{% endif %}{{ m.content }}\n{% endfor %}",
    "earlier turns cut off": "{% for m in messages[-2:] %}{{ m.content }}\n{% endfor %}",
}
STEADY = {
    "": TEMPLATE,
    "an invitation": TEMPLATE + "<|im_start|>assistant\n",
    "another end": TEMPLATE.replace("<|im_end|>", "{% if loop.last %}<|return|>{% else %}<|im_end|>{% endif %}"),
}


@pytest.mark.parametrize("template", GROWING.values(), ids=GROWING)
def test_templates_that_change_the_beginning(template: str) -> None:
    chat = pp.ChatTemplate(template)
    findings = findings_by_code(chat, pa.Table.from_pylist(TALKS).to_batches(1))
    finding = findings["changing_prefix"]
    assert (finding["severity"], finding["first_rows"]) == ("warning", [2])
    longer = chat.render([TALKS[2]])["prompt"][0].as_py().encode()
    shorter = chat.render([{"messages": TALKS[2]["messages"][:2]}])["prompt"][0].as_py().encode()
    assert longer[: finding["start"]] == shorter[: finding["start"]]
    assert longer[finding["start"]] != shorter[finding["start"]]
    assert f"becomes {longer[finding['start'] : finding['end']].decode()!r} after message 1" in finding["message"]


@pytest.mark.parametrize("template", STEADY.values(), ids=STEADY)
def test_templates_that_keep_the_beginning(template: str) -> None:
    assert "changing_prefix" not in findings_by_code(pp.ChatTemplate(template), TALKS)


def test_long_conversations_and_values_without_json() -> None:
    long = talk(*"abcdefghijklmnopqrstuvwxyz")
    template = TEMPLATE.replace("{{ m.content }}", "{{ m.content }}{% if messages|length > 20 %}!{% endif %}")
    findings = findings_by_code(pp.ChatTemplate(template), [TALKS[0], long])
    assert rows(findings, "changing_prefix") == [1]
    dated = pa.table(
        {"messages": [[{"role": "assistant", "content": "a", "day": pa.scalar(0, pa.date32()).as_py()}] * 2]}
    )
    assert "changing_prefix" not in findings_by_code(pp.ChatTemplate(TEMPLATE), dated)


@pytest.mark.parametrize("kind", KINDS)
@UNWARNED
def test_tokens_across_borders_are_those_of_the_library(kind: str) -> None:
    rng, tokenizer = random.Random(kind), small_tokenizer(kind)
    renderers: list[Any] = [pp.Renderer("Q: {q}\nA:"), pp.JinjaTemplate("Q: {{ q }}\nA:")]
    for _ in range(part_of(30)):
        values = [
            "".join(rng.choice((*WORDS, *MARKS, " ", "\n", "é")) for _ in range(rng.randint(1, 3))) for _ in range(5)
        ]
        wanted, location = [], None
        for row, value in enumerate(values):
            text = f"Q: {value}\nA:"
            borders = (3, 3 + len(value))
            for start, end in tokenizer.encode(text, add_special_tokens=False).offsets:
                if any(start < border < end for border in borders):
                    location = location or (len(text[:start].encode()), len(text[:end].encode()))
                    wanted.append(row)
                    break
        for renderer in renderers:
            finding = findings_by_code(renderer, pa.table({"q": values}), tokenizer=tokenizer).get("straddling_token")
            assert (finding and finding["first_rows"]) == (wanted or None), values
            if finding:
                assert (finding["severity"], finding["start"], finding["end"]) == ("info", *(location or ()))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_borders_are_looked_at_in_all_rows(size: int) -> None:
    samples = pa.table({"q": ["the", "x", "the", "x", "the", "the"]})
    finding = findings_by_code(pp.Renderer(" {q}"), samples.to_batches(size), tokenizer=TOKENIZER)["straddling_token"]
    assert (finding["rows"], finding["first_rows"]) == (4, [0, 2, 4, 5])
    template = "{% for m in messages %} {{ m.content }}<|im_end|>{% endfor %}"
    for mask in (None, "assistant"):
        findings = of_chat(template, mask, pa.Table.from_pylist([talk("the", "x")] * 6).to_batches(size))
        assert findings["straddling_token"]["rows"] == 6


def test_special_tokens_after_a_text() -> None:
    tokenizer = tokenizers.Tokenizer.from_str(TOKENIZER.to_str())
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s> </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    findings = findings_by_code(pp.Renderer(" {q}"), pa.table({"q": ["the"]}), tokenizer=tokenizer)
    assert rows(findings, "straddling_token") == [0]
    assert "' th'" in findings["straddling_token"]["message"]


def test_the_audit_counts_each_row_once() -> None:
    chat = pp.ChatTemplate(TEMPLATE)
    chat.audit(TALKS, tokenizer=TOKENIZER, mask="assistant")
    assert chat.last_run is not None
    assert chat.last_run.rows == len(TALKS)


def test_the_command_says_options(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    TOKENIZER.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat.jinja").write_text(GROWING["earlier turns cut off"], encoding="utf-8")
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TALKS), encoding="utf-8")
    given = ["audit", "--chat-template", f"{tmp_path}/chat.jinja", "--data", f"{tmp_path}/talks.jsonl"]
    allowed = ["--allow", "message_left_out"]
    assert main([*given, *allowed, "--mask", "assistant", "--tokenizer", f"{tmp_path}/tokenizer.json"]) == 0
    out = capsys.readouterr().out
    assert "to do: take --mask assistant+end" in out
    assert "write a row for each turn (--turns each)" in out
    assert main([*given, "--mask", "assistant"]) == 2
    assert "--mask: what is trained are tokens; --tokenizer FILE says whose" in capsys.readouterr().err
