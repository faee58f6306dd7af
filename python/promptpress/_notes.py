"""What is probably a mistake in a configuration: as a table, and as a warning that is given once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _core
from promptpress._core import Note, RenderError
from promptpress._errors import PromptWarning
from promptpress._input_checks import check_values
from promptpress._tables import column_names

if TYPE_CHECKING:
    from promptpress._renderer import Renderer

__all__ = ["SchemaWarnings", "find_notes", "silent", "table_of"]

_SCHEMA = pa.schema([(name, pa.string()) for name in ("code", "severity", "place", "message", "remedy")])
_MAX_SHOWN_NOTES = 5


class SchemaWarnings:
    """Which schemas a renderer has warned about, so that each is warned about once.

    Args:
        silent: Whether nothing is ever said.

    """

    __slots__ = ("seen", "silent")

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def warn(self, renderer: Renderer, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None) -> None:
        """Warn of what is probably a mistake, unless that was done for this schema.

        Args:
            renderer: The renderer.
            schema: The samples' schema.
            samples: The samples, where they are at hand.

        """
        key = (tuple(schema.names), tuple(map(str, schema.types)))
        if self.silent or key in self.seen:
            return
        notes = [note for note in find_notes(renderer, schema, samples) if note.severity == "warning"]
        if notes:
            # To whoever called the method of the renderer that called this.
            warnings.warn(_warning_text(notes), PromptWarning, stacklevel=4)
        # Only now: a filter that makes the warning an error does so for every call.
        self.seen.add(key)


def silent(renderer: Renderer) -> Renderer:
    """Make a renderer that warns of nothing.

    Args:
        renderer: A renderer that nobody else has yet.

    Returns:
        The same one. Its pickles and copies may warn.

    """
    renderer._schema_warnings.silent = True
    return renderer


def find_notes(
    renderer: Renderer, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, same: bool = False
) -> list[Note]:
    """Find what is probably a mistake.

    Args:
        renderer: The renderer.
        schema: The samples' schema.
        samples: The samples, where they are at hand.
        same: Whether the examples are known to be the samples' own table.

    Returns:
        The notes, in the order of the configuration's parts.

    """
    settings, examples = renderer._configuration.settings, renderer._configuration.examples
    shared: list[int] = []
    if examples is not None and samples is not None and settings["ice_template"] is not None and len(samples):
        samples = pa.Table.from_batches([samples]) if isinstance(samples, pa.RecordBatch) else samples
        same = same or samples is examples or _equal(samples, examples)
        shared = [] if same else _shared(settings["retriever"], examples, samples)
    names = None if examples is None else examples.column_names
    columns = column_names(schema)
    texts = [name for name, data_type in zip(columns, schema.types, strict=True) if _is_text(data_type)]
    return _core.notes(renderer._core, settings, columns, texts, names, same, shared)


def table_of(notes: list[Note]) -> pa.Table:
    """Make the table of notes that users see.

    Args:
        notes: As `find_notes` gives them.

    Returns:
        `code`, `severity`, `place`, `message`, `remedy`, all strings.

    >>> table_of([]).schema.names
    ['code', 'severity', 'place', 'message', 'remedy']

    """
    return pa.Table.from_pylist(
        [{name: getattr(note, name) for name in _SCHEMA.names} for note in notes], schema=_SCHEMA
    )


def _is_text(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _warning_text(notes: list[Note]) -> str:
    """All notes in one warning: a filter that makes it an error would show the first alone."""
    lines = [f"{note.place}: {note.message}; {note.remedy}" for note in notes[:_MAX_SHOWN_NOTES]]
    if len(notes) > _MAX_SHOWN_NOTES:
        lines.append(f"and {len(notes) - _MAX_SHOWN_NOTES} more")
    return "\n".join([*lines[:1], *(f"  {line}" for line in lines[1:])]) + "\n(Renderer.notes lists them)"


def _shared(retriever: Any, examples: pa.Table, samples: pa.Table) -> list[int]:
    """Which rows of a fixed choice stand among the first samples, with all their columns."""
    ids = retriever.get("fix_id_list") if isinstance(retriever, dict) else None
    names = examples.column_names
    if not ids or set(names) != set(samples.column_names):
        return []
    if any(examples.schema.field(name).type != samples.schema.field(name).type for name in names):
        return []
    chosen = [row for row in dict.fromkeys(ids) if -len(examples) <= row < len(examples)]
    first = samples.slice(0, _MAX_COMPARED_ROWS)
    known: dict[str, list[Any]] = {}
    try:
        check_values(first)
        return [row for row in chosen if _stands_in(first, known, examples, row % len(examples))]
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


def _stands_in(samples: pa.Table, known: dict[str, list[Any]], examples: pa.Table, row: int) -> bool:
    """Whether a row of the examples is a sample; `known` keeps the columns that were looked into."""
    left: Iterable[int] = range(len(samples))
    for name in examples.column_names:
        if name not in known:
            known[name] = samples[name].to_pylist()
        cell = examples.select([name]).slice(row, 1)
        check_values(cell)
        column, wanted = known[name], cell[name][0].as_py()
        left = [place for place in left if column[place] == wanted]
        if not left:
            return False
    return True


_MAX_COMPARED_ROWS = 4096
