"""Notes on probable mistakes in a configuration: as a table, and as the text of a warning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import column_names
from promptpress._arrow.types import is_messages, is_text
from promptpress._arrow.validation import check_values
from promptpress._config.configuration import Configuration
from promptpress._core import Note, RenderError
from promptpress._engine.misspelt_columns import MisspeltColumn
from promptpress._engine.schema_warnings import listed_texts

_UNKNOWN = "unknown_placeholder"
_SCHEMA = pa.schema([(name, pa.string()) for name in ("code", "severity", "place", "message", "remedy")])


def find_notes(
    configuration: Configuration,
    schema: pa.Schema,
    samples: pa.Table | pa.RecordBatch | None,
    *,
    same: bool = False,
) -> list[Note]:
    """Find what is probably a mistake.

    Args:
        configuration: The renderer's configuration.
        schema: The samples' schema.
        samples: The samples, where they are at hand.
        same: Whether the examples are known to be the samples' own table.

    Returns:
        The notes, in the order of the configuration's parts.

    """
    settings, examples = configuration.settings, configuration.examples
    shared: list[int] = []
    if examples is not None and samples is not None and settings["ice_template"] is not None and len(samples):
        samples = pa.Table.from_batches([samples]) if isinstance(samples, pa.RecordBatch) else samples
        same = same or samples is examples or _equal(samples, examples)
        shared = [] if same else _shared(settings["retriever"], examples, samples)
    names = None if examples is None else examples.column_names
    columns = list(zip(column_names(schema), map(_kind, schema.types), strict=True))
    return _core.notes(configuration.core, settings, columns, names, same, shared)


def warning_text(notes: list[Note]) -> str:
    """Return the text of the warning about notes; an empty text if none of them is a warning."""
    texts = [f"{note.place}: {note.message}; {note.remedy}" for note in notes if note.severity == "warning"]
    return listed_texts(texts, "Renderer.notes lists them")


def misspelt_in(notes: list[Note], *, shows_nothing: bool = False) -> list[MisspeltColumn]:
    """Return the placeholders that name no column and are near to a column's name."""
    return [
        MisspeltColumn(note.place, f"{note.message}; {note.remedy}")
        for note in notes
        if note.column is not None or (shows_nothing and note.code == _UNKNOWN)
    ]


def table_of(notes: list[Note]) -> pa.Table:
    """Make the table of notes that users see.

    >>> table_of([]).schema.names
    ['code', 'severity', 'place', 'message', 'remedy']

    """
    return pa.Table.from_pylist(
        [{name: getattr(note, name) for name in _SCHEMA.names} for note in notes], schema=_SCHEMA
    )


def _kind(data_type: pa.DataType) -> str:
    """Return what a column holds, in the words of the core."""
    if is_text(data_type, encoded=True):
        return "texts"
    return "messages" if is_messages(data_type) else "other"


def _shared(retriever: Any, examples: pa.Table, samples: pa.Table) -> list[int]:
    """Return the rows of a fixed choice that are among the first samples, with all their columns."""
    ids = retriever.get("fix_id_list") if isinstance(retriever, dict) else None
    names = examples.column_names
    if not ids or set(names) != set(samples.column_names):
        return []
    if any(examples.schema.field(name).type != samples.schema.field(name).type for name in names):
        return []
    chosen = [row for row in dict.fromkeys(ids) if -len(examples) <= row < len(examples)]
    first = samples.slice(0, _MAX_COMPARED_ROWS)
    values: dict[str, list[Any]] = {}
    try:
        check_values(first)
        return [row for row in chosen if _stands_in(first, values, examples, row % len(examples))]
    except Exception:  # what can't be converted is an error of rendering, if of anything
        return []


def _equal(samples: pa.Table, examples: pa.Table) -> bool:
    if len(samples) != len(examples) or samples.schema != examples.schema:
        return False
    try:
        check_values(samples)
        check_values(examples)
    except RenderError:  # rendering says so where it matters
        return False
    return bool(samples.equals(examples))


def _stands_in(samples: pa.Table, values: dict[str, list[Any]], examples: pa.Table, row: int) -> bool:
    """Return true if a row of the examples is a sample; `values` caches the columns that were read."""
    left: Iterable[int] = range(len(samples))
    for name in examples.column_names:
        if name not in values:
            values[name] = samples[name].to_pylist()
        cell = examples.select([name]).slice(row, 1)
        check_values(cell)
        column, wanted = values[name], cell[name][0].as_py()
        left = [row for row in left if column[row] == wanted]
        if not left:
            return False
    return True


_MAX_COMPARED_ROWS = 4096
