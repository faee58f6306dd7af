"""One sample with the examples that fit, for code that explains its requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress._engine.configured_engine import ConfiguredEngine
from promptpress._engine.fitted_run import ExampleChoices, with_examples
from promptpress._engine.options import RenderOptions


class FittedSample(NamedTuple):
    """Requests of one sample that have the same examples.

    Args:
        engine: Renders them without a budget.
        table: The sample, with a column of its examples if it needs one.
        requests: The numbers of the requests among all requests of the sample.
        turns: The turns of all requests of the sample, of conversations.

    """

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
