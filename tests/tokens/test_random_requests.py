"""Random conversations through templates and tokenizers: the ids are those of the library over the rendered texts.

Recorded templates and tokenizers are taken where they are at hand; they are no part of the project.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.growing_talks import grow
from parts.small_tokenizers import MARKS, SPLITS, small_tokenizer
from promptpress._config.tokenizer import load_tokenizer
from promptpress._tokens import encoder
from promptpress._tokens.encoder import Encoder
from test_recorded_cases import SHARED
from tokenizers import Tokenizer

ROWS = 1_000_000
TEMPLATES = 50
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
STRIPPING = "<s>{% for m in messages %}{{ m.role }}: {{ m.content | trim }}</s>{% endfor %}assistant:"
PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
WORDS = (
    "the answer is 42",
    "don't",
    "we'LL",
    " a/b//\n",
    "1234567",
    "  \n \n",
    "\r\n",
    "naïve",
    "日本語",
    "한국",
    "🙂",
    "👩\u200d👧",
    "e\u0301",
    "\u00a0",
    "...",
    "'s",
    "x",
    "\U0001fae8",
)


def conversations(rng: random.Random, count: int, marks: tuple[str, ...]) -> list[list[dict[str, str]]]:
    """Conversations of which some begin alike, with control tokens in data now and then."""

    def text() -> str:
        kinds = [WORDS] * 9 + [marks]
        return "".join(rng.choice(rng.choice(kinds)) for _ in range(rng.randint(0, 8)))

    beginnings = [
        [{"role": role, "content": text()} for _ in range(rng.randint(0, 2)) for role in ("user", "assistant")]
        for _ in range(3)
    ]
    systems = [[], [{"role": "system", "content": text()}]]
    return [[*rng.choice(systems), *rng.choice(beginnings), {"role": "user", "content": text()}] for _ in range(count)]


def compare(template: str, variables: dict[str, Any], tokenizer: Any, rows: list[Any]) -> int:
    """Compare the ids of conversations; return how many there were. A template may refuse some, or all."""
    messages = pa.array(rows, pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])))
    table = pa.table({"messages": messages})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            chat = pp.ChatTemplate(template, **variables)
        except pp.TemplateError:
            return 0
        texts = chat.render(table, errors="column")["prompt"].to_pylist()
        ids = chat.tokenize(table, tokenizer, errors="column")["input_ids"].to_pylist()
    present = [text for text in texts if text is not None]
    encodings = iter(tokenizer.encode_batch_fast(present, add_special_tokens=False))
    for text, of_row in zip(texts, ids, strict=True):
        assert of_row == (None if text is None else next(encodings).ids), text
    return len(present)


@pytest.mark.parametrize("kind", SPLITS)
def test_conversations_of_small_tokenizers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_WORTH_LOADING", 0)
    monkeypatch.setattr(Encoder, "_made", {})
    rng, tokenizer = random.Random(kind), small_tokenizer(kind)
    for template in (CHATML, STRIPPING, PLAIN):
        rows = conversations(rng, part_of(1200), MARKS)
        assert compare(template, {}, tokenizer, rows) == len(rows)


def recorded() -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield each recorded tokenizer with recorded templates."""
    lines = gzip.decompress((SHARED / "chat_templates" / "templates.jsonl.gz").read_bytes()).decode().split("\n")
    templates = [record for line in lines if line for record in [json.loads(line)] if "template" in record]
    paths = sorted((SHARED / "golden_tokens" / "tokenizers").glob("*.json.gz"))
    for number, path in enumerate(paths):
        chosen = random.Random(number).sample(templates, min(TEMPLATES, len(templates)))
        yield Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode()), chosen


@pytest.mark.full
def test_a_million_random_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SHARED / "golden_tokens" / "tokenizers").is_dir():
        pytest.skip(f"recorded tokenizers are not at hand: there is no {os.path.relpath(SHARED)}/golden_tokens")
    monkeypatch.setattr(encoder, "_WORTH_LOADING", 0)
    rng = random.Random(41)
    pairs = [(tokenizer, record) for tokenizer, records in recorded() for record in records]
    compared = 0
    for tokenizer, record in pairs:
        marks = tuple(token.content for token in tokenizer.get_added_tokens_decoder().values() if token.content)
        rows = conversations(rng, ROWS * 7 // 5 // len(pairs), marks[:40])
        compared += compare(record["template"], record.get("special_tokens", {}), tokenizer, rows)
    print(f"\n{compared:,} rows, 0 differ")
    assert compared >= ROWS


@pytest.mark.full
def test_talks_of_recorded_templates() -> None:
    if not (SHARED / "golden_tokens" / "tokenizers").is_dir():
        pytest.skip(f"recorded tokenizers are not at hand: there is no {os.path.relpath(SHARED)}/golden_tokens")
    rng, talks = random.Random(5), 0
    for tokenizer, records in recorded():
        loaded = load_tokenizer(tokenizer)  # once, for its file is long
        for record in records[:8]:
            with warnings.catch_warnings(), suppress(pp.RenderError, pp.TemplateError):
                warnings.simplefilter("ignore")
                grow(record["template"], loaded, rng, **record.get("special_tokens", {}))
                talks += 1
    print(f"\n{talks:,} talks, 0 differ")
    assert talks > 20
