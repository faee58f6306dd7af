"""Masks next to TRL's templates for training, which transformers traces: `make test-exports` installs both.

TRL has a template for training beside that of many models, with `{% generation %}` blocks. Two things are compared:
the mask `"generation"` of each of them, and the masks that promptpress makes of the templates that are served.
"""

from __future__ import annotations

import random
from typing import Any

import promptpress as pp
import pytest

pytest.importorskip("transformers")
from parts.training_templates import VARIABLES, folder, tokenizer_of

TRAINING = "_training.jinja"
SAME = {
    "cohere": "assistant+end",
    "llama3": "assistant+end",
    **dict.fromkeys(
        ("gemma", "gemma3", "lfm2", "lfm2_v2", "qwen2_5_vl", "qwen3_instruct_2507", "qwen3_vl"), "assistant+turn"
    ),
}
"""The masks that train what TRL trains. The templates of other models train headers, too, or what comes after."""

WORDS = ("1+1?", "It is 2.", "naïve", "\n", " ", "So:\n\n", "日本", "🙂", "e\u0301", "x")


def names() -> list[str]:
    models = [path.name.removesuffix(TRAINING) for path in sorted(folder().glob(f"*{TRAINING}"))]
    return [name for name in models if (folder() / f"{name}.jinja").exists()]


def talks(seed: str) -> list[list[dict[str, str]]]:
    """Conversations whose texts have no blanks at their ends, which many templates take away."""
    rng = random.Random(seed)

    def text() -> str:
        return "".join(rng.choices(WORDS, k=rng.randint(1, 6))).strip() or "Hi"

    out = []
    for _ in range(16):
        turns = [{"role": role, "content": text()} for _ in range(rng.randint(1, 3)) for role in ("user", "assistant")]
        out.append([*([{"role": "system", "content": text()}] if rng.random() < 0.3 else []), *turns])
    return out


def traced(tokenizer: Any, template: str, talk: Any) -> tuple[list[int], list[bool]] | None:
    """The ids and the mask of transformers; None where the template refuses the conversation."""
    try:
        row = tokenizer.apply_chat_template(
            talk, chat_template=template, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
    except Exception:
        return None
    return row["input_ids"], [bool(trained) for trained in row["assistant_masks"]]


@pytest.mark.parametrize("name", names())
def test_masks_of_generation_blocks(name: str) -> None:
    template = (folder() / f"{name}{TRAINING}").read_text(encoding="utf-8")
    tokenizer = tokenizer_of(template)
    chat, compared = pp.ChatTemplate(template, **VARIABLES), 0
    for talk in talks(name):
        wanted = traced(tokenizer, template, talk)
        if wanted is not None:
            compared += 1
            row = chat.tokenize([{"messages": talk}], tokenizer, mask="generation").to_pylist()[0]
            assert (row["input_ids"], row["assistant_masks"]) == wanted
    assert compared or name == "llava_next"  # whose contents are lists


def assert_masks_of_served(name: str, conversations: list[list[dict[str, Any]]], mask: Any) -> int:
    """Compare masks of the served template with those of TRL's; return how many compared conversations call tools."""
    training, served = ((folder() / f"{name}{end}").read_text(encoding="utf-8") for end in (TRAINING, ".jinja"))
    tokenizer = tokenizer_of(training, served)
    chat, compared, with_calls = pp.ChatTemplate(served, **VARIABLES), 0, 0
    for talk in conversations:
        wanted = traced(tokenizer, training, talk)
        if wanted is None:
            continue
        row = chat.tokenize([{"messages": talk}], tokenizer, mask=mask).to_pylist()[0]
        if row["input_ids"] == wanted[0]:
            compared += 1
            with_calls += any("tool_calls" in message for message in talk)
            assert row["assistant_masks"] == wanted[1]
    assert compared >= 8
    return with_calls


@pytest.mark.parametrize("name", sorted({*SAME} & {*names()}))
def test_masks_of_templates_that_are_served(name: str) -> None:
    assert_masks_of_served(name, talks(name), SAME[name])


CALLS = dict.fromkeys(("lfm2_v2", "qwen3_instruct_2507", "qwen3_vl"), "assistant+turn")
"""The masks that train what TRL trains of conversations with calls of tools."""


def talks_with_calls(seed: str) -> list[list[dict[str, Any]]]:
    """Conversations with calls of tools, with a text and without, and with turns that say nothing."""
    rng = random.Random(seed)
    out = []
    for talk in talks(seed):
        messages: list[dict[str, Any]] = []
        for message in talk:
            if message["role"] == "assistant" and rng.random() < 0.6:
                calls = [
                    {"type": "function", "function": {"name": "find", "arguments": {"text": rng.choice(WORDS), "n": 3}}}
                    for _ in range(rng.randint(1, 2))
                ]
                content = message["content"] if rng.random() < 0.5 else ""
                messages += [
                    {"role": "assistant", "content": content, "tool_calls": calls},
                    {"role": "tool", "content": "found"},
                ]
            is_empty = message["role"] == "assistant" and rng.random() < 0.2
            messages.append({**message, "content": ""} if is_empty else message)
        out.append(messages)
    return out


@pytest.mark.parametrize("name", sorted({*CALLS} & {*names()}))
def test_masks_of_calls_of_tools(name: str) -> None:
    assert assert_masks_of_served(name, talks_with_calls(name), CALLS[name]) >= 8
