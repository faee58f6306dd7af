"""Rows whose values bring in placeholders, which the harness fills: their cost to the same table without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from in_turns import Sizes, Way, measured
from peers import samples_of
from peers.promptpress_peer import renderer_of
from record import Record
from texts import repeated, with_placeholders, word_problems
from workloads import BY_ID

ROWS = 200_000
BATCH = 65_536


def string(count: int) -> tuple[promptpress.Renderer, pa.Table]:
    """A template of one column, and word problems."""
    return promptpress.Renderer("Question: {question}\nAnswer: ", dialect="opencompass"), repeated(
        word_problems("train"), count, ["question"]
    )


def five_text(count: int) -> tuple[promptpress.Renderer, pa.Table]:
    return renderer_of(BY_ID["five-text"]), samples_of("five-text", count)


def drained(renderer: promptpress.Renderer, samples: pa.Table) -> Any:
    """Work that renders batch by batch, each into the memory of the one before."""

    def work() -> None:
        for _ in renderer.stream(samples.to_reader(BATCH)):
            pass

    return work


def ways(name: str, count: int) -> Iterator[Way]:
    renderer, clean = (string if name == "string" else five_text)(count)
    column = clean.column_names[0]
    yield Way("none", count, drained(renderer, clean), 1, "ours")
    for every in (1000, 100, 24):
        samples = with_placeholders(clean, every, column, f"{{{column}}}")
        yield Way(f"one row in {every:,}", count, drained(renderer, samples), 1, "ours")


@pytest.mark.parametrize("name", ["string", "five-text"])
def test_filled_rate(name: str, sizes: Sizes, record: Record) -> None:
    record("filled", name, measured(ways(name, sizes.ours(ROWS))))
