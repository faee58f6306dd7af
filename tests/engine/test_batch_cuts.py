"""Batches cut by the bytes that are rendered of them: memory is bounded, and nothing else is seen of it."""

from __future__ import annotations

import random

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress.engine import BatchCuts, RenderOptions, engine_of

TARGET = 10_000
ROWS = 3000


def table_of(draw: random.Random) -> pa.Table:
    """Rows of one size, of random sizes, growing, or with few that are as large as a slice or ten."""
    most = draw.choice([0, 1, 30, 300])
    kind = draw.choice(["equal", "random", "growing", "sudden"])
    sizes = {
        "equal": lambda _: most,
        "random": lambda _: draw.randrange(most + 1),
        "growing": lambda row: most * row // ROWS,
        "sudden": lambda _: draw.choice([TARGET, 10 * TARGET]) if draw.random() < 0.01 else most,
    }[kind]
    column = pa.array(["x" * sizes(row) for row in range(ROWS)], draw.choice([pa.string(), pa.large_string()]))
    # What many rows share says nothing of a single one.
    return pa.table({"q": column.dictionary_encode() if kind != "sudden" and draw.random() < 0.2 else column})


def stream(table: pa.Table, template: str, size: int, cuts: BatchCuts | None, first: int = 0) -> list[pa.RecordBatch]:
    engine = engine_of(pp.Renderer(template))
    batches = table.slice(first).to_batches(size)
    return list(engine.stream(batches, RenderOptions.of((), "row"), first=first, cuts=cuts))


@pytest.mark.parametrize("seed", range(30))
def test_slices_are_the_table_whatever_its_rows(seed: int) -> None:
    draw = random.Random(seed)
    table, template, size = table_of(draw), "y" * draw.choice([0, 5, 400]) + "{q}", draw.choice([97, 1000, ROWS])
    slices = stream(table, template, size, BatchCuts(TARGET))
    assert pa.Table.from_batches(slices).equals(pa.Table.from_batches(stream(table, template, ROWS, BatchCuts(None))))
    for batch in slices[1:]:  # of the first, nobody knows how long its template is
        longest = max(len(text) for text in batch["prompt"].to_pylist())
        assert batch.nbytes <= max(4 * TARGET, 2 * longest)


@pytest.mark.parametrize("seed", range(10))
def test_who_goes_on_cuts_as_the_run_would_have_and_so_do_threads(seed: int) -> None:
    draw = random.Random(seed)
    table, size = table_of(draw), 500
    whole = stream(table, "y{q}", size, BatchCuts(TARGET))
    for threads in (1, 3):
        pp.set_threads(threads)
        try:
            assert stream(table, "y{q}", size, BatchCuts(TARGET)) == whole
        finally:
            pp.set_threads(None)
    first, cuts = draw.randrange(size, ROWS, size), BatchCuts(TARGET)
    before = stream(table.slice(0, first), "y{q}", size, cuts)
    later = BatchCuts(TARGET)
    later.restore(cuts.state)
    assert before + stream(table, "y{q}", size, later, first) == whole


def test_the_row_of_an_error_counts_over_all_slices() -> None:
    bytes_of_rows = pa.array([b"x" * 30] * (ROWS - 1) + [b"\xff"])
    texts = pa.StringArray.from_buffers(ROWS, *bytes_of_rows.buffers()[1:])
    with pytest.raises(pp.RenderError) as raised:
        stream(pa.table({"q": texts}), "{q}", ROWS, BatchCuts(TARGET))
    assert raised.value.row == ROWS - 1


def test_batches_are_whole_where_they_are_small_or_have_a_number_of_rows() -> None:
    table = pa.table({"q": ["x" * 100] * ROWS})
    assert [batch.num_rows for batch in stream(table, "{q}", 1000, BatchCuts(None))] == [1000] * 3
    assert [batch.num_rows for batch in stream(table, "{q}", 1000, None)] == [1000] * 3
    assert len(stream(table, "{q}", 1000, BatchCuts(TARGET))) > 20
