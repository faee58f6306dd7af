"""Talks that grow: their ids are those of the whole conversation, and what is new follows what was there."""

from __future__ import annotations

import pickle
import random
from typing import Any

import promptpress as pp
import pytest
from amounts import part_of
from generators.growing_talks import grow
from parts.small_tokenizers import SPLITS, small_tokenizer
from promptpress._tokens.encoder import Encoder

pytest.importorskip("jinja2")

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TEMPLATES = {
    "chatml": CHATML + PROMPT,
    "another prompt": CHATML + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
    "forgets": (
        "{% for m in messages %}<s>{{ m.content if loop.last else m.content.split('</think>')[-1] }}{% endfor %}"
    ),
    "no marks": "{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}" + PROMPT,
    "marks at first": "<s>{% for m in messages %}{{ m.content }}\n{% endfor %}",
    "an end": CHATML + "</s>",
    "counts": "{{ messages | length }}" + CHATML,
    "strips": "{% for m in messages %}{{ m.role }}: {{ m.content | trim }}</s>{% endfor %}assistant:",
}
TALK: list[dict[str, Any]] = [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2."}]


@pytest.mark.parametrize("kind", ["bytes", "bos", "words", "blanks", *SPLITS])
def test_ids_are_those_of_the_whole(kind: str) -> None:
    rng = random.Random(kind)
    rewritten = {
        name: sum(grow(source, small_tokenizer(kind), rng) for _ in range(part_of(8)))
        for name, source in TEMPLATES.items()
    }
    assert rewritten["an end"] > 0 < rewritten["another prompt"]


def test_what_is_new_alone_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    real = Encoder.ids

    def ids(self: Encoder, texts: Any, special: Any) -> Any:
        encoded.extend(texts)
        return real(self, texts, special)

    monkeypatch.setattr(Encoder, "ids", ids)
    talk = pp.ChatTemplate(CHATML).begin(TALK, small_tokenizer())
    for turn in range(60):
        talk = talk.extend([{"role": "user", "content": f"And {turn}?"}])
    assert sum(map(len, encoded)) < 2 * len(talk.text)


def test_a_rollout() -> None:
    """The answer follows the generation prompt; what a template puts there and takes away is an error that says so."""
    tokenizer = small_tokenizer("qwen")
    chat = pp.ChatTemplate(TEMPLATES["chatml"])
    prompted = chat.begin(TALK[:1], tokenizer, add_generation_prompt=True)
    longer = prompted.extend([*TALK[1:], *TALK[:1]])
    assert longer.has_generation_prompt
    assert tokenizer.decode(longer.new_ids, skip_special_tokens=False) == (
        "2.<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n"
    )
    # Talks never change, so that several may follow one.
    assert prompted.extend([{"role": "assistant", "content": "Two."}]).ids[: len(prompted.ids)] == prompted.ids
    assert pickle.loads(pickle.dumps(longer)).extend(TALK[1:]).ids == longer.extend(TALK[1:]).ids
    thinking = pp.ChatTemplate(TEMPLATES["another prompt"]).begin(TALK[:1], tokenizer, add_generation_prompt=True)
    with pytest.raises(pp.RenderError, match=r"from number \d+ of \d+ on: .*think.* becomes .*2\."):
        thinking.extend(TALK[1:])
    assert repr(longer).startswith("<Talk of 3 messages")


def test_tools_of_a_talk() -> None:
    chat = pp.ChatTemplate("{{ tools | length }}" + CHATML)
    columns = {"tools": [{"name": "f"}, {"name": "g"}]}
    talk = chat.begin(TALK, small_tokenizer(), columns=columns).extend(TALK)
    assert talk.text.startswith("2<|im_start|>")
    assert talk.ids == chat.tokenize([{"messages": TALK * 2, **columns}], small_tokenizer())["input_ids"][0].as_py()
