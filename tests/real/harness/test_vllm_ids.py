"""`examples/opencompass_vllm.py` beside OpenCompass's own model for vLLM: the LLM class gets the same ids.

vLLM itself is a stand-in, and so is transformers' tokenizer, because neither is there; the harness's code is real.
"""

from __future__ import annotations

import importlib.util
import logging
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")
sandbox = pytest.importorskip("jinja2.sandbox")
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer  # noqa: E402 - needs tokenizers

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "opencompass_vllm.py"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if not thinks %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
TEXTS = (*WORDS, *MARKS, " ", "\n", "é", "日本", "{q}")


class Tokenizer:
    """The parts of a fast tokenizer of transformers that the harness and promptpress use."""

    chat_template = TEMPLATE
    special_tokens_map = {"bos_token": "<s>"}  # noqa: RUF012 - as in transformers
    eos_token = "<|im_end|>"

    def __init__(self, kind: Any) -> None:
        self.backend_tokenizer = small_tokenizer(kind)
        self.calls = 0
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        self.template = environment.from_string(TEMPLATE)

    def apply_chat_template(self, messages: Any, tokenize: bool, **variables: Any) -> str:
        assert not tokenize
        self.calls += 1
        return str(self.template.render(messages=messages, **self.special_tokens_map, **variables))

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        self.calls += 1
        return list(self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)


class LLM:
    """A stand-in for vLLM's class that notes what it gets."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def generate(self, prompts: list[Any], sampling: Any) -> list[Any]:
        self.requests.append((prompts, sampling))
        return [SimpleNamespace(prompt=p["prompt"], outputs=[SimpleNamespace(text=p["prompt"][-9:])]) for p in prompts]


@pytest.fixture
def example(opencompass: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    assert opencompass
    from opencompass.models import vllm_with_tf_above_v4_33

    monkeypatch.setattr(vllm_with_tf_above_v4_33, "SamplingParams", dict)
    spec = importlib.util.spec_from_file_location("opencompass_vllm", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model_of(kind: Any, tokenizer: Any, **settings: Any) -> Any:
    """Make a model without loading one."""
    model = object.__new__(kind)
    attributes = {"fastchat_template": None, "stop_words": ["x"], "lora_path": None, "generation_kwargs": {"top_k": 1}}
    vars(model).update(
        {"tokenizer": tokenizer, "model": LLM(), "logger": logging.getLogger("test"), **attributes, **settings}
    )
    return model


def inputs(rng: random.Random) -> list[Any]:
    from opencompass.utils.prompt import PromptList

    def text() -> str:
        return "".join(rng.choices(TEXTS, k=rng.randint(0, 9)))

    out: list[Any] = []
    for _ in range(rng.randint(1, 8)):
        roles = rng.choices(["HUMAN", "BOT", "SYSTEM"], k=rng.randint(1, 6))
        prompt = PromptList([{"role": "HUMAN", "prompt": "?"}, *({"role": role, "prompt": text()} for role in roles)])
        out.append(rng.choice([text() or "?", prompt]))
    return [*out, out[0]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chat_template_kwargs", [{}, {"thinks": True}])
def test_vllm_gets_the_ids_of_the_harness(example: Any, kind: Any, chat_template_kwargs: dict[str, Any]) -> None:
    from opencompass.models.vllm_with_tf_above_v4_33 import VLLMwithChatTemplate

    rng = random.Random(f"{kind} {chat_template_kwargs}")
    ours, theirs = (
        model_of(model, Tokenizer(kind), chat_template_kwargs=chat_template_kwargs)
        for model in (example.BulkVLLM, VLLMwithChatTemplate)
    )
    for number in range(20):
        batch = inputs(rng)
        answers = [model.generate(batch, 7 + number, stopping_criteria=["y"]) for model in (ours, theirs)]
        assert answers[0] == answers[1]
    assert repr(ours.model.requests) == repr(theirs.model.requests)
    assert [set(prompt) for prompt in ours.model.requests[0][0]] == [{"prompt", "prompt_token_ids"}] * len(
        ours.model.requests[0][0]
    )
    assert (ours.tokenizer.calls, theirs.tokenizer.calls > 0) == (0, True)
