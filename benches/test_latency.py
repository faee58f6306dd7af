"""Latency: ten rows through a ready renderer beside a bare round trip of the same arrays, and making a renderer.

A row of these is a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from equal_output import assert_equal
from in_turns import Sizes, Way, measured
from peers import samples_of
from peers.everyone import OURS
from peers.promptpress_peer import renderer_of
from record import Record
from workloads import BY_ID

CALL_ROWS = 10
CALLS = 1_000


class Exported:
    """An array as another library's: pyarrow takes it over by Arrow's C data interface."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.array.__arrow_c_array__(requested_schema)


def bare(samples: pa.Table, prompts: pa.Array) -> None:
    """Make the least that a call needs: export and import the samples, then export and import the prompts."""
    pa.RecordBatchReader.from_stream(samples).read_all()
    pa.array(Exported(prompts))


def ways(workload_id: str, calls: int) -> Iterator[Way]:
    workload, samples = BY_ID[workload_id], samples_of(workload_id, CALL_ROWS)
    renderer, examples = renderer_of(workload), workload.examples and workload.examples()
    (prompts,) = renderer.render(samples)["prompt"].chunks

    def again(call: Callable[[], Any]) -> Callable[[], None]:
        def work() -> None:
            for _ in range(calls):
                call()

        return work

    yield Way("ten rows", calls, again(lambda: renderer.render(samples)), role="ours")
    yield Way("bare", calls, again(lambda: bare(samples, prompts)))
    yield Way(
        "constructor", calls, again(lambda: promptpress.Renderer(**workload.config, examples=examples)), role="ours"
    )


@pytest.mark.parametrize("workload_id", ["zero", "five-text", "five-messages"])
def test_latency(workload_id: str, sizes: Sizes, record: Record) -> None:
    assert_equal(OURS[0], BY_ID[workload_id], CALL_ROWS)
    record("latency", workload_id, measured(ways(workload_id, sizes.ours(CALLS))))
