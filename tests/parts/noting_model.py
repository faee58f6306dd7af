"""The Hugging Face model of lm-evaluation-harness, over a small tokenizer and without a net."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import stubs

STAND_INS = ("transformers", "accelerate", "peft", "evaluate", "scipy", "sklearn", "sacrebleu", "tenacity")


class Tokenizer:
    """The methods of a tokenizer of transformers that the harness calls, over one of the library `tokenizers`."""

    padding_side = "right"
    is_fast = True

    def __init__(self, tokenizer: Any, bos: str | None) -> None:
        self.tokenizer = self.backend_tokenizer = tokenizer
        self.encoded: list[str] = []
        self.bos_token, self.eos_token = bos, "</s>"
        self.bos_token_id = None if bos is None else tokenizer.token_to_id(bos)
        self.eos_token_id = tokenizer.token_to_id("</s>")

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        self.encoded.append(text)
        return list(self.tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, number: int) -> str:
        return str(self.tokenizer.decode([number], skip_special_tokens=False))

    def __call__(self, texts: list[str], *, add_special_tokens: bool = True, **options: Any) -> dict[str, Any]:
        import torch

        assert options == {"truncation": False, "padding": "longest", "return_tensors": "pt"}
        ids = torch.tensor([self.encode(text, add_special_tokens) for text in texts], dtype=torch.long)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def noting_class(torch: Any) -> Any:
    """Return a class of the harness's model that notes what its net is asked."""
    stubs.install(STAND_INS)
    huggingface = pytest.importorskip("lm_eval.models.huggingface")

    class Noting(huggingface.HFLM):  # type: ignore[misc]  # known when it runs
        max_length = 0
        max_gen_toks = 256

        def __init__(self, tokenizer: Tokenizer, most: int, add_bos_token: bool | None) -> None:
            self.tokenizer = tokenizer
            self.enable_thinking = None
            self.backend, self.add_bos_token, self.custom_prefix_token_id = "causal", add_bos_token, None
            self.read: list[list[int]] = []
            self.scored: list[list[int]] = []
            self.max_length = most
            self.batch_size_per_gpu, self.logits_cache, self.softmax_dtype = 1, False, None
            self._rank, self._world_size, self._device = 0, 1, torch.device("cpu")
            self.cache_hook = SimpleNamespace(add_partial=lambda *_: None)

        def _model_call(self, inps: Any, **_: Any) -> Any:
            self.read += inps.tolist()
            return torch.zeros((*inps.shape, self.tokenizer.tokenizer.get_vocab_size()))

        def _loglikelihood_tokens(self, requests: Any, **options: Any) -> Any:
            self.scored += [continuation for _, _, continuation in requests]
            return super()._loglikelihood_tokens(requests, **options)

    return Noting
