"""Where each byte of one request comes from, as a table."""

from __future__ import annotations

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._errors import render_error
from promptpress._label_values import label_or_text, labels_of
from promptpress._tables import for_core

__all__ = ["origin_spans"]


def origin_spans(configuration: Configuration, table: pa.Table, row: int, label: object, turn: int | None) -> pa.Table:
    """Make the table that `Renderer.explain` returns.

    Args:
        configuration: What says how samples are rendered.
        table: All samples.
        row: The sample's row, from 0.
        label: The request's label; None: the first.
        turn: The request's turn; None: the first that is asked for.

    Returns:
        The spans.

    Raises:
        RenderError: If there is no such request, or it can't be rendered.

    """
    if turn is not None and turn < 0:
        message = "turn: turns count from 0"
        raise render_error("turn_out_of_range", message, row=row)
    if not 0 <= row < len(table):
        message = f"there is no such row: rows count from 0, and the table has {len(table)}"
        raise render_error("row_out_of_range", message, row=row)
    core_table, lower = for_core(table)
    labels = labels_of(configuration.core, table, core_table)
    batch = configuration.core.explain(core_table, row, labels, label_or_text(label), turn, lower)
    return pa.Table.from_batches([batch])
