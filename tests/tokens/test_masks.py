"""Masks of tokens: what assistants say, beside a model that writes each text itself."""

from __future__ import annotations

import json
import random
import re
import warnings
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer

# Of some conversations nothing is trained.
pytestmark = UNWARNED

TEXTS = (*WORDS, *MARKS, " ", "\n", "é", "e\u0301", "🙂", "<|im_", "start|>", "{", "ﬁ")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\\n' }}{% endfor %}"
)
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content | trim }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

Pieces = list[tuple[str, bool]]


def text_of(rng: random.Random) -> str:
    return "".join(rng.choice(TEXTS) for _ in range(rng.randint(0, 5)))


def conversation(rng: random.Random, *, reasons: bool = False) -> list[dict[str, Any]]:
    messages = []
    for _ in range(rng.randint(1, 5)):
        role = rng.choice(["user", "assistant", "system"])
        message = {"role": role, "content": text_of(rng)}
        if reasons and role == "assistant":
            message["reasoning_content"] = text_of(rng) if rng.random() < 0.6 else ""
        messages.append(message)
    return messages


def overlapping(tokenizer: Any, pieces: Pieces) -> tuple[list[int], list[bool]]:
    """The ids of a text, and for each whether it overlaps a trained piece, looked at character by character."""
    text = "".join(piece for piece, _ in pieces)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    trained = [is_trained for piece, is_trained in pieces for _ in piece]
    return encoding.ids, [any(trained[start:end]) for start, end in encoding.offsets]


def check(template: pp.ChatTemplate, rows: list[Any], kind: str, arguments: dict[str, Any], model: Any) -> None:
    tokenizer = small_tokenizer(kind)
    table = template.tokenize([{"messages": row} for row in rows], tokenizer, **arguments)
    texts = template.render([{"messages": row} for row in rows])["prompt"].to_pylist()
    for row, text, got in zip(rows, texts, table.to_pylist(), strict=True):
        pieces = model(row)
        assert "".join(piece for piece, _ in pieces) == text
        ids, mask = overlapping(tokenizer, pieces)
        assert (got["input_ids"], got["assistant_masks"]) == (ids, mask)
        if "labels" in got:
            assert got["labels"] == [token if trained else -100 for token, trained in zip(ids, mask, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", ["generation", "assistant", "assistant+end", "assistant+turn"])
def test_random_conversations(mask: Any, kind: str) -> None:
    rng = random.Random(f"{mask} {kind}")
    last_turn = False

    def model(messages: list[dict[str, Any]]) -> Pieces:
        pieces: Pieces = []
        spoken = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
        if last_turn:
            spoken = spoken[-1:]
        for number, message in enumerate(messages):
            is_said = number in spoken
            pieces += [
                (f"<|im_start|>{message['role']}\n", False),
                (message["content"], is_said),
                ("<|im_end|>", is_said and mask != "assistant"),
                ("\n", is_said and mask == "assistant+turn"),
            ]
        return pieces

    for _ in range(part_of(20)):
        last_turn = mask != "generation" and rng.random() < 0.3
        arguments = {"mask": mask, "labels": rng.random() < 0.5}
        if last_turn:
            arguments["last_turn"] = True
        check(pp.ChatTemplate(CHATML), [conversation(rng) for _ in range(rng.randint(1, 4))], kind, arguments, model)


@pytest.mark.parametrize("reasoning", [False, True])
def test_random_conversations_with_reasoning(reasoning: bool) -> None:
    rng = random.Random(f"{reasoning}")

    def model(messages: list[dict[str, Any]]) -> Pieces:
        pieces: Pieces = []
        for message in messages:
            spoken = message["role"] == "assistant"
            thought = message.get("reasoning_content")
            content = message["content"].strip()
            pieces.append((f"<|im_start|>{message['role']}\n", False))
            if thought:
                # What stands between two texts of one message is the message's.
                pieces += [
                    ("<think>\n", reasoning),
                    (thought, reasoning),
                    ("\n</think>", reasoning),
                    ("\n\n", reasoning and bool(content)),
                ]
            # Behind reasoning alone the turn's end begins with the blanks.
            if thought and reasoning and not content:
                pieces[-1] = ("\n\n", True)
            pieces += [(content, spoken), ("<|im_end|>", spoken), ("\n", False)]
        return pieces

    for _ in range(part_of(60)):
        rows = [conversation(rng, reasons=True) for _ in range(rng.randint(1, 4))]
        arguments = {"mask": "assistant+end", "reasoning": reasoning}
        check(pp.ChatTemplate(THINKING, fallback="refuse"), rows, "bytes", arguments, model)


def test_a_block_that_the_template_inserts_is_not_trained() -> None:
    template = pp.ChatTemplate(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think>\n\n</think>\n\n"
        "{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    rows = [{"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]}]
    (row,) = template.tokenize(rows, small_tokenizer(), mask="assistant+end", reasoning=True).to_pylist()
    spoken = [token for token, is_said in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_said]
    assert small_tokenizer().decode(spoken, skip_special_tokens=False) == "2<|im_end|>"


@UNWARNED
@pytest.mark.parametrize("mask", ["assistant", "assistant+end"])
def test_roles_of_a_meta_template(mask: Any) -> None:
    meta = {
        "round": [
            {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
            {
                "role": "BOT",
                "begin": "<|im_start|>assistant\n",
                "end": "<|im_end|>\n",
                "api_role": "BOT",
                "generate": True,
            },
        ]
    }
    turns = [
        {"role": "HUMAN", "prompt": "{q}"},
        {"role": "BOT", "prompt": "So {a}."},
        {"role": "HUMAN", "prompt": "Sure?"},
        {"role": "BOT", "prompt": ""},
    ]
    renderer = pp.Renderer({"round": turns}, meta_template=meta, output="text")
    tokenizer = small_tokenizer()
    (row,) = renderer.tokenize(pa.table({"q": ["1+1?"], "a": ["2"]}), tokenizer, mask=mask).to_pylist()
    spoken = [token for token, is_said in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_said]
    end = "<|im_end|>" if mask == "assistant+end" else ""
    assert tokenizer.decode(spoken, skip_special_tokens=False) == "So 2." + end


def test_messages_of_a_configuration() -> None:
    turns = [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "So {a}."}, {"role": "HUMAN", "prompt": "?"}]
    chat = pp.ChatTemplate(CHATML)
    renderer, tokenizer = pp.Renderer({"round": turns}, chat_template=chat), small_tokenizer()
    samples = pa.table({"q": ["1+1?", "2+2?"], "a": ["2", "4"]})
    for mask in ("generation", "assistant+end"):
        rows = renderer.tokenize(samples, tokenizer, mask=mask).to_pylist()
        spoken = [[t for t, m in zip(row["input_ids"], row["assistant_masks"], strict=True) if m] for row in rows]
        decoded = [tokenizer.decode(ids, skip_special_tokens=False) for ids in spoken]
        assert decoded == ["So 2.<|im_end|>", "So 4.<|im_end|>"]


CONVERSATION = [{"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": " Hello! "}]}]


def test_what_a_template_changes_has_no_mask() -> None:
    """The marks are in what is trimmed, so the text with them isn't the text."""
    template = pp.ChatTemplate(
        "{% set said %} {% generation %}{{ messages[1].content }}{% endgeneration %} {% endset %}{{ said|length }}"
    )
    with pytest.raises(pp.RenderError, match="changes what its generation blocks have written") as caught:
        template.tokenize(CONVERSATION, small_tokenizer(), mask="generation")
    assert (caught.value.code, caught.value.row) == ("unknown_origin", 0)


def test_blocks_in_macros_are_where_their_text_is() -> None:
    template = pp.ChatTemplate(
        "{% macro turn(m) %}<|im_start|>{{ m.role }}\n{% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}"
        "{{ messages[0].content }}{{ turn(messages[1]) }}"
        "{% set unused %}{% generation %}x{% endgeneration %}{% endset %}"
    )
    (row,) = template.tokenize(CONVERSATION, small_tokenizer(), mask="generation").to_pylist()
    spoken = [token for token, is_said in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_said]
    assert small_tokenizer().decode(spoken) == " Hello! "


def test_texts_with_the_marks_themselves_have_no_mask() -> None:
    rows = [{"messages": [{"role": "assistant", "content": "a\ufdd0b"}]}]
    with pytest.raises(pp.RenderError, match="holds U\\+FDD0"):
        pp.ChatTemplate(CHATML).tokenize(rows, small_tokenizer(), mask="generation")


def test_changed_and_joint_texts_have_no_mask() -> None:
    by_jinja2 = pp.ChatTemplate("{% for m in messages %}{{ m.content|wordwrap(3) }}{% endfor %}")
    with pytest.raises(pp.RenderError, match="the template changes content of message 1"):
        by_jinja2.tokenize(CONVERSATION, small_tokenizer(), mask="assistant")
    table = by_jinja2.tokenize(CONVERSATION * 2, small_tokenizer(), mask="assistant", errors="column")
    assert table["input_ids"].null_count == 2
    assert re.match(r"unknown_origin: .*mask=\"assistant\" can't be made", table["error"][0].as_py())
    joint = pp.ChatTemplate("{{ (messages[0].content ~ messages[1].content)|wordwrap(3) }}")
    with pytest.raises(pp.RenderError, match="a text of several"):
        joint.tokenize(CONVERSATION * 3, small_tokenizer(), mask="assistant")


@pytest.mark.parametrize(
    ("renderer", "message"),
    [
        (lambda: pp.ChatTemplate("{{ messages[0].content }}"), "no {% generation %} block"),
        (lambda: pp.JinjaTemplate("{{ q }}"), "there is no chat template"),
        (lambda: pp.Renderer("{q}"), "there is no chat template"),
        (lambda: pp.ChatTemplate(CHATML, continue_final_message=True), "a message that is continued"),
    ],
)
def test_generation_needs_blocks(renderer: Any, message: str) -> None:
    with pytest.raises(pp.TemplateError, match=message):
        renderer().tokenize(CONVERSATION, small_tokenizer(), mask="generation")


def trained(template: str, messages: list[Any], **arguments: Any) -> str:
    """Return what is trained of one conversation, with `~` between stretches that don't touch."""
    tokenizer = small_tokenizer()
    arguments = {"mask": "assistant+end", **arguments}
    (row,) = (
        pp.ChatTemplate(template).tokenize([{"messages": json.dumps(messages)}], tokenizer, **arguments).to_pylist()
    )
    out, last = "", False
    for token, is_trained in zip(row["input_ids"], row["assistant_masks"], strict=True):
        if is_trained:
            out += ("" if last or not out else "~") + tokenizer.decode([token], skip_special_tokens=False)
        last = is_trained
    return out


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CALL = [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}]


QWEN = (
    "{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>user\n<tool_response>{{ m.content }}</tool_response>"
    "{% else %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}"
    "{% if m.tool_calls %}{% for call in m.tool_calls %}{% if (loop.first and m.content) or not loop.first %}{{ '\n' }}"
    '{% endif %}<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments|tojson }}}'
    "\n</tool_call>{% endfor %}{% endif %}{% endif %}<|im_end|>\n{% endfor %}"
)
CALLED = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
CALLING = assistant("", tool_calls=CALL)
SUNNY = {"role": "tool", "content": "sunny"}


@pytest.mark.parametrize("mask", ["assistant", "assistant+end", "assistant+turn"])
@pytest.mark.parametrize("content", ["Let me see.", ""])
@pytest.mark.parametrize("count", [1, 2])
def test_calls_of_tools_are_what_assistants_say(content: str, mask: str, count: int) -> None:
    calls = "\n".join([content] * bool(content) + [CALLED] * count)
    end = {"assistant": "", "assistant+end": "<|im_end|>", "assistant+turn": "<|im_end|>\n"}[mask]
    calling = assistant(content, tool_calls=CALL * count)
    messages = [user("q"), calling, SUNNY, assistant("It is."), user("?"), calling]
    # A block that the template inserts by itself is none of it.
    assert trained(QWEN, messages, mask=mask) == f"{calls}{end}~It is.{end}~{calls}{end}"
    assert trained(QWEN, messages, mask=mask, last_turn=True) == calls + end
    (row,) = pp.ChatTemplate(QWEN).render([{"messages": messages}])["prompt"].to_pylist()
    assert row.count(calls) == 2


def test_calls_go_with_reasoning() -> None:
    template = THINKING.replace(
        "{{ m.content | trim }}", "{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls|tojson }}{% endif %}"
    )
    calls = json.dumps(CALL)
    messages = [user("q"), assistant("", reasoning_content="HM", tool_calls=CALL)]
    assert trained(template, messages) == f"{calls}<|im_end|>"
    assert trained(template, messages, reasoning=True) == f"<think>\nHM\n</think>\n\n{calls}<|im_end|>"
    parts = [user("q"), assistant([{"type": "text", "text": "A"}], tool_calls=CALL)]
    template = template.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}")
    assert trained(template, parts) == f"A{calls}<|im_end|>"


@pytest.mark.parametrize("content", ["", " ", None, []])
def test_a_turn_without_a_text_ends(content: Any) -> None:
    template = PLAIN.replace("m.content", "(m.content or '')|trim")
    messages = [user("q"), assistant(content), user("?"), assistant("b")]
    assert trained(template, messages) == "<|im_end|>~b<|im_end|>"
    assert trained(template, messages, mask="assistant") == "b"
    assert trained(template, messages, mask="assistant+turn") == "<|im_end|>\n~b<|im_end|>\n"
    left_out = template.replace("%}", " if m.content %}", 1)
    assert trained(left_out, messages) == ("<|im_end|>~" if content else "") + "b<|im_end|>"


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        # Another header, another end, and marks in the text.
        (PLAIN.replace("{{ m.role }}", "{{ m.role }}{{ ' calls' if m.tool_calls }}"), [CALLING]),
        (PLAIN.replace("<|im_end|>", "{{ '<|call|>' if m.tool_calls else '<|im_end|>' }}"), [CALLING]),
        (PLAIN, [user("\ufdd0"), assistant("")]),
        ("{% for m in messages %}{{ m.content }}{% if not m.tool_calls %}{{ 1/0 }}{% endif %}{% endfor %}", [CALLING]),
        ("{{ messages[1].content }}{{ messages[0].tool_calls }}", [CALLING, user("")]),
    ],
)  # fmt: skip
def test_turns_whose_place_is_not_known_are_refused(template: str, messages: list[Any]) -> None:
    with pytest.raises(pp.RenderError, match=r"its place isn't known|Jinja2 rendered") as caught:
        trained(template, messages)
    assert (caught.value.code, caught.value.row) == ("unknown_origin", 0)


def test_rows_with_calls_next_to_others() -> None:
    """Samples keep their places and other columns, and counts of the run are those of the prompts."""
    chat, tokenizer = pp.ChatTemplate(QWEN), small_tokenizer()
    talks = [
        [user("q"), assistant("a")],
        [user("q"), assistant("", tool_calls=CALL), SUNNY, assistant("")],
        [user("q")],
    ]
    rows = [{"messages": json.dumps(talks[n % 3]), "n": n} for n in range(9000)]
    table = chat.tokenize(rows, tokenizer, mask="assistant+end", keep=["n"])
    assert table["n"].to_pylist() == list(range(9000))
    for number in (0, 1, 2):
        of_kind = {tuple(mask) for mask in table["assistant_masks"][number::3].to_pylist()}
        assert len(of_kind) == 1
        assert sum(of_kind.pop()) == (chat.tokenize(rows[number : number + 1], tokenizer, mask="assistant+end")
            ["assistant_masks"].to_pylist()[0].count(True))  # fmt: skip
    assert chat.last_run is not None
    assert chat.last_run.rows == 1


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("('<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n')|trim", "abc a<|im_end|>"),
        ("('<s>' ~ m.content ~ '<|im_end|>').replace('s', 't')", "abc a<|im_end|>"),
        ("('%s<|im_end|>' % m.content)", "abc a<|im_end|>"),
        ("[m.content, '<|im_end|>']|join", "abc a<|im_end|>"),
        ("(m.content ~ ' <|im_end|>').split(' ')[0]", "abc<|im_end|>"),
    ],
)
def test_what_a_template_joins_to_a_content_has_the_origin_of_the_template(expression: str, expected: str) -> None:
    template = "{% for m in messages %}{{ " + expression + " }}<|im_end|>{% endfor %}"
    assert trained(template, [user("q"), assistant("abc a")]) == expected


@pytest.mark.parametrize("expression", ["m.content|upper", "m.content|length", "m.content|wordwrap(3)"])
def test_what_a_template_changes_is_refused(expression: str) -> None:
    template = "{% for m in messages %}{{ " + expression + " }}{% endfor %}"
    with pytest.raises(pp.RenderError) as caught:
        trained(template, [user("q"), assistant("abc a")])
    assert caught.value.code == "unknown_origin"


def test_the_last_turn_is_that_of_the_last_assistant() -> None:
    assert trained(PLAIN, [user("a"), assistant("b"), user("c"), assistant("d")], last_turn=True) == "d<|im_end|>"
    assert trained(PLAIN, [user("a"), assistant("b"), user("c"), assistant("")], last_turn=True) == "<|im_end|>"
    assert trained(PLAIN, [user("a"), assistant("b"), user("c")], last_turn=True) == "b<|im_end|>"


SPLITS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% set c = m.content %}"
    "{% if '</think>' in c %}<think>\n{{ c.split('</think>')[0].split('<think>')[-1].strip('\\n') }}\n</think>\n\n"
    "{{ c.split('</think>')[-1].lstrip('\\n') }}{% else %}{{ c }}{% endif %}<|im_end|>\n{% endfor %}"
)


def test_a_content_that_a_template_takes_apart_is_whole() -> None:
    messages = [user("q"), assistant("<think>\nrr\n</think>\n\nd")]
    assert trained(SPLITS, messages) == "<think>\nrr\n</think>\n\nd<|im_end|>"


def test_reasoning_in_parts_is_reasoning() -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{% if p.type == 'thinking' %}<think>{{ p.thinking }}</think>{% else %}{{ p.text }}"
        "{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    )
    parts = [{"type": "thinking", "thinking": "HM"}, {"type": "text", "text": "A2"}]
    assert trained(template, [user("q"), assistant(parts)]) == "A2<|im_end|>"
    assert trained(template, [user("q"), assistant(parts)], reasoning=True) == "<think>HM</think>A2<|im_end|>"


def test_a_text_that_stands_twice_brings_no_frames() -> None:
    template = (
        "{% for m in messages %}{% if m.role == 'user' %}<s>{% if loop.index0 %}(before: "
        "{{ messages[loop.index0 - 1].content }}){% endif %}{{ m.content }}</s>{% else %}{{ m.content }}<|im_end|>"
        "{% endif %}{% endfor %}"
    )
    messages = [user("q"), assistant("a1"), user("r"), assistant("a2")]
    assert trained(template, messages, mask="assistant") == "a1~a1~a2"
    noted = "{% for m in messages %}{{ m.content }}{{ m.note }}<|im_end|>{% endfor %}"
    note = [{"role": "user", "content": "q", "note": "n"}, assistant("a", note="<s>x")]
    assert trained(noted, note, mask="assistant") == "a"


@UNWARNED
def test_every_turn_of_a_meta_template_ends() -> None:
    meta = {
        "round": [
            {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
            {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
        ]
    }
    turns = [
        *({"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "So {a}."}),
        *({"role": "HUMAN", "prompt": "Sure?"}, {"role": "BOT", "prompt": "Yes."}),
        *({"role": "HUMAN", "prompt": "?"}, {"role": "BOT", "prompt": ""}),
    ]
    renderer = pp.Renderer({"round": turns}, meta_template=meta, output="text")
    tokenizer = small_tokenizer()
    samples = pa.table({"q": ["1+1?"], "a": ["2"]})
    for arguments, text in (({}, "So 2.<|im_end|>Yes.<|im_end|>"), ({"last_turn": True}, "Yes.<|im_end|>")):
        (row,) = renderer.tokenize(samples, tokenizer, mask="assistant+end", **arguments).to_pylist()
        ids = [token for token, is_spoken in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_spoken]
        assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_somebody_has_to_have_a_role() -> None:
    for renderer in (pp.Renderer("{q}"), pp.JinjaTemplate("{{ q }}")):
        with pytest.raises(pp.TemplateError, match="nobody has a role here"):
            renderer.tokenize(pa.table({"q": ["1"]}), small_tokenizer(), mask="assistant")


def test_a_mask_that_trains_nothing_warns() -> None:
    template, tokenizer = pp.ChatTemplate(PLAIN), small_tokenizer()
    rows = [{"messages": [user("q"), *others]} for others in ([assistant("a")], [], [assistant("")])]
    with pytest.warns(pp.PromptWarning, match="in 2 of 3 requests .*; first in row 1, 2; an audit with mask="):
        template.tokenize(rows, tokenizer, mask="assistant")
    with pytest.warns(pp.PromptWarning, match=r"in 4 of 5 requests .*; first in row 0, 1, 2, \.\.\.; an audit"):
        template.tokenize([rows[1]] * 4 + rows[:1], tokenizer, mask="assistant")
    with pytest.warns(pp.PromptWarning, match="first in row 0; answer= names a column of answers"):
        pp.Renderer("{q}", chat_template=template).tokenize({"q": ["1"]}, tokenizer, mask="assistant")
    with pytest.warns(pp.PromptWarning, match="in 1 of 3 requests no token is trained"):
        template.tokenize(rows, tokenizer, mask="assistant+end")
    with pytest.warns(pp.PromptWarning, match="in 1 of 1 request no token is trained"):
        template.tokenize(rows[:1], tokenizer, mask="assistant", max_tokens=2, truncation="right")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        template.tokenize(rows[:1], tokenizer, mask="assistant")


@pytest.mark.parametrize("mask", ["assistant", "generation"])
def test_tools_of_each_row_are_not_trained(mask: Any) -> None:
    source = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}" + CHATML
    tools = [[{"name": f"a {number}", "text": "b <|im_start|>"}] if number % 3 else None for number in range(9)]
    rng = random.Random(3)
    rows = [[*conversation(rng), {"role": "assistant", "content": "a b"}] for _ in tools]
    table = pa.table({"messages": list(map(json.dumps, rows)), "tools": list(map(json.dumps, tools))})
    tokenizer = small_tokenizer(KINDS[0])
    encoded = pp.ChatTemplate(source).tokenize(table, tokenizer, mask=mask)
    parts = [
        pp.ChatTemplate(source, tools=of_row).tokenize([{"messages": row}], tokenizer, mask=mask)
        for of_row, row in zip(tools, rows, strict=True)
    ]
    for name in ("input_ids", "assistant_masks"):
        assert encoded[name].to_pylist() == [value for part in parts for value in part[name].to_pylist()]
