"""transformers' `apply_chat_template` with the drop-in on.

python examples/engines/on_transformers.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokenizers
from five_shot import OUT
from promptpress import transformers
from transformers import PreTrainedTokenizerFast

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer in memory; `AutoTokenizer.from_pretrained` gives that of a model."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(tokenizer_object=words, chat_template=CHATML, unk_token="[UNK]")


def prompts(chats: list[list[dict[str, Any]]]) -> list[str]:
    """All calls in this process go through the drop-in, until `disable()`; `with backend():` does it for a block."""
    transformers.enable()
    try:
        model = tokenizer()
        return [model.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats]
    finally:
        transformers.disable()


def prompt(chat: list[dict[str, Any]]) -> str:
    """One call goes through it."""
    return transformers.apply_chat_template(tokenizer(), chat, tokenize=False)


def main(out: Path = OUT) -> None:
    """Render some conversations into a file."""
    out.mkdir(parents=True, exist_ok=True)
    chats = [[{"role": "user", "content": f"What is {n} + {n}?"}] for n in range(100)]
    (out / "chats.txt").write_text("".join(prompts(chats)) + prompt(chats[0]), encoding="utf-8")


if __name__ == "__main__":
    main()
