"""The bill of a batch beside a plain simulation of the services' rules, and tables of prices."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from promptpress import ConfigError
from promptpress.engine.tokens import load_tokenizer
from promptpress_workbench.cli.bill import add_requests
from promptpress_workbench.prompts.request_tree import RequestTree
from promptpress_workbench.statistics.bill import Bill, marks_of
from promptpress_workbench.statistics.prices import Cache, Price, Prices, read_prices
from tokenizers import Tokenizer

TOKENIZER = "examples/start/model/tokenizer.json"
Message = dict[str, str]


def bytes_of(text: str) -> list[Any]:
    """The tokens of a text by the estimate: four bytes each."""
    raw = text.encode()
    return [raw[start : start + 4] for start in range(0, len(raw), 4)]


@lru_cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(TOKENIZER)


def of_tokenizer(text: str) -> list[Any]:
    return list(tokenizer().encode(text, add_special_tokens=False).ids)


def simulated_marks(talks: list[list[Message]], tokens: Any, cache: Cache, enough: int) -> list[list[int]]:
    """For each talk the numbers of messages after which it has a mark, by the rules as they are written down."""

    def beginning(talk: list[Message], count: int) -> tuple[Any, ...]:
        return tuple((message["role"], message["content"]) for message in talk[:count])

    shared = Counter(beginning(talk, count) for talk in talks for count in range(1, len(talk) + 1))
    out = []
    for talk in talks:
        marks: list[int] = []
        for count in range(len(talk), 0, -1):
            size = sum(len(tokens(message["content"])) for message in talk[:count])
            requests = shared[beginning(talk, count)]
            longer = shared[beginning(talk, marks[-1])] if marks else 0
            may_end = cache.answers or talk[count - 1]["role"] != "assistant"
            if may_end and size >= cache.minimum and requests >= enough and requests > longer:
                marks.append(count)
        if len(marks) > cache.most:
            marks = [*marks[: cache.most - 1], marks[-1]]
        out.append(marks[::-1])
    return out


def in_blocks(talk: list[Message], tokens: Any) -> list[tuple[tuple[str, ...], Any]]:
    """The tokens of a talk, each with the roles of the messages that begin before it."""
    out, begun = [], tuple[str, ...]()
    for message in talk:
        begun += (message["role"],)
        for token in tokens(message["content"]):
            out.append((begun, token))
            begun = ()
    return out


def simulated(
    talks: list[list[Message]], tokens: Any, cache: Cache, *, enough: int, kept: int, order: list[int]
) -> tuple[int, int, int]:
    """All tokens, those read and those written, of a service that looks at one request after the other."""
    marks = simulated_marks(talks, tokens, cache, enough)
    last: dict[Any, int] = {}
    total = read = written = 0
    for now, number in enumerate(order):
        talk = talks[number]
        sequence = in_blocks(talk, tokens)
        total += len(sequence)
        if cache.marks:
            sizes = [sum(len(tokens(message["content"])) for message in talk[:count]) for count in marks[number]]
            keys = [str(talk[:count]) for count in marks[number]]
        else:
            sizes = list(range(cache.minimum, len(sequence) + 1, cache.step))
            keys = [str(sequence[:size]) for size in sizes]
        served = max(
            (s for s, key in zip(sizes, keys, strict=True) if key in last and now - last[key] <= kept), default=0
        )
        read += served
        if cache.marks:
            written += max(sizes, default=0) - served
        last |= dict.fromkeys(keys, now)
    return total, read, written


def random_talks(rng: random.Random) -> list[list[Message]]:
    """Talks that begin alike here and there: by system prompts, examples, earlier turns, whole requests."""

    def text() -> str:
        return " ".join(rng.choice(["what", "é", "a b", "two", "日本", ""]) for _ in range(rng.randint(0, 6)))

    systems = [[{"role": "system", "content": text()}] for _ in range(3)] + [[]]
    shots = [[{"role": role, "content": text()} for role in ("user", "assistant")] for _ in range(4)]
    talks: list[list[Message]] = []
    for _ in range(rng.randint(1, 40)):
        if talks and rng.random() < 0.4:
            talk = list(rng.choice(talks))[: rng.randint(1, 6)]
        else:
            talk = [*rng.choice(systems), *(message for shot in shots[: rng.randint(0, 3)] for message in shot)]
        talk.append({"role": "user", "content": text()})
        talks.append(talk)
    return talks


@pytest.mark.parametrize("seed", range(60))
def test_tokens_are_those_of_a_simulation(seed: int) -> None:
    rng = random.Random(seed)
    talks = random_talks(rng)
    cache = Cache(*(rng.random() < 0.5 for _ in range(2)), rng.randint(1, 12), rng.randint(1, 4), rng.randint(1, 4))
    enough, kept, tokens = rng.randint(2, 3), rng.choice([1, 3, 100]), rng.choice([bytes_of, of_tokenizer])
    order = rng.sample(range(len(talks)), len(talks))
    counter = load_tokenizer(TOKENIZER) if tokens is of_tokenizer else None
    tree = RequestTree(counter, None if cache.marks else (cache.minimum, cache.step))
    is_json = rng.random() < 0.5
    for start in range(0, len(talks), 7):
        some = talks[start : start + 7]
        tree.add(pa.array([json.dumps(talk) for talk in some] if is_json else some), is_json=is_json)
    rules = marks_of(cache, enough)
    if cache.marks:
        assert tree.marks(0, len(talks), rules).to_pylist() == simulated_marks(talks, tokens, cache, enough)
    served = tree.served(order, kept, rules if cache.marks else None)
    assert served == simulated(talks, tokens, cache, enough=enough, kept=kept, order=order)


def test_tools_are_what_requests_begin_with() -> None:
    tree = RequestTree(None)
    talks = pa.array([[{"role": "user", "content": "abcd"}]] * 4)
    tree.add(talks, is_json=False, tools=pa.array(["8 bytes.", "8 bytes.", "other", None]))
    assert tree.marks(0, 4, (3, 2, 4, False, False)).to_pylist() == [[1], [1], [], []]
    assert tree.served(None, 9, (3, 2, 4, False, False)) == (3 + 3 + 3 + 1, 3, 3)


def test_a_null_is_no_request_and_texts_are_the_message_of_a_user() -> None:
    tree = RequestTree(None)
    tree.add(pa.array(["12345678", None, "12345678"]), is_json=False)
    assert len(tree) == 2
    assert tree.served(None, 1, (2, 2, 1, False, False)) == (4, 2, 2)


PRICE = Price(
    "m", input=2.0, output=8.0, cached=0.5, written=2.5, batch=0.5, cache=Cache(marks=True, minimum=1), kept=9
)


def test_a_bill_has_each_order_and_answers() -> None:
    bill = Bill(Prices("EUR", (PRICE,)), None)
    bill.add(pa.array(["x" * 4_000_000] * 4), is_json=False)
    (model,) = bill.to_dict({"file_order": None}, 500_000)["models"]
    assert model["no_cache"] == {"input_cost": 4 * 2.0 / 2}
    assert model["file_order"] == {"cached_tokens": 3_000_000, "written_tokens": 1_000_000, "input_cost": 2.0}
    assert model["output_cost"] == 0.5 * 8 / 2


def test_a_mark_pays_where_writing_costs_less_than_sending() -> None:
    assert PRICE.enough == 2
    assert replace(PRICE, written=2.0).enough == 2
    assert replace(PRICE, written=4.0).enough == 3  # 4.0 + 0.5 * 2 is less than 3 * 2.0
    assert replace(PRICE, written=3.5).enough == 3  # 3.5 + 0.5 is not less than 2 * 2.0
    assert replace(PRICE, cached=2.0).enough > 10**9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: {m: {input: 1}}", "models.m: the price 'output'"),
        ("models: {m: {input: 1, output: -2}}", "models.m.output: expected a number from 0 on, found -2"),
        ("models: {m: {input: 1, output: .nan}}", "models.m.output"),
        ("models: {m: {input: true, output: 1}}", "models.m.input"),
        ("models: {m: {input: 1, output: 2, cache: openai}}", "models.m: the price 'cached'"),
        ("models: {m: {input: 1, output: 2, cached: 1, cache: x}}", "models.m.cache: expected one of openai"),
        ("models: {m: {input: 1, output: 2, cashed: 1}}", "did you mean 'cached'?"),
        ("models: {m: {input: 1, output: 2, cached: 1, kept: 0}}", "models.m.kept: expected a whole number from 1 on"),
        ("models: {m: 3}", "models.m: expected keys with values"),
        ("models: {}", "models: it has no model"),
        ("model: {}", "the table: unknown key 'model'"),
        ("- 1", "the table: expected keys with values"),
        ("{", "not valid YAML"),
    ],
)
def test_a_wrong_table_of_prices_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_prices(str(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_table_of_prices_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models: {a: {input: 2, output: 3}, b: {input: 2, output: 3, cached: 1, step: 1, minimum: 9}}")
    first, second = read_prices(str(path)).models
    assert (first.cached, first.written, first.batch, first.cache) == (2, 2, 1, None)
    assert second.cache == Cache(marks=False, minimum=9, step=1)
    with pytest.raises(ConfigError, match="it has no price of the model 'c'"):
        read_prices(str(path)).of("c", str(path))


def test_parameters_of_all_stand_before_the_tools_of_rows() -> None:
    trees = [RequestTree(None), RequestTree(None)]
    talks = [[{"role": "user", "content": text}] for text in ("four", "five", "four")]
    tools = ["[1]", None, "[1]"]
    batch = pa.record_batch({"prompt": talks, "tools": tools})
    add_requests(trees[:1], [batch], "prompt", "tools", is_json=False, same="all ")
    trees[1].add(pa.array(talks), is_json=False, tools=pa.array(["all [1]", "all ", "all [1]"]))
    rules = (2, 2, 4, False, False)
    assert trees[0].marks(0, 3, rules).to_pylist() == trees[1].marks(0, 3, rules).to_pylist() == [[1], [], [1]]
    assert trees[0].tokens == trees[1].tokens == 3 + 2 + 3
