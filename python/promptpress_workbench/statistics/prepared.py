"""Statistics of prepared data sets of token ids: lengths, trained tokens, and rows in which nothing is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import counted
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.prompts.failed_rows import FailedRows
from promptpress_workbench.prompts.prepared_source import prepared_batches
from promptpress_workbench.statistics.collect import length_summary, sliced
from promptpress_workbench.statistics.statistics import errors_table, histogram_table, lengths_table, report

_MAX_FIRST = 10


def prepared_statistics(batches: Iterable[pa.RecordBatch], ids_column: str) -> dict[str, Any]:
    """Measure the rows of a prepared data set, batch by batch: `trained` is None if no column says what is trained."""
    lengths = {"tokens": _core.Lengths(0), "trained": _core.Lengths(0)}
    errors, first_untrained = FailedRows(), list[int]()
    rows, untrained, has_masks = 0, 0, False
    for batch in sliced(batches):
        for start, prepared in prepared_batches(batch, ids_column):
            first = rows + start
            if not prepared.is_sound:
                errors.add(pa.array([first], pa.int64()), prepared.errors)
                continue
            tokens, trained = prepared.counts()
            lengths["tokens"].add(first, tokens.cast(pa.uint64()))
            if trained is not None:
                has_masks = True
                lengths["trained"].add(first, trained.cast(pa.uint64()))
                none = pc.indices_nonzero(pc.equal(trained, 0))
                untrained += len(none)
                first_untrained += [first + row for row in none[: _MAX_FIRST - len(first_untrained)].to_pylist()]
        rows += batch.num_rows
    units: dict[str, Any] = {name: length_summary(of_unit).to_dict() for name, of_unit in lengths.items()}
    units |= {} if has_masks else {"trained": None}
    counts = {"rows": rows, "untrained": untrained, "first_untrained": first_untrained}
    return {**counts, **units, "errors": errors.table().to_pylist()}


def prepared_report(statistics: dict[str, Any], width: int, *, is_ascii: bool) -> str:
    """Return the statistics of a prepared data set as a page of text."""
    names = {"tokens": "tokens", "trained": "trained tokens"}
    units = {name: statistics[unit] for unit, name in names.items() if statistics[unit] is not None}
    head = counted(statistics["rows"], "row")
    if statistics["trained"] is not None:
        first = f", first in row {statistics['first_untrained'][0]:,}" if statistics["untrained"] else ""
        head += f"; in {statistics['untrained']:,} nothing is trained{first}"
    tables = [errors_table(statistics["errors"]), lengths_table("tokens of a row", units)]
    tables += [histogram_table(f"rows by {unit}", lengths["histogram"]) for unit, lengths in units.items()]
    return report(head, [table for table in tables if table.rows], width, is_ascii=is_ascii)
