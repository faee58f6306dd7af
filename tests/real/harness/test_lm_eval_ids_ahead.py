"""Token ids that lm-eval's Hugging Face model asks for: the same with the backend on and off."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import promptpress.lm_eval
import pytest
from amounts import part_of
from parts.noting_model import Tokenizer, noting_class
from parts.small_tokenizers import KINDS, small_tokenizer

pytest.importorskip("tokenizers")
pytest.importorskip("lm_eval.api.model")

from promptpress_harness.lm_eval.backend import ids_ahead

WORDS = ("The answer is", " 42", "Hello", "\n", " ", "  ", "naïve", "你好", "<s>", "</s>", "é" * 3, "a b c d e f g", "")


@pytest.fixture(scope="module")
def model_class(torch: Any) -> Any:
    return noting_class(torch)


def requests(rng: random.Random, count: int) -> list[Any]:
    """Requests of a few contexts with several continuations each, some of them odd."""
    text = lambda most: "".join(rng.choices(WORDS, k=rng.randint(0, most)))  # noqa: E731
    contexts = [text(12) for _ in range(count // 4 + 1)]
    shared = rng.choice([None, "Always this. "])
    pairs = [(shared or contexts[n // 4], text(4) or "x") for n in range(count)]
    if rng.random() < 0.3:
        rng.shuffle(pairs)
    return [SimpleNamespace(args=pair) for pair in pairs]


def noted(model: Any, calls: list[Any]) -> Any:
    """Return what the model has read and scored, or the exception of the harness."""
    try:
        model.loglikelihood(calls, disable_tqdm=True)
    except (AssertionError, IndexError) as error:
        return type(error), str(error)
    return model.read, model.scored


def both(model_class: Any, rng: random.Random, count: int) -> tuple[int, int]:
    """Compare a model with the backend off and on; return how many texts its own tokenizer encoded."""
    bos, adds = rng.choice([None, "<s>"]), rng.choice([None, None, True, False])
    small, calls = small_tokenizer(rng.choice(KINDS)), requests(rng, count)
    off, on = (model_class(Tokenizer(small, bos), rng.choice([30, 200]), adds) for _ in range(2))
    on.max_length = off.max_length
    wanted = noted(off, calls)
    with promptpress.lm_eval.backend():
        got = noted(on, calls)
    assert got == wanted
    assert on.tokenizer is not None
    assert type(on.tokenizer) is Tokenizer
    return len(off.tokenizer.encoded), len(on.tokenizer.encoded)


def test_models_get_the_same_ids(model_class: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    monkeypatch.setattr(ids_ahead, "_WORTH_IT", 2)
    for _ in range(part_of(150)):
        block = rng.choice([1, 3, 16, 2048])
        monkeypatch.setattr(ids_ahead, "_BLOCK", block)
        monkeypatch.setattr(ids_ahead, "_KEPT", rng.choice([1, 4]) * block)
        both(model_class, rng, rng.randint(1, 60))


def test_few_texts_are_left_to_the_tokenizer_of_the_model(model_class: Any) -> None:
    counts = [both(model_class, random.Random(seed), 4000) for seed in range(3)]
    assert all(on < off / 50 for off, on in counts), counts


def test_a_tokenizer_that_encodes_otherwise_is_believed(model_class: Any) -> None:
    class Odd(Tokenizer):
        def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
            return super().encode(text, add_special_tokens)[::-1]

    calls = requests(random.Random(5), 300)
    off, on = (model_class(Odd(small_tokenizer(KINDS[0]), None), 200, None) for _ in range(2))
    wanted = noted(off, calls)
    with promptpress.lm_eval.backend():
        assert noted(on, calls) == wanted
    assert len(on.tokenizer.encoded) >= len(off.tokenizer.encoded)


@pytest.mark.parametrize("tokenizer", ["slow", "none", "broken"])
def test_other_tokenizers_are_left_alone(model_class: Any, tokenizer: str) -> None:
    def new_tokenizer() -> Any:
        made = Tokenizer(small_tokenizer(KINDS[0]), None)
        if tokenizer == "slow":
            made.is_fast = False  # type: ignore[misc]  # an attribute of this one
        elif tokenizer == "none":
            del made.backend_tokenizer
        else:
            made.backend_tokenizer = object()
        return made

    calls = requests(random.Random(6), 100)
    off, on = (model_class(new_tokenizer(), 200, None) for _ in range(2))
    wanted = noted(off, calls)
    with promptpress.lm_eval.backend():
        assert noted(on, calls) == wanted
    assert on.tokenizer.encoded == off.tokenizer.encoded
