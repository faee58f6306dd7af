"""Rows for each turn of an assistant, next to a model that renders each turn by itself."""

from __future__ import annotations

import pickle
import random
import warnings
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.small_tokenizers import small_tokenizer
from promptpress._tokens.turns import TurnsEngine

pytest.importorskip("jinja2")

Talk = list[dict[str, Any]]
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" + PROMPT
REASONING = "{% if m.reasoning_content and IF %}<think>{{ m.reasoning_content }}</think>{% endif %}"
THINKING = CHATML.replace("{{ m.content }}", REASONING.replace("IF", "loop.last") + "{{ m.content }}")
CALLS = "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>{% endfor %}"
SOURCES = {
    "appends": CHATML,
    "appends, with tokens after the end": CHATML.replace("<|im_end|>\n", "<|im_end|></s>\n"),
    "appends, with reasoning": THINKING.replace("loop.last", "true"),
    "appends, with calls": CHATML.replace("{{ m.content }}", "{{ m.content }}" + CALLS),
    "appends, with a beginning": "<s>" + CHATML,
    "has generation blocks": CHATML.replace(
        "{{ m.content }}<|im_end|>",
        "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
        "{% else %}{{ m.content }}<|im_end|>{% endif %}",
    ),
    "refuses empty texts": CHATML.replace("{{ m.content }}", "{{ m.content or raise_exception('empty') }}"),
    "asks otherwise": CHATML.replace(PROMPT, "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"),
    "asks for a thought": CHATML.replace("assistant\n{% endif", "assistant\n<think></think>{% endif"),
    "drops reasoning": THINKING,
    "drops calls": CHATML.replace("{{ m.content }}", "{{ m.content }}{% if loop.last %}" + CALLS + "{% endif %}"),
    "closes": CHATML.replace(PROMPT, "{% if not add_generation_prompt %}</s>{% endif %}" + PROMPT),
}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}


def talk(rng: random.Random) -> Talk:
    """A random conversation; its texts have no blanks at their ends."""
    messages: Talk = [{"role": "system", "content": "Be brief."}] if rng.random() < 0.3 else []
    for _ in range(rng.randint(0, 6)):
        role = rng.choice(["user", "assistant"])
        message = {"role": role, "content": rng.choice(["1+1?", "It is 2.", "é 🙂", "a\n\nb", "", "<think>x</think>y"])}
        if role == "assistant" and rng.random() < 0.3:
            message["reasoning_content"] = rng.choice(["hm", "so:\nit"])
        if role == "assistant" and rng.random() < 0.2:
            message["tool_calls"] = [CALL]
        if role == "assistant" and rng.random() < 0.1:
            message["weight"] = 0
        messages.append(message)
    return messages


def tokens(chat: pp.ChatTemplate, rows: Any, **arguments: Any) -> pa.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)
        return chat.tokenize(rows, small_tokenizer(), turns="each", **arguments)


@pytest.mark.parametrize("mask", ["assistant", "assistant+end", "assistant+turn", "generation"])
@pytest.mark.parametrize("name", SOURCES)
def test_the_short_way_gives_what_the_long_way_gives(name: str, mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if mask == "generation" and "{% generation %}" not in SOURCES[name]:
        pytest.skip("no generation blocks")
    rng = random.Random(f"{name} {mask}")
    chat = pp.ChatTemplate(SOURCES[name])
    rows = [{"messages": talk(rng)} for _ in range(part_of(120))]
    arguments: dict[str, Any] = {"mask": mask, "errors": "column", "offsets": True, "reasoning": mask != "generation"}
    short = tokens(chat, rows, **arguments)
    monkeypatch.setattr(TurnsEngine, "is_append_only", False)
    assert short.to_pylist() == tokens(chat, rows, **arguments).to_pylist()
    assert len(short)
