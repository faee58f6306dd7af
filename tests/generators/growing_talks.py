"""Talks that grow at random, next to the whole conversations."""

from __future__ import annotations

import random
from typing import Any

import promptpress as pp
import pytest
from parts.small_tokenizers import MARKS

WORDS = (
    *("the answer", " is 42", "don't", "\n\n", "  ", "1234", "é", "e\u0301", "日本", "🙂", "", "<think>a</think>b"),
    *MARKS,
)


def message(rng: random.Random, number: int) -> dict[str, str]:
    content = "".join(rng.choices(WORDS, k=rng.randint(0, 5)))
    return {"role": ("user", "assistant")[number % 2] if rng.random() < 0.9 else "system", "content": content}


def grow(source: str, tokenizer: Any, rng: random.Random, **variables: Any) -> int:
    """Let a talk grow, and compare it with the whole at each step; return the steps that change earlier ids."""
    chats = {
        prompted: pp.ChatTemplate(source, add_generation_prompt=prompted, **variables) for prompted in (False, True)
    }
    prompted, rewritten = rng.random() < 0.5, 0
    messages = [message(rng, number) for number in range(rng.randint(1, 3))]
    talk = chats[False].begin(messages, tokenizer, add_generation_prompt=prompted)
    assert (talk.kept, talk.new_ids) == (0, talk.ids)
    for _ in range(rng.randint(1, 4)):
        more = [message(rng, len(messages) + number) for number in range(rng.randint(0, 2))]
        messages, prompted = [*messages, *more], rng.random() < 0.5
        longer = talk.extend(more, add_generation_prompt=prompted, allow_rewrite=True)
        row = [{"messages": messages}]
        assert longer.ids == chats[prompted].tokenize(row, tokenizer)["input_ids"][0].as_py(), messages
        assert longer.text == chats[prompted].render(row)["prompt"][0].as_py()
        assert talk.ids[: longer.kept] + longer.new_ids == longer.ids
        if longer.kept == len(talk.ids):
            assert talk.extend(more, add_generation_prompt=prompted).new_ids == longer.new_ids
        else:
            assert longer.new_ids[:1] != [talk.ids[longer.kept]]
            with pytest.raises(pp.RenderError, match="changes the talk's ids") as raised:
                talk.extend(more, add_generation_prompt=prompted)
            assert raised.value.code == "history_rewritten"
            rewritten += 1
        talk = longer
    return rewritten
