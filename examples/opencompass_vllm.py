"""A vLLM model for OpenCompass whose prompts are rendered and encoded in bulk.

OpenCompass renders and encodes the prompts of a batch one by one, before it gives vLLM their `prompt_token_ids`. This
class gives it the texts and ids that promptpress has made of the whole batch. All else is the harness's own. In a
model's configuration it takes the place of the class that it is made of:

    models = [dict(type=BulkVLLM, path="Qwen/Qwen3-8B", abbr="qwen3-8b", max_out_len=1024, batch_size=1024)]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promptpress as pp
from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages
from opencompass.models.vllm_with_tf_above_v4_33 import VLLMwithChatTemplate


class BulkVLLM(VLLMwithChatTemplate):  # type: ignore[misc]  # the harness has no types
    """Gives vLLM the token ids of a batch of prompts that were rendered and encoded at once."""

    def generate(self, inputs: list[Any], max_out_len: int, *arguments: Any, **options: Any) -> list[str]:
        """Return an answer for each input, as the harness's class does."""
        if self.fastchat_template:
            return list(super().generate(inputs, max_out_len, *arguments, **options))
        tokenizer = self.tokenizer
        self.tokenizer = _Encoded(self._encoded(inputs))
        try:
            return list(super().generate(inputs, max_out_len, *arguments, **options))
        finally:
            self.tokenizer = tokenizer

    def _encoded(self, inputs: list[Any]) -> Iterator[tuple[str, list[int]]]:
        """Return the text and the ids of each input."""
        if not hasattr(self, "chat"):
            arguments = {"add_generation_prompt": True, **self.chat_template_kwargs}
            self.chat = pp.ChatTemplate.from_tokenizer(self.tokenizer, **arguments)
        rows = [{"messages": messages} for messages in _convert_chat_messages(inputs)]
        texts = self.chat.render(rows)["prompt"].to_pylist()
        ids = self.chat.tokenize(rows, self.tokenizer, add_special_tokens=False)["input_ids"].to_pylist()
        return zip(texts, ids, strict=True)


class _Encoded:
    """A stand-in for a tokenizer that has rendered and encoded what it will be asked for."""

    def __init__(self, prompts: Iterator[tuple[str, list[int]]]) -> None:
        self._prompts = list(prompts)
        self._texts = iter([text for text, _ in self._prompts])
        self._ids = dict(self._prompts)

    def apply_chat_template(self, _: Any, **__: Any) -> str:
        return next(self._texts)

    def encode(self, text: str, **_: Any) -> list[int]:
        return self._ids[text]
