"""Origins of the bytes of one request, and one sample with the examples that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress._arrow.core_tables import for_core
from promptpress._config.configuration import label_or_text, labels_of
from promptpress._core import RenderError
from promptpress._engine.configured_engine import ConfiguredEngine
from promptpress._engine.configured_run import ExampleChoices, with_examples
from promptpress._engine.options import RenderOptions
from promptpress._errors.errors import of_row, render_error


class FittedSample(NamedTuple):
    """Requests of one sample that have the same examples, by their numbers, and the turns of all its requests."""

    engine: ConfiguredEngine
    table: pa.Table
    requests: list[int]
    turns: Sequence[int | None]


def fitted_sample(engine: ConfiguredEngine, sample: pa.Table, row: int, labels: list[Any] | None) -> list[FittedSample]:
    """Return the requests of a sample, together where they have the same examples."""
    assert engine.fit is not None
    run = engine.begin(RenderOptions(), labels, row)
    shots: list[int] = []
    turns: list[int | None] = []
    for part in run.parts(sample, row):
        counts: Any = part.more[0]  # type: ignore[union-attr]  # a run with a budget gives these columns
        shots += counts.to_pylist()
        turns += [None] * len(counts) if part.turns is None else part.turns.to_pylist()
    (examples,) = ExampleChoices(engine.configuration).of_samples(sample, row)
    if not examples and not engine.core.by_position and engine.core.index_column is None:
        return [FittedSample(engine.unfitted, sample, list(range(len(shots))), turns)]
    configuration, column = engine.chosen
    plain = ConfiguredEngine(configuration, engine.chat, silent=True)
    out = []
    for count in sorted(set(shots), reverse=True):
        kept = list(examples)
        while len(kept) > count:
            kept = engine.fit.shorter(kept)
        requests = [number for number, of_request in enumerate(shots) if of_request == count]
        out.append(FittedSample(plain, with_examples(sample, column, [kept]), requests, turns))
    return out


def origin_spans(engine: ConfiguredEngine, table: pa.Table, row: int, label: object, turn: int | None) -> pa.Table:
    """Make the table that `Renderer.explain` returns."""
    if turn is not None and turn < 0:
        raise render_error("turn_out_of_range", "turn: turns count from 0", row=row)
    if not 0 <= row < len(table):
        message = f"there is no such row: rows count from 0, and the table has {len(table)}"
        raise render_error("row_out_of_range", message, row=row)
    core, (core_table, python_text) = engine.core, for_core(table)
    labels = labels_of(core, table, core_table)
    if engine.fit is not None:
        return _fitted_spans(engine, table, row, labels, label=label, turn=turn)
    batch = core.explain(core_table, row, labels, label_or_text(label), turn, python_text)
    return pa.Table.from_batches([batch]) if engine.chat is None else _spans_of_text(engine, table, row, turn)


def _fitted_spans(
    engine: ConfiguredEngine, table: pa.Table, row: int, labels: list[Any] | None, *, label: object, turn: int | None
) -> pa.Table:
    """Return the spans of a request with the examples that fit."""
    of_sample = fitted_sample(engine, table.slice(row, 1), row, labels)
    number = 0
    if labels is not None and label is not None:
        wanted = label_or_text(label)
        equal = [n for n, other in enumerate(labels) if other == wanted or str(other) == str(wanted)]
        number = equal[0] if equal else 0
    elif turn is not None and turn in of_sample[0].turns:
        number = of_sample[0].turns.index(turn)
    fitted = next(fitted for fitted in of_sample if number in fitted.requests)
    # The values of one row aren't all labels.
    of_labels = fitted.engine if engine.core.label_column is None else fitted.engine.changed(labels=labels)
    try:
        return origin_spans(of_labels, fitted.table, 0, label, turn)
    except RenderError as error:
        raise of_row(error, row) from None


def _spans_of_text(engine: ConfiguredEngine, table: pa.Table, row: int, turn: int | None) -> pa.Table:
    """Return the spans of a text that a chat template has made of messages."""
    engine.check_table()
    run = engine.begin(RenderOptions.of((), spans="detailed"), None, row)
    for part in run.parts(table.slice(row, 1), row):
        turns = [None] * len(part.prompts) if part.turns is None else part.turns.to_pylist()
        for number, spans in enumerate(part.spans or ()):
            if turn in (None, turns[number]):
                return pa.Table.from_batches([pa.RecordBatch.from_struct_array(spans.values)])
    raise render_error("internal_error", "the request has no text", row=row)
