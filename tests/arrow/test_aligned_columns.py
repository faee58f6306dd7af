"""Columns that lie where the core can read them are found without a look at each; other columns are copied."""

from __future__ import annotations

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from promptpress._arrow.core_tables import checked

TEXTS = pa.array(["one", "two", "three"])


def texts_at(address: int) -> pa.Array:
    """The texts with offsets at an address that is so much more than a multiple of 64."""
    _, offsets, data = TEXTS.buffers()
    block = pa.allocate_buffer(offsets.size + 64)
    start = -block.address % 64 + address
    memoryview(block)[start : start + offsets.size] = memoryview(offsets)
    return pa.Array.from_buffers(pa.string(), len(TEXTS), [None, block.slice(start, offsets.size), data])


@pytest.mark.parametrize(("address", "aligned"), [(0, True), (8, True), (4, False), (1, False)])
def test_an_odd_address_is_found_in_any_column(address: int, aligned: bool) -> None:
    batch = pa.record_batch({"a": TEXTS, "b": pa.array([1, 2, 3]), "c": texts_at(address)})
    assert _core.is_aligned(batch) is aligned
    table = pa.Table.from_batches([batch])
    out = checked(table)
    assert (out is table) is aligned
    assert out.equals(table)
    assert pp.Renderer("{a} {c}").render(table)["prompt"].to_pylist() == ["one one", "two two", "three three"]


def test_slices_of_batches_are_aligned() -> None:
    assert _core.is_aligned(pa.record_batch({"a": TEXTS}).slice(1, 1))


def test_an_array_that_begins_before_its_buffers_is_not() -> None:
    before = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(bytes(64))], offset=-1)
    assert not _core.is_aligned(pa.record_batch([before], names=["a"]))


def test_a_batch_without_columns_is_aligned() -> None:
    assert _core.is_aligned(pa.record_batch([], names=[]))
