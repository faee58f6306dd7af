"""Token ids of lm-eval's requests beside its own Hugging Face model, with a wrapped tokenizer and without a net."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
import stubs
from amounts import part_of
from parts.small_tokenizers import KINDS, small_tokenizer

pytest.importorskip("tokenizers")
pytest.importorskip("lm_eval.api.model")

STAND_INS = ("transformers", "accelerate", "peft", "evaluate", "scipy", "sklearn", "sacrebleu", "tenacity")
TEXTS = ("The answer is", " 42", "Hello", "\n", " ", "  ", "naïve", "你好", "<s>", "</s>", "é" * 30, "a b c d e f g")


class Tokenizer:
    """The methods of a tokenizer of transformers that the harness calls, over one of the library `tokenizers`."""

    padding_side = "right"

    def __init__(self, tokenizer: Any, bos: str | None) -> None:
        self.tokenizer = tokenizer
        self.bos_token, self.eos_token = bos, "</s>"
        self.bos_token_id = None if bos is None else tokenizer.token_to_id(bos)
        self.eos_token_id = tokenizer.token_to_id("</s>")

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, number: int) -> str:
        return str(self.tokenizer.decode([number], skip_special_tokens=False))

    def __call__(self, texts: list[str], *, add_special_tokens: bool = True, **options: Any) -> dict[str, Any]:
        import torch

        assert options == {"truncation": False, "padding": "longest", "return_tensors": "pt"}
        ids = torch.tensor([self.encode(text, add_special_tokens) for text in texts], dtype=torch.long)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


@pytest.fixture(scope="module")
def model_class(torch: Any) -> Any:
    """A class of the harness's model that notes what its net is asked."""
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


def text(rng: random.Random) -> str:
    return "".join(rng.choices(TEXTS, k=rng.randint(0, 5)))


def test_requests_are_cut_as_by_the_harness(model_class: Any) -> None:
    rng, counts = random.Random(3), {"cut": 0, "whole": 0, "refused": 0}
    for _ in range(part_of(400)):
        bos, adds = rng.choice([None, "<s>"]), rng.choice([None, None, True, False])
        tokenizer = Tokenizer(small_tokenizer(rng.choice(KINDS)), bos)
        most, room = rng.randint(5, 60), rng.randint(1, 30)
        is_scored = rng.random() < 0.7
        context, continuation = rng.choice(["", text(rng), text(rng)]), text(rng)
        pair: Any = (context, continuation) if is_scored else (context, {"until": ["\n"], "max_gen_toks": room})
        model = model_class(tokenizer, most, adds)
        requests = requests_of(pair)
        options = {"max_length": most, "add_bos_token": adds, "bos_token": bos}
        prefix = tokenizer.bos_token_id if bos else tokenizer.eos_token_id
        try:
            if is_scored:
                model.loglikelihood([SimpleNamespace(args=pair)], disable_tqdm=True)
                expected = (model.read[0], model.scored[0])
            else:
                assert most - room > 0
                ids, _ = model.tok_batch_encode([context], left_truncate_len=most - room, truncation=False)
                expected = (ids.tolist()[0], None)
        except (AssertionError, IndexError):
            counts["refused"] += 1
            with pytest.raises(pp.RenderError):
                pp.lm_eval.tokenize(requests, tokenizer.tokenizer, prefix_token_id=prefix, **options)
            continue
        (row,) = pp.lm_eval.tokenize(requests, tokenizer.tokenizer, prefix_token_id=prefix, **options).to_pylist()
        assert (row["input_ids"], row["continuation_ids"]) == expected
        assert row["n_tokens"] == len(expected[0])
        counts["cut" if row["truncated"] else "whole"] += 1
    assert min(counts.values()) > 0, counts


def requests_of(pair: Any) -> pa.Table:
    """Return the table of a task whose one request has these arguments."""
    is_scored = isinstance(pair[1], str)
    config: dict[str, Any] = {
        "task": "t",
        "test_split": "test",
        "doc_to_text": "{{context}}",
        "doc_to_target": "{{continuation}}",
        "target_delimiter": "",
        "output_type": "loglikelihood" if is_scored else "generate_until",
    }
    if not is_scored:
        config["generation_kwargs"] = pair[1]
    made = pp.lm_eval.requests(config, {"context": [pair[0]], "continuation": [pair[1] if is_scored else "x"]})
    assert made["arguments"].to_pylist() == [pair]
    return made
