"""Token ids of lm-eval's requests beside its own Hugging Face model, with a wrapped tokenizer and without a net."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.noting_model import Tokenizer, noting_class
from parts.small_tokenizers import KINDS, small_tokenizer

pytest.importorskip("tokenizers")
pytest.importorskip("lm_eval.api.model")

TEXTS = ("The answer is", " 42", "Hello", "\n", " ", "  ", "naïve", "你好", "<s>", "</s>", "é" * 30, "a b c d e f g")


@pytest.fixture(scope="module")
def model_class(torch: Any) -> Any:
    """A class of the harness's model that notes what its net is asked."""
    return noting_class(torch)


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
